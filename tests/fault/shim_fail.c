/* Makes chosen system calls fail, stall or kill, and writes down their order: an LD_PRELOAD library.
 *
 *   SHIM_FAIL=RULE[,RULE…]      RULE is CALL:WHAT:WHEN[:PATH]
 *       WHAT  an errno name (EIO, ENOSPC, …): the call is not made and fails with it (close is made)
 *             ZERO    the call is not made and returns 0: an end of file, a lock that locks nothing
 *             KILL    SIGKILL to the own process in place of the call
 *             STOP    SIGSTOP to the own process, then the call
 *             SLEEPn  n milliseconds of sleep, then the call
 *       WHEN  n: only the n-th matching call, n+: from the n-th on, *n: every n-th
 *       PATH  only calls on a file whose path contains this (the place of a descriptor counts too)
 *   SHIM_LOG=FILE               every hooked call is appended to FILE, one a line:
 *                                   BEGIN END TID CALL RESULT ERRNO [match] SUBJECT
 *                               BEGIN and END number the events of the process, so that
 *                               END(a) < BEGIN(b) proves that a had returned before b was called.
 *   SHIM_LOG_CALLS=CALL,…       only these
 *   SHIM_LOG_MATCH=TEXT         "match" marks what is sent or written with TEXT in it
 *   SHIM_TALLY=FILE             at exit, the number of calls of each hooked function: CALL COUNT
 *
 * CALL is a function's name without "64". fcntl_lock is fcntl() with a lock command; openat2 and
 * renameat2 are seen through syscall(), too. SUBJECT is a path, or what /proc/self/fd says.
 *
 *   SHIM_FAIL=pwrite:ENOSPC:3+:/staging/ LD_PRELOAD=./shim_fail.so mstored … */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define RULES_MAX   16
#define TALLY_MAX   128
#define SUBJECT_MAX (2 * PATH_MAX)

enum action { ACT_ERRNO, ACT_ZERO, ACT_KILL, ACT_STOP, ACT_SLEEP };

struct rule {
    char call[32];
    char path[256];
    enum action action;
    int error;
    long ms;
    long from, to, every;
    atomic_long seen;
};

struct tally {
    const char *call;
    atomic_long count;
};

/* One hooked call, from its begin to its result. */
struct visit {
    const char *call;
    bool skipped; /* the real function is not to be called */
    bool logged;
    bool match;
    int error; /* errno of a skipped call, 0 for ZERO */
    unsigned long begin;
    char subject[SUBJECT_MAX];
};

static struct rule rules[RULES_MAX];
static int rule_count;
static struct tally tallies[TALLY_MAX];
static const char *log_calls, *log_match, *tally_path;
static int log_fd = -1;
static atomic_ulong clock_ticks;
static bool configured;

static long (*real_syscall)(long, ...);

static const struct {
    const char *name;
    int value;
} errnos[] = {
#define E(name) {#name, name}
    E(EACCES),    E(EAGAIN),  E(EBADF),  E(EBUSY),        E(ECONNABORTED), E(ECONNREFUSED), E(ECONNRESET),
    E(EDQUOT),    E(EEXIST),  E(EFBIG),  E(EINTR),        E(EINVAL),       E(EIO),          E(EISDIR),
    E(ELOOP),     E(EMFILE),  E(EMLINK), E(ENAMETOOLONG), E(ENFILE),       E(ENOBUFS),      E(ENODEV),
    E(ENOENT),    E(ENOLCK),  E(ENOMEM), E(ENOSPC),       E(ENOSYS),       E(ENOTCONN),     E(ENOTDIR),
    E(ENOTEMPTY), E(ENOTSUP), E(ENXIO),  E(EOPNOTSUPP),   E(EOVERFLOW),    E(EPERM),        E(EPIPE),
    E(EROFS),     E(ESPIPE),  E(ESTALE), E(ETIMEDOUT),    E(ETXTBSY),      E(EXDEV),
#undef E
};

static void give_up(const char *text)
{
    fprintf(stderr, "shim_fail: cannot understand '%s'\n", text);
    _exit(99);
}

static void parse_action(struct rule *rule, const char *what)
{
    rule->action = ACT_ERRNO;
    if (strcmp(what, "ZERO") == 0)
        rule->action = ACT_ZERO;
    else if (strcmp(what, "KILL") == 0)
        rule->action = ACT_KILL;
    else if (strcmp(what, "STOP") == 0)
        rule->action = ACT_STOP;
    else if (sscanf(what, "SLEEP%ld", &rule->ms) == 1)
        rule->action = ACT_SLEEP;
    else
        for (size_t i = 0; i < sizeof errnos / sizeof errnos[0]; i++)
            if (strcmp(errnos[i].name, what) == 0)
                rule->error = errnos[i].value;
    if (rule->action == ACT_ERRNO && rule->error == 0)
        give_up(what);
}

static void parse_when(struct rule *rule, const char *when)
{
    char plus = '\0';

    if (sscanf(when, "*%ld", &rule->every) == 1 && rule->every > 0)
        return;
    if (sscanf(when, "%ld%c", &rule->from, &plus) < 1 || rule->from < 1 || (plus != '\0' && plus != '+'))
        give_up(when);
    rule->to = plus == '+' ? LONG_MAX : rule->from;
}

static void parse_rules(const char *text)
{
    while (text != NULL && *text != '\0') {
        struct rule *rule = &rules[rule_count++];
        char what[32], when[32];
        int used = 0;

        if (rule_count > RULES_MAX ||
            sscanf(text, "%31[^:,]:%31[^:,]:%31[^:,]%n", rule->call, what, when, &used) != 3)
            give_up(text);
        parse_action(rule, what);
        parse_when(rule, when);
        text += used;
        if (*text == ':') {
            size_t length = strcspn(++text, ",");

            if (length == 0 || length >= sizeof rule->path)
                give_up(text);
            memcpy(rule->path, text, length);
            text += length;
        }
        text += *text == ',';
    }
}

__attribute__((constructor)) static void configure(void)
{
    const char *log_path = getenv("SHIM_LOG");

    real_syscall = (__typeof__(real_syscall))dlsym(RTLD_NEXT, "syscall");
    parse_rules(getenv("SHIM_FAIL"));
    log_calls = getenv("SHIM_LOG_CALLS");
    log_match = getenv("SHIM_LOG_MATCH");
    tally_path = getenv("SHIM_TALLY");
    if (log_path != NULL) {
        log_fd = (int)real_syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                                   0644);
        if (log_fd < 0)
            give_up(log_path);
    }
    configured = true;
}

__attribute__((destructor)) static void write_tally(void)
{
    FILE *file = tally_path != NULL ? fopen(tally_path, "we") : NULL;

    configured = false;
    if (file == NULL)
        return;
    for (int i = 0; i < TALLY_MAX && tallies[i].call != NULL; i++)
        fprintf(file, "%s %ld\n", tallies[i].call, atomic_load(&tallies[i].count));
    fclose(file);
}

/* Tally slots are found by the address of the call's name: each hook has one string for it. A race
 * for a free slot can cost a count, never a wrong answer. */
static void count_call(const char *call)
{
    for (int i = 0; i < TALLY_MAX; i++) {
        if (tallies[i].call == NULL)
            tallies[i].call = call;
        if (strcmp(tallies[i].call, call) == 0) {
            atomic_fetch_add(&tallies[i].count, 1);
            return;
        }
    }
}

static bool is_listed(const char *list, const char *call)
{
    size_t length = strlen(call);

    if (list == NULL)
        return true;
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, call, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void describe_fd(char *subject, int fd)
{
    char link[64];
    long length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = real_syscall(SYS_readlinkat, AT_FDCWD, link, subject, PATH_MAX);
    subject[length > 0 ? length : 0] = '\0';
}

/* `path` below the folder `fd`, or the place of `fd` itself where path is NULL. */
static void describe(char *subject, int fd, const char *path)
{
    subject[0] = '\0';
    if (path == NULL || (path[0] != '/' && fd != AT_FDCWD && fd >= 0)) {
        describe_fd(subject, fd);
        if (path != NULL)
            strncat(subject, "/", 2);
    }
    if (path != NULL)
        strncat(subject, path, PATH_MAX - 1);
    for (char *c = subject; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
}

static bool is_hit(struct rule *rule, const struct visit *visit)
{
    long number;

    if (strcmp(rule->call, visit->call) != 0)
        return false;
    if (rule->path[0] != '\0' && strstr(visit->subject, rule->path) == NULL)
        return false;
    number = atomic_fetch_add(&rule->seen, 1) + 1;
    if (rule->every > 0)
        return number % rule->every == 0;
    return number >= rule->from && number <= rule->to;
}

static void pause_ms(long ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static void act(struct rule *rule, struct visit *visit)
{
    switch (rule->action) {
    case ACT_KILL:
        kill(getpid(), SIGKILL);
        break;
    case ACT_STOP:
        kill(getpid(), SIGSTOP);
        break;
    case ACT_SLEEP:
        pause_ms(rule->ms);
        break;
    case ACT_ERRNO:
    case ACT_ZERO:
        visit->skipped = true;
        visit->error = rule->error;
        break;
    }
}

static bool has_rule(const char *call)
{
    for (int i = 0; i < rule_count; i++)
        if (strcmp(rules[i].call, call) == 0)
            return true;
    return false;
}

static void enter(struct visit *visit, const char *call, int fd, const char *path)
{
    int saved = errno;

    visit->call = call;
    visit->skipped = visit->match = visit->logged = false;
    if (!configured)
        return;
    if (tally_path != NULL)
        count_call(call);
    visit->logged = log_fd >= 0 && is_listed(log_calls, call);
    if (visit->logged || has_rule(call)) {
        describe(visit->subject, fd, path);
        visit->begin = atomic_fetch_add(&clock_ticks, 1);
        for (int i = 0; i < rule_count; i++)
            if (is_hit(&rules[i], visit))
                act(&rules[i], visit);
    }
    errno = saved;
}

/* Notes whether the text to look for is in what goes out. */
static void look_at(struct visit *visit, const struct iovec *iov, size_t count)
{
    if (!visit->logged || log_match == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (iov[i].iov_len > 0 &&
            memmem(iov[i].iov_base, iov[i].iov_len, log_match, strlen(log_match)) != NULL)
            visit->match = true;
}

/* The result of a call that is skipped: errno is set. */
static long skipped_result(const struct visit *visit)
{
    if (visit->error == 0)
        return 0;
    errno = visit->error;
    return -1;
}

static void leave(struct visit *visit, long result)
{
    int saved = errno;
    char line[SUBJECT_MAX + 128];
    int length;

    if (!visit->logged)
        return;
    length = snprintf(line, sizeof line, "%lu %lu %ld %s %ld %d %s%s\n", visit->begin,
                      atomic_fetch_add(&clock_ticks, 1), real_syscall(SYS_gettid), visit->call, result,
                      result < 0 ? saved : 0, visit->match ? "match " : "", visit->subject);
    if (length >= (int)sizeof line)
        length = (int)sizeof line - 1;
    real_syscall(SYS_write, log_fd, line, (size_t)length);
    errno = saved;
}

#define REAL(name)                                                                                           \
    static __typeof__(&name) real;                                                                           \
    if (real == NULL)                                                                                        \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* A wrapper: result type, function, its name in the rules, parameters, arguments, and the
 * descriptor and path that are its subject. */
#define HOOK(type, name, call, params, args, fd, path)                                                       \
    type name params                                                                                         \
    {                                                                                                        \
        REAL(name);                                                                                          \
        struct visit visit;                                                                                  \
        type result;                                                                                         \
        enter(&visit, call, fd, path);                                                                       \
        result = visit.skipped ? (type)skipped_result(&visit) : real args;                                   \
        leave(&visit, (long)result);                                                                         \
        return result;                                                                                       \
    }

/* The same where the function returns its errno as its value. */
#define HOOK_VALUE(name, call, params, args, fd)                                                             \
    int name params                                                                                          \
    {                                                                                                        \
        REAL(name);                                                                                          \
        struct visit visit;                                                                                  \
        int result;                                                                                          \
        enter(&visit, call, fd, NULL);                                                                       \
        result = visit.skipped ? visit.error : real args;                                                    \
        leave(&visit, result);                                                                               \
        return result;                                                                                       \
    }

/* The same with a look at the bytes that go out. */
#define HOOK_OUT(name, call, params, args, fd, ...)                                                          \
    ssize_t name params                                                                                      \
    {                                                                                                        \
        REAL(name);                                                                                          \
        struct visit visit;                                                                                  \
        ssize_t result;                                                                                      \
        enter(&visit, call, fd, NULL);                                                                       \
        look_at(&visit, __VA_ARGS__);                                                                        \
        result = visit.skipped ? skipped_result(&visit) : real args;                                         \
        leave(&visit, result);                                                                               \
        return result;                                                                                       \
    }

#define ONE_IOV(buf, size) (&(struct iovec){.iov_base = (void *)(uintptr_t)(buf), .iov_len = (size)}), 1

/* Bytes in. */
HOOK(ssize_t, read, "read", (int fd, void *buf, size_t n), (fd, buf, n), fd, NULL)
HOOK(ssize_t, readv, "readv", (int fd, const struct iovec *v, int n), (fd, v, n), fd, NULL)
HOOK(ssize_t, pread, "pread", (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at), fd, NULL)
HOOK(ssize_t, pread64, "pread", (int fd, void *buf, size_t n, off64_t at), (fd, buf, n, at), fd, NULL)
HOOK(ssize_t, recv, "recv", (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags), fd, NULL)
HOOK(ssize_t, recvmsg, "recvmsg", (int fd, struct msghdr *msg, int flags), (fd, msg, flags), fd, NULL)

/* Bytes out. */
HOOK_OUT(write, "write", (int fd, const void *buf, size_t n), (fd, buf, n), fd, ONE_IOV(buf, n))
HOOK_OUT(pwrite, "pwrite", (int fd, const void *buf, size_t n, off_t at), (fd, buf, n, at), fd,
         ONE_IOV(buf, n))
HOOK_OUT(pwrite64, "pwrite", (int fd, const void *buf, size_t n, off64_t at), (fd, buf, n, at), fd,
         ONE_IOV(buf, n))
HOOK_OUT(writev, "writev", (int fd, const struct iovec *v, int n), (fd, v, n), fd, v, (size_t)n)
HOOK_OUT(pwritev, "pwritev", (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), fd, v,
         (size_t)n)
HOOK_OUT(pwritev64, "pwritev", (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), fd, v,
         (size_t)n)
HOOK_OUT(send, "send", (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags), fd,
         ONE_IOV(buf, n))
HOOK_OUT(sendmsg, "sendmsg", (int fd, const struct msghdr *msg, int flags), (fd, msg, flags), fd,
         msg->msg_iov, msg->msg_iovlen)
HOOK(ssize_t, sendfile, "sendfile", (int out, int in, off_t *at, size_t n), (out, in, at, n), in, NULL)
HOOK(ssize_t, sendfile64, "sendfile", (int out, int in, off64_t *at, size_t n), (out, in, at, n), in, NULL)
HOOK(ssize_t, splice, "splice", (int in, off64_t *from, int out, off64_t *to, size_t n, unsigned flags),
     (in, from, out, to, n, flags), in, NULL)
HOOK(ssize_t, copy_file_range, "copy_file_range",
     (int in, off64_t *from, int out, off64_t *to, size_t n, unsigned flags), (in, from, out, to, n, flags),
     in, NULL)

/* Durability and space. */
HOOK(int, fsync, "fsync", (int fd), (fd), fd, NULL)
HOOK(int, fdatasync, "fdatasync", (int fd), (fd), fd, NULL)
HOOK(int, syncfs, "syncfs", (int fd), (fd), fd, NULL)
HOOK(int, sync_file_range, "sync_file_range", (int fd, off64_t at, off64_t n, unsigned flags),
     (fd, at, n, flags), fd, NULL)
HOOK(int, fallocate, "fallocate", (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), fd, NULL)
HOOK(int, fallocate64, "fallocate", (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n), fd, NULL)
HOOK_VALUE(posix_fallocate, "posix_fallocate", (int fd, off_t at, off_t n), (fd, at, n), fd)
HOOK_VALUE(posix_fallocate64, "posix_fallocate", (int fd, off64_t at, off64_t n), (fd, at, n), fd)
HOOK_VALUE(posix_fadvise, "posix_fadvise", (int fd, off_t at, off_t n, int advice), (fd, at, n, advice), fd)
HOOK_VALUE(posix_fadvise64, "posix_fadvise", (int fd, off64_t at, off64_t n, int advice), (fd, at, n, advice),
           fd)
HOOK(int, ftruncate, "ftruncate", (int fd, off_t n), (fd, n), fd, NULL)
HOOK(int, ftruncate64, "ftruncate", (int fd, off64_t n), (fd, n), fd, NULL)
HOOK(int, statvfs, "statvfs", (const char *restrict path, struct statvfs *restrict out), (path, out),
     AT_FDCWD, path)
HOOK(int, statvfs64, "statvfs", (const char *restrict path, struct statvfs64 *restrict out), (path, out),
     AT_FDCWD, path)
HOOK(int, fstatvfs, "fstatvfs", (int fd, struct statvfs *out), (fd, out), fd, NULL)
HOOK(int, fstatvfs64, "fstatvfs", (int fd, struct statvfs64 *out), (fd, out), fd, NULL)

/* Names. The subject of a rename or link is the new name. */
HOOK(int, rename, "rename", (const char *from, const char *to), (from, to), AT_FDCWD, to)
HOOK(int, renameat, "renameat", (int a, const char *from, int b, const char *to), (a, from, b, to), b, to)
HOOK(int, renameat2, "renameat2", (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags), b, to)
HOOK(int, link, "link", (const char *from, const char *to), (from, to), AT_FDCWD, to)
HOOK(int, linkat, "linkat", (int a, const char *from, int b, const char *to, int flags),
     (a, from, b, to, flags), b, to)
HOOK(int, symlink, "symlink", (const char *target, const char *path), (target, path), AT_FDCWD, path)
HOOK(int, symlinkat, "symlinkat", (const char *target, int dir, const char *path), (target, dir, path), dir,
     path)
HOOK(int, unlink, "unlink", (const char *path), (path), AT_FDCWD, path)
HOOK(int, unlinkat, "unlinkat", (int dir, const char *path, int flags), (dir, path, flags), dir, path)
HOOK(int, rmdir, "rmdir", (const char *path), (path), AT_FDCWD, path)
HOOK(int, mkdir, "mkdir", (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
HOOK(int, mkdirat, "mkdirat", (int dir, const char *path, mode_t mode), (dir, path, mode), dir, path)

/* Attributes. */
HOOK(int, chmod, "chmod", (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
HOOK(int, fchmod, "fchmod", (int fd, mode_t mode), (fd, mode), fd, NULL)
HOOK(int, fchmodat, "fchmodat", (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags),
     dir, path)
HOOK(int, fchown, "fchown", (int fd, uid_t uid, gid_t gid), (fd, uid, gid), fd, NULL)
HOOK(int, fchownat, "fchownat", (int dir, const char *path, uid_t uid, gid_t gid, int flags),
     (dir, path, uid, gid, flags), dir, path)
HOOK(int, futimens, "futimens", (int fd, const struct timespec times[2]), (fd, times), fd, NULL)
HOOK(int, utimensat, "utimensat", (int dir, const char *path, const struct timespec times[2], int flags),
     (dir, path, times, flags), dir, path)
HOOK(int, fsetxattr, "fsetxattr", (int fd, const char *name, const void *value, size_t n, int flags),
     (fd, name, value, n, flags), fd, NULL)

/* Sockets and locks. */
HOOK(int, setsockopt, "setsockopt", (int fd, int level, int name, const void *value, socklen_t n),
     (fd, level, name, value, n), fd, NULL)
HOOK(int, accept, "accept", (int fd, __SOCKADDR_ARG addr, socklen_t *restrict n), (fd, addr, n), fd, NULL)
HOOK(int, accept4, "accept4", (int fd, __SOCKADDR_ARG addr, socklen_t *restrict n, int flags),
     (fd, addr, n, flags), fd, NULL)
HOOK(int, connect, "connect", (int fd, __CONST_SOCKADDR_ARG addr, socklen_t n), (fd, addr, n), fd, NULL)
HOOK(int, socket, "socket", (int domain, int type, int protocol), (domain, type, protocol), -1, NULL)
HOOK(int, listen, "listen", (int fd, int backlog), (fd, backlog), fd, NULL)
HOOK(int, shutdown, "shutdown", (int fd, int how), (fd, how), fd, NULL)
HOOK(int, flock, "flock", (int fd, int operation), (fd, operation), fd, NULL)

/* Programs. */
HOOK(int, execvp, "execvp", (const char *file, char *const words[]), (file, words), AT_FDCWD, file)

/* A failing close has closed all the same, as Linux does it. */
int close(int fd)
{
    REAL(close);
    struct visit visit;
    int result;

    enter(&visit, "close", fd, NULL);
    result = real(fd);
    if (visit.skipped && result == 0)
        result = (int)skipped_result(&visit);
    leave(&visit, result);
    return result;
}

/* NULL is the end of a folder, too: errno tells which. */
#define HOOK_READDIR(name, entry)                                                                            \
    entry *name(DIR *stream)                                                                                 \
    {                                                                                                        \
        REAL(name);                                                                                          \
        struct visit visit;                                                                                  \
        entry *result = NULL;                                                                                \
        enter(&visit, "readdir", dirfd(stream), NULL);                                                       \
        if (visit.skipped)                                                                                   \
            errno = visit.error;                                                                             \
        else                                                                                                 \
            result = real(stream);                                                                           \
        leave(&visit, result != NULL ? 0 : -1);                                                              \
        return result;                                                                                       \
    }

HOOK_READDIR(readdir, struct dirent)
HOOK_READDIR(readdir64, struct dirent64)

/* open() and its kin take a mode only with some flags; passing what is there harms nothing. */
#define HOOK_OPEN(name, call, params, args, dir, path)                                                       \
    int name params                                                                                          \
    {                                                                                                        \
        REAL(name);                                                                                          \
        struct visit visit;                                                                                  \
        va_list rest;                                                                                        \
        mode_t mode;                                                                                         \
        int result;                                                                                          \
        va_start(rest, flags);                                                                               \
        mode = va_arg(rest, mode_t);                                                                         \
        va_end(rest);                                                                                        \
        enter(&visit, call, dir, path);                                                                      \
        result = visit.skipped ? (int)skipped_result(&visit) : real args;                                    \
        leave(&visit, result);                                                                               \
        return result;                                                                                       \
    }

HOOK_OPEN(open, "open", (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD, path)
HOOK_OPEN(open64, "open", (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD, path)
HOOK_OPEN(openat, "openat", (int dir, const char *path, int flags, ...), (dir, path, flags, mode), dir, path)
HOOK_OPEN(openat64, "openat", (int dir, const char *path, int flags, ...), (dir, path, flags, mode), dir,
          path)

static bool is_lock_command(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

#define HOOK_FCNTL(name)                                                                                     \
    int name(int fd, int command, ...)                                                                       \
    {                                                                                                        \
        REAL(name);                                                                                          \
        struct visit visit;                                                                                  \
        va_list rest;                                                                                        \
        void *argument;                                                                                      \
        int result;                                                                                          \
        va_start(rest, command);                                                                             \
        argument = va_arg(rest, void *);                                                                     \
        va_end(rest);                                                                                        \
        if (!is_lock_command(command))                                                                       \
            return real(fd, command, argument);                                                              \
        enter(&visit, "fcntl_lock", fd, NULL);                                                               \
        result = visit.skipped ? (int)skipped_result(&visit) : real(fd, command, argument);                  \
        leave(&visit, result);                                                                               \
        return result;                                                                                       \
    }

HOOK_FCNTL(fcntl)
HOOK_FCNTL(fcntl64)

/* openat2 and renameat2 may come without a wrapper of the C library. */
long syscall(long number, ...)
{
    struct visit visit;
    va_list rest;
    long a[6], result;

    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (real_syscall == NULL)
        real_syscall = (__typeof__(real_syscall))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_openat2)
        enter(&visit, "openat2", (int)a[0], (const char *)a[1]);
    else if (number == SYS_renameat2)
        enter(&visit, "renameat2", (int)a[2], (const char *)a[3]);
    else
        return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    result =
        visit.skipped ? skipped_result(&visit) : real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    leave(&visit, result);
    return result;
}
