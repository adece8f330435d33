/* Makes the kernel's answers short: an LD_PRELOAD library for tests, without a header by nature.
 *
 * A call that moves bytes is allowed to move fewer than asked, or to be interrupted before it moved
 * any. Kernels seldom do it, so programs get it wrong; this shim does it all the time.
 *
 *   SHIM_SHORT=CALL:BYTES,…     these calls move at most BYTES a call
 *   SHIM_EINTR=CALL:K,…         every K-th call of these fails with EINTR before it moved anything
 *   SHIM_EAGAIN=CALL:K,…        the same with EAGAIN, only on blocking sockets that have a SO_RCVTIMEO
 *
 * CALL is a name without "64": read pread readv write pwrite writev pwritev send sendto sendmsg recv
 * recvfrom recvmsg sendfile splice copy_file_range, or "all". Only regular files and stream sockets
 * are concerned: an event descriptor must not be read in pieces.
 *
 *   SHIM_SHORT=sendfile:4095 LD_PRELOAD=./shim_short.so mstore push … */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define RULES_MAX    32
#define IOV_COPY_MAX 64

struct rule {
    char call[32];
    long value;
    atomic_long seen;
};

static struct rule shorts[RULES_MAX], eintrs[RULES_MAX], eagains[RULES_MAX];

static void parse(const char *variable, struct rule *rules)
{
    const char *text = getenv(variable);
    int count = 0;

    while (text != NULL && *text != '\0') {
        struct rule *rule = &rules[count++];
        int used = 0;

        if (count > RULES_MAX || sscanf(text, "%31[^:,]:%ld%n", rule->call, &rule->value, &used) != 2 ||
            rule->value < 1 || (text[used] != ',' && text[used] != '\0')) {
            fprintf(stderr, "shim_short: cannot understand %s at '%s'\n", variable, text);
            _exit(99);
        }
        text += used + (text[used] == ',');
    }
}

__attribute__((constructor)) static void configure(void)
{
    parse("SHIM_SHORT", shorts);
    parse("SHIM_EINTR", eintrs);
    parse("SHIM_EAGAIN", eagains);
}

static struct rule *find(struct rule *rules, const char *call)
{
    for (int i = 0; i < RULES_MAX && rules[i].value != 0; i++)
        if (strcmp(rules[i].call, call) == 0 || strcmp(rules[i].call, "all") == 0)
            return &rules[i];
    return NULL;
}

static bool moves_bytes(int fd)
{
    struct stat st;
    int type = 0;
    socklen_t size = sizeof type;

    if (fstat(fd, &st) != 0)
        return false;
    if (S_ISREG(st.st_mode))
        return true;
    return S_ISSOCK(st.st_mode) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_STREAM;
}

static bool has_receive_timeout(int fd)
{
    struct timeval limit = {0};
    socklen_t size = sizeof limit;

    return getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) == 0 &&
           (limit.tv_sec != 0 || limit.tv_usec != 0);
}

static bool is_due(struct rule *rule)
{
    return rule != NULL && (atomic_fetch_add(&rule->seen, 1) + 1) % rule->value == 0;
}

/* How many bytes this call may move: up to `wanted`, or -1 with errno set when it is to fail. */
static ssize_t allowed(const char *call, int fd, size_t wanted)
{
    struct rule *rule;
    int saved = errno;
    bool concerned = moves_bytes(fd);

    errno = saved;
    if (!concerned)
        return (ssize_t)wanted;
    if (is_due(find(eintrs, call))) {
        errno = EINTR;
        return -1;
    }
    if (find(eagains, call) != NULL && has_receive_timeout(fd) && is_due(find(eagains, call))) {
        errno = EAGAIN;
        return -1;
    }
    rule = find(shorts, call);
    if (rule != NULL && wanted > (size_t)rule->value)
        return (ssize_t)rule->value;
    return (ssize_t)wanted;
}

/* The real function behind a wrapper; looked up once, and again only in a harmless race. */
#define REAL(name)                                                                                           \
    static __typeof__(&name) real;                                                                           \
    if (real == NULL)                                                                                        \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* A wrapper for name(…, count, …): `call` is the name in the rules, `fd` the descriptor to look at. */
#define SHORT(name, call, fd, count, params, args)                                                           \
    ssize_t name params                                                                                      \
    {                                                                                                        \
        REAL(name);                                                                                          \
        ssize_t room = allowed(call, fd, count);                                                             \
        if (room < 0)                                                                                        \
            return -1;                                                                                       \
        count = (size_t)room;                                                                                \
        return real args;                                                                                    \
    }

SHORT(read, "read", fd, count, (int fd, void *buf, size_t count), (fd, buf, count))
SHORT(write, "write", fd, count, (int fd, const void *buf, size_t count), (fd, buf, count))
SHORT(pread, "pread", fd, count, (int fd, void *buf, size_t count, off_t at), (fd, buf, count, at))
SHORT(pread64, "pread", fd, count, (int fd, void *buf, size_t count, off64_t at), (fd, buf, count, at))
SHORT(pwrite, "pwrite", fd, count, (int fd, const void *buf, size_t count, off_t at), (fd, buf, count, at))
SHORT(pwrite64, "pwrite", fd, count, (int fd, const void *buf, size_t count, off64_t at),
      (fd, buf, count, at))
SHORT(send, "send", fd, count, (int fd, const void *buf, size_t count, int flags), (fd, buf, count, flags))
SHORT(sendto, "sendto", fd, count,
      (int fd, const void *buf, size_t count, int flags, __CONST_SOCKADDR_ARG addr, socklen_t len),
      (fd, buf, count, flags, addr, len))
SHORT(recv, "recv", fd, count, (int fd, void *buf, size_t count, int flags), (fd, buf, count, flags))
SHORT(recvfrom, "recvfrom", fd, count,
      (int fd, void *restrict buf, size_t count, int flags, __SOCKADDR_ARG addr, socklen_t *restrict len),
      (fd, buf, count, flags, addr, len))
SHORT(sendfile, "sendfile", out, count, (int out, int in, off_t *at, size_t count), (out, in, at, count))
SHORT(sendfile64, "sendfile", out, count, (int out, int in, off64_t *at, size_t count), (out, in, at, count))
SHORT(splice, "splice", in, count,
      (int in, off64_t *from, int out, off64_t *to, size_t count, unsigned flags),
      (in, from, out, to, count, flags))
SHORT(copy_file_range, "copy_file_range", in, count,
      (int in, off64_t *from, int out, off64_t *to, size_t count, unsigned flags),
      (in, from, out, to, count, flags))

/* What glibc's fortified headers call instead. */
ssize_t __read_chk(int fd, void *buf, size_t count, size_t room);
ssize_t __pread_chk(int fd, void *buf, size_t count, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *buf, size_t count, off64_t at, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t count, size_t room, int flags);

SHORT(__read_chk, "read", fd, count, (int fd, void *buf, size_t count, size_t room_), (fd, buf, count, room_))
SHORT(__pread_chk, "pread", fd, count, (int fd, void *buf, size_t count, off_t at, size_t room_),
      (fd, buf, count, at, room_))
SHORT(__pread64_chk, "pread", fd, count, (int fd, void *buf, size_t count, off64_t at, size_t room_),
      (fd, buf, count, at, room_))
SHORT(__recv_chk, "recv", fd, count, (int fd, void *buf, size_t count, size_t room_, int flags),
      (fd, buf, count, room_, flags))

/* The head of a vector that holds at most `room` bytes; returns its number of parts. */
static int cut_vector(struct iovec *to, const struct iovec *from, int count, size_t room)
{
    int used = 0;

    while (used < count && used < IOV_COPY_MAX && room > 0) {
        to[used] = from[used];
        if (to[used].iov_len > room)
            to[used].iov_len = room;
        room -= to[used].iov_len;
        used++;
    }
    return used;
}

static size_t vector_bytes(const struct iovec *iov, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += iov[i].iov_len;
    return sum;
}

#define SHORT_VECTOR(name, call, params, args)                                                               \
    ssize_t name params                                                                                      \
    {                                                                                                        \
        REAL(name);                                                                                          \
        size_t all = vector_bytes(iov, (size_t)count);                                                       \
        ssize_t room = allowed(call, fd, all);                                                               \
        struct iovec part[IOV_COPY_MAX];                                                                     \
        if (room < 0)                                                                                        \
            return -1;                                                                                       \
        if ((size_t)room < all) {                                                                            \
            count = cut_vector(part, iov, count, (size_t)room);                                              \
            iov = part;                                                                                      \
        }                                                                                                    \
        return real args;                                                                                    \
    }

SHORT_VECTOR(readv, "readv", (int fd, const struct iovec *iov, int count), (fd, iov, count))
SHORT_VECTOR(writev, "writev", (int fd, const struct iovec *iov, int count), (fd, iov, count))
SHORT_VECTOR(pwritev, "pwritev", (int fd, const struct iovec *iov, int count, off_t at), (fd, iov, count, at))
SHORT_VECTOR(pwritev64, "pwritev", (int fd, const struct iovec *iov, int count, off64_t at),
             (fd, iov, count, at))

static ssize_t cut_message(const char *call, int fd, const struct msghdr *msg, struct msghdr *copy,
                           struct iovec *part)
{
    size_t all = vector_bytes(msg->msg_iov, msg->msg_iovlen);
    ssize_t room = allowed(call, fd, all);

    *copy = *msg;
    if (room >= 0 && (size_t)room < all) {
        copy->msg_iov = part;
        copy->msg_iovlen = (size_t)cut_vector(part, msg->msg_iov, (int)msg->msg_iovlen, (size_t)room);
    }
    return room;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    REAL(sendmsg);
    struct msghdr copy;
    struct iovec part[IOV_COPY_MAX];

    if (cut_message("sendmsg", fd, msg, &copy, part) < 0)
        return -1;
    return real(fd, &copy, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    REAL(recvmsg);
    struct msghdr copy;
    struct iovec part[IOV_COPY_MAX];
    ssize_t got;

    if (cut_message("recvmsg", fd, msg, &copy, part) < 0)
        return -1;
    got = real(fd, &copy, flags);
    msg->msg_namelen = copy.msg_namelen;
    msg->msg_controllen = copy.msg_controllen;
    msg->msg_flags = copy.msg_flags;
    return got;
}
