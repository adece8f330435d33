/* The protocol is documented in sd_notify(3), "Standalone Implementations", and sd_watchdog_enabled(3). */
#include "server/notify.h"

#include "common/fdio.h"
#include "common/units.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_systemd(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    fdio_drop(&fd);
}

uint64_t notify_watchdog_ms(void)
{
    const char *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t us, waited_for;
    struct error unused;
    if (interval == NULL || units_parse_number(interval, 1, UINT64_MAX, &us, &unused) < 0)
        return 0;
    if (pid != NULL && (units_parse_number(pid, 1, UINT64_MAX, &waited_for, &unused) < 0 ||
                        waited_for != (uint64_t)getpid()))
        return 0;
    return us < 2000 ? 1 : us / 2000;
}
