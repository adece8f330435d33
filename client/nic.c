/* A connected UDP socket has a source address and has sent nothing: the kernel has only looked up the route.
 */
#include "client/nic.h"

#include "common/fdio.h"
#include "common/sysfile.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#define ANY_PORT "2049" /* a route does not depend on it */

static bool source_toward(const char *address, struct sockaddr_storage *source)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM}, *peer;
    socklen_t length = sizeof *source;
    if (getaddrinfo(address, ANY_PORT, &hints, &peer) != 0)
        return false;
    int fd = socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = fd >= 0 && connect(fd, peer->ai_addr, peer->ai_addrlen) == 0 &&
                 getsockname(fd, (struct sockaddr *)source, &length) == 0;
    fdio_drop(&fd);
    freeaddrinfo(peer);
    return found;
}

static bool is_same_host(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    if (!a || a->sa_family != b->ss_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)b)->sin_addr, sizeof(struct in_addr)) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

bool nic_toward(const char *address, struct nic *nic)
{
    struct sockaddr_storage source;
    struct ifaddrs *list;
    bool found = false;
    memset(nic, 0, sizeof *nic);
    if (!source_toward(address, &source) || getifaddrs(&list) < 0)
        return false;
    for (const struct ifaddrs *at = list; at && !found; at = at->ifa_next) {
        found = strlen(at->ifa_name) < sizeof nic->name && is_same_host(at->ifa_addr, &source);
        if (found)
            memcpy(nic->name, at->ifa_name, strlen(at->ifa_name) + 1);
    }
    freeifaddrs(list);
    nic->is_speed_known = found && sysfile_number(&nic->speed_mbit, "/sys/class/net/%s/speed", nic->name);
    return found;
}
