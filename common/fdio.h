/* Whole reads and writes: loops over short results and EINTR.
 *
 * Each returns the bytes moved, or -1 with errno set. Fewer than asked means end of file or end of stream.
 * Thread-safe as the system calls are. Descriptors are borrowed. */
#ifndef COMMON_FDIO_H
#define COMMON_FDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

ssize_t fdio_read(int fd, void *buffer, size_t length);
ssize_t fdio_pread(int fd, void *buffer, size_t length, uint64_t offset);
/* A write that stays short of its length without an error becomes -1 with ENOSPC. */
ssize_t fdio_pwrite(int fd, const void *buffer, size_t length, uint64_t offset);
ssize_t fdio_write(int fd, const void *buffer, size_t length);
/* All of it to a blocking socket, without SIGPIPE; `more` says that more follows at once (MSG_MORE). */
ssize_t fdio_send(int socket, const void *buffer, size_t length, bool more);

/* Opening, flushing and truncating, again after EINTR (network file systems can be interrupted). As the
 * system calls. */
int fdio_openat(int dir, const char *path, int flags, mode_t mode);
int fdio_fsync(int fd);
int fdio_fdatasync(int fd);
int fdio_syncfs(int fd);
int fdio_ftruncate(int fd, uint64_t length);
/* sync_file_range(2), again after EINTR. -1 only where bytes could not be stored (EIO, ENOSPC, EDQUOT), for
 * the kernel tells a descriptor of that once; that a file system does not know the call is no failure. */
int fdio_sync_range(int fd, uint64_t offset, uint64_t length, unsigned flags);

/* close() whose error counts: quota and delayed write errors may only show here. EINTR is success, for Linux
 * has closed the descriptor then (close(2)). Sets *fd to -1. */
int fdio_close(int *fd);

/* Closes what may be open, without looking at the result. Sets *fd to -1. */
void fdio_drop(int *fd);

#endif
