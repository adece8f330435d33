/* A connected UDP socket has a source address and has sent nothing: the kernel has only looked up the route.
 */
#include "client/nic.h"

#include "common/fdio.h"
#include "common/link_facts.h"
#include "common/sysfile.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#define ANY_PORT "2049" /* a route does not depend on it */

bool nic_toward(const char *address, struct nic *nic)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM}, *peer;
    memset(nic, 0, sizeof *nic);
    if (getaddrinfo(address, ANY_PORT, &hints, &peer) != 0)
        return false;
    int fd = socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found =
        fd >= 0 && connect(fd, peer->ai_addr, peer->ai_addrlen) == 0 && link_interface(fd, nic->name);
    fdio_drop(&fd);
    freeaddrinfo(peer);
    nic->is_speed_known = found && sysfile_number(&nic->speed_mbit, "/sys/class/net/%s/speed", nic->name);
    return found;
}
