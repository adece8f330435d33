/* Reads files from front to back and throws the bytes away: the thing that bench read takes the time of.
 *
 * READ_MODE_READ: read(2) of READ_PASS_BUFFER bytes behind POSIX_FADV_SEQUENTIAL, as mstore's own push does.
 * READ_MODE_MMAP: a shared mapping of each file without any advice (and without MAP_POPULATE), one byte of
 * each page in order, so that the read-ahead of the file system's bdi rules as it does for a loader.
 *
 * A file that gets shorter meanwhile is an error (ERROR_CHANGED), also where the kernel says so by SIGBUS; a
 * read error is one too (ERROR_FILE). SIGINT and SIGTERM end it within a piece.
 *
 * One pass at a time in the whole program, for READ_MODE_MMAP handles SIGBUS while it runs. Blocking. */
#ifndef CLIENT_READ_PASS_H
#define CLIENT_READ_PASS_H

#include "client/bench_files.h"
#include "client/read_mode.h"

/* mstore's copy buffers have this size (docs/performance.md: larger ones gain nothing). */
#define READ_PASS_BUFFER ((size_t)8 << 20)

/* A buffer of READ_PASS_BUFFER bytes whose pages are there, so that no pass has to make them; free() it.
 * NULL where memory is out. */
void *read_pass_buffer(void);

int read_pass(const struct bench_files *files, enum read_mode mode, void *buffer, struct error *err);

#endif
