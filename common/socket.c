/* The traps of TCP options in one place: clamped buffers, auto-tuning that an innocent call turns off, Nagle.
 */
#include "common/socket.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nss.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum socket_buffer socket_buffer_rule(uint64_t wish, uint64_t limit, bool may_force)
{
    if (may_force)
        return SOCKET_BUFFER_FORCE;
    return wish <= limit ? SOCKET_BUFFER_SET : SOCKET_BUFFER_AUTO;
}

/* A limit of net.core in bytes, 0 if it cannot be read. */
static uint64_t core_limit(const char *file)
{
    uint64_t limit;
    return sysfile_number(&limit, "%s", file) ? limit : 0;
}

static bool set_buffer(int fd, int force_option, int option, const char *limit_file)
{
    int wish = SOCKET_BUFFER_WISH;
    bool forced = setsockopt(fd, SOL_SOCKET, force_option, &wish, sizeof wish) == 0;
    switch (socket_buffer_rule((uint64_t)wish, forced ? 0 : core_limit(limit_file), forced)) {
    case SOCKET_BUFFER_FORCE:
        return true;
    case SOCKET_BUFFER_SET:
        return setsockopt(fd, SOL_SOCKET, option, &wish, sizeof wish) == 0;
    case SOCKET_BUFFER_AUTO:
        break;
    }
    return false;
}

bool socket_set_buffers(int fd)
{
    bool receive = set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, "/proc/sys/net/core/rmem_max");
    bool send = set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, "/proc/sys/net/core/wmem_max");
    return receive && send;
}

void socket_granted(int fd, uint64_t *rcvbuf, uint64_t *sndbuf)
{
    int receive = 0, send = 0;
    socklen_t length = sizeof receive;
    (void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, &length);
    length = sizeof send;
    (void)getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, &length);
    *rcvbuf = (uint64_t)receive;
    *sndbuf = (uint64_t)send;
}

void socket_tune(int fd, unsigned timeout_s)
{
    int on = 1, idle = (int)(timeout_s / 2 ? timeout_s / 2 : 1),
        interval = (int)(timeout_s / 6 ? timeout_s / 6 : 1);
    int probes = 3;
    unsigned user_timeout_ms = timeout_s * 1000;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

int socket_wait(int fd, short events, int cancel_fd, int timeout_ms)
{
    uint64_t end = clock_ms() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms);
    struct pollfd polled[2] = {{.fd = fd, .events = events}, {.fd = cancel_fd, .events = POLLIN}};
    for (;;) {
        uint64_t now = clock_ms();
        int left = timeout_ms < 0 ? -1 : now < end ? (int)(end - now) : 0;
        int n = poll(polled, 2, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        return polled[0].revents != 0 && !(polled[1].revents & POLLIN);
    }
}

/* Waits for a connect() under way. 0 connected, else an errno; ECANCELED if told to stop. */
static int finish_connect(int fd, uint64_t end, int cancel_fd)
{
    uint64_t now = clock_ms();
    int ready = socket_wait(fd, POLLOUT, cancel_fd, now < end ? (int)(end - now) : 0);
    if (ready < 0)
        return errno;
    if (ready == 0)
        return clock_ms() < end ? ECANCELED : ETIMEDOUT;
    int result = 0;
    socklen_t length = sizeof result;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &length) < 0 ? errno : result;
}

/* What has to be set before connect(), for the peer is told then. */
static void prepare(int fd, enum socket_purpose purpose)
{
    int segment = SOCKET_NARROW_SEGMENT;
    if (purpose == SOCKET_DATA)
        (void)socket_set_buffers(fd);
    else if (purpose == SOCKET_NARROW)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
}

/* One attempt. *fd is a blocking socket on success; returns 0 or an errno. */
static int connect_one(const struct addrinfo *to, uint64_t end, unsigned timeout_s,
                       enum socket_purpose purpose, int cancel_fd, int *fd)
{
    *fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (*fd < 0)
        return errno;
    socket_tune(*fd, timeout_s);
    prepare(*fd, purpose);
    int result = connect(*fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
    if (result == EINPROGRESS || result == EINTR)
        result = finish_connect(*fd, end, cancel_fd);
    if (result == 0 && fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK) < 0)
        result = errno;
    if (result != 0)
        fdio_drop(fd);
    return result;
}

/* A static program has the C library's own ways to look up a host, /etc/hosts and DNS. Others, named in
 * nsswitch.conf, would be loaded from the machine's C library, which may be of any age. */
static void use_own_lookups(void)
{
#ifdef MSTORE_STATIC
    (void)__nss_configure_lookup("hosts", "files dns");
#endif
}

static int resolve(const struct hostport *at, bool passive, struct addrinfo **list, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)};
    (void)snprintf(port, sizeof port, "%u", at->port);
    (void)pthread_once(&once, use_own_lookups);
    int result = getaddrinfo(at->host, port, &hints, list);
    if (result != 0)
        return error_set(err, ERROR_CONNECT, "cannot find the host '%s': %s", at->host, gai_strerror(result));
    return 0;
}

int socket_connect(const struct hostport *to, unsigned timeout_s, enum socket_purpose purpose, int cancel_fd,
                   struct error *err)
{
    struct addrinfo *list = NULL;
    char name[HOSTPORT_TEXT_MAX];
    if (resolve(to, false, &list, err) < 0)
        return -1;
    uint64_t end = clock_ms() + (uint64_t)timeout_s * 1000;
    int fd = -1, result = ENOENT;
    for (struct addrinfo *a = list; a && fd < 0 && result != ECANCELED; a = a->ai_next)
        result = connect_one(a, end, timeout_s, purpose, cancel_fd, &fd);
    freeaddrinfo(list);
    if (fd >= 0)
        return fd;
    if (result == ECANCELED)
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    return error_set_sys(err, ERROR_CONNECT, result, "cannot connect to '%s'", hostport_format(name, to));
}

static int listen_one(const struct addrinfo *at, int *fd)
{
    int on = 1;
    *fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (*fd < 0)
        return errno;
    (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6)
        (void)setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    (void)socket_set_buffers(*fd);
    if (bind(*fd, at->ai_addr, at->ai_addrlen) == 0 && listen(*fd, SOMAXCONN) == 0)
        return 0;
    int result = errno;
    fdio_drop(fd);
    return result;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

int socket_listen(const struct hostport *at, struct hostport *bound, struct error *err)
{
    struct addrinfo *list = NULL;
    char name[HOSTPORT_TEXT_MAX];
    int fd = -1;
    if (resolve(at, true, &list, err) < 0)
        return -1;
    int result = listen_one(list, &fd);
    freeaddrinfo(list);
    if (result == EADDRINUSE)
        return error_set(err, ERROR_FAILED,
                         "cannot listen on '%s': the address is in use, perhaps by another mstored",
                         hostport_format(name, at));
    if (result != 0)
        return error_set_sys(err, ERROR_FAILED, result, "cannot listen on '%s'", hostport_format(name, at));
    *bound = *at;
    bound->port = bound_port(fd);
    return fd;
}

void socket_host(int fd, uint8_t host[SOCKET_HOST_SIZE])
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    memset(host, 0, SOCKET_HOST_SIZE);
    if (getpeername(fd, (struct sockaddr *)&address, &length) < 0)
        return;
    if (address.ss_family == AF_INET) {
        host[10] = host[11] = 0xff;
        memcpy(host + 12, &((struct sockaddr_in *)&address)->sin_addr, 4);
    } else if (address.ss_family == AF_INET6) {
        const struct in6_addr *six = &((struct sockaddr_in6 *)&address)->sin6_addr;
        memcpy(host, six, IN6_IS_ADDR_V4MAPPED(six) ? SOCKET_HOST_SIZE : SOCKET_HOST_SIZE / 2);
    }
}

const char *socket_peer(int fd, char out[SOCKET_NAME_MAX])
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[64], port[8];
    (void)snprintf(out, SOCKET_NAME_MAX, "?");
    if (getpeername(fd, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        (void)snprintf(out, SOCKET_NAME_MAX, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return out;
}
