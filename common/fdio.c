/* The one place that knows that system calls may do less than asked. */
#include "common/fdio.h"

#include <errno.h>
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
