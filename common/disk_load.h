/* What a disk alone carries: bytes written to and read from a file without a name, without link and hashes.
 *
 *   disk_load_open() … disk_load_write() … disk_load_read() … disk_load_close()
 *
 * The file is of a kind that nobody sees and that is gone when it is closed, also by a crash (O_TMPFILE of
 * open(2); where the file system has none, a file is unlinked at once). It is written as received files are:
 * with O_DIRECT in whole blocks where that is wished and the file system can, else through the page cache
 * with writeback in windows, and durable at the end. Reading drops the file from the page cache before, and
 * tells how much of it was left there.
 *
 * One thread; blocks for long, so not on a loop. `progress` gets the bytes done so far after each block, and
 * ends it with ERROR_INTERRUPTED when it returns false. */
#ifndef COMMON_DISK_LOAD_H
#define COMMON_DISK_LOAD_H

#include "proto/error.h"

#include <stdbool.h>
#include <stdint.h>

struct disk_load {
    int fd;
    bool direct;   /* written with O_DIRECT */
    uint64_t size; /* written */
    bool (*progress)(void *context, uint64_t bytes);
    void *context;
};

struct disk_rate {
    uint64_t bytes, ns;
    uint64_t cached; /* of the bytes, before they were read */
};

/* In this folder; the descriptor is borrowed. ERROR_FILE, ERROR_NO_SPACE. */
int disk_load_open(struct disk_load *load, int folder, bool direct, struct error *err);
void disk_load_close(struct disk_load *load);

/* From the start. ERROR_NO_SPACE beforehand where it would take more than half of what is free. */
int disk_load_write(struct disk_load *load, uint64_t bytes, struct disk_rate *rate, struct error *err);

/* What disk_load_write() has written. */
int disk_load_read(struct disk_load *load, struct disk_rate *rate, struct error *err);

/* The same for the first `bytes` of any file, adding to *rate. */
int disk_load_read_file(struct disk_load *load, int fd, uint64_t bytes, struct disk_rate *rate,
                        struct error *err);

#endif
