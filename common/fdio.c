/* The one place that knows that system calls may do less than asked. */
#include "common/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t fdio_read(int fd, void *buffer, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = read(fd, (char *)buffer + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t fdio_pread(int fd, void *buffer, size_t length, uint64_t offset)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = pread(fd, (char *)buffer + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t fdio_pwrite(int fd, const void *buffer, size_t length, uint64_t offset)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = pwrite(fd, (const char *)buffer + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t fdio_write(int fd, const void *buffer, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = write(fd, (const char *)buffer + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t fdio_send(int socket, const void *buffer, size_t length, bool more)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n =
            send(socket, (const char *)buffer + done, length - done, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Repeats a call that gives -1 and EINTR. */
#define AGAIN(call)                                                                                          \
    do {                                                                                                     \
        int result;                                                                                          \
        while ((result = (call)) < 0 && errno == EINTR)                                                      \
            ;                                                                                                \
        return result;                                                                                       \
    } while (0)

int fdio_openat(int dir, const char *path, int flags, mode_t mode)
{
    AGAIN(openat(dir, path, flags, mode));
}

int fdio_fsync(int fd)
{
    AGAIN(fsync(fd));
}

int fdio_fdatasync(int fd)
{
    AGAIN(fdatasync(fd));
}

int fdio_syncfs(int fd)
{
    AGAIN(syncfs(fd));
}

int fdio_sync_range(int fd, uint64_t offset, uint64_t length, unsigned flags)
{
    int result;
    do
        result = sync_file_range(fd, (off_t)offset, (off_t)length, flags);
    while (result < 0 && errno == EINTR);
    return result < 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT) ? -1 : 0;
}

int fdio_ftruncate(int fd, uint64_t length)
{
    AGAIN(ftruncate(fd, (off_t)length));
}

int fdio_close(int *fd)
{
    int result = *fd < 0 ? 0 : close(*fd);
    *fd = -1;
    return result < 0 && errno == EINTR ? 0 : result;
}

void fdio_drop(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}
