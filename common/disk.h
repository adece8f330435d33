/* A disk that seeks wants few long runs: where several streams read several files, each in the kernel's
 * read-ahead of 128 KB or so, it spends its time between them. Here they take turns of a block each.
 *
 *   disk_init() … disk_fetch() by any thread before it sends a block … disk_release()
 *
 * Thread-safe. */
#ifndef COMMON_DISK_H
#define COMMON_DISK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct disk {
    bool is_rotational;
    pthread_mutex_t turn;
};

/* Whether the disk below an open file or folder says that it rotates (/sys/dev/block/…/queue/rotational).
 * False where that is not known: file systems of no disk (common/device.h). */
bool disk_is_rotational(int fd);

/* Whether an open file or folder lies in memory (tmpfs, ramfs): there is nothing below the page cache. */
bool disk_is_memory(int fd);

/* Bytes of the file system of an open file or folder. */
struct disk_space {
    uint64_t total, available;
};

/* False where that cannot be told, or where the file system says nothing of blocks: then the writes will
 * tell. */
bool disk_space(int fd, struct disk_space *space);

void disk_init(struct disk *disk, int fd);
void disk_release(struct disk *disk);

/* On a rotating disk: has these bytes of the file read into the page cache in one run, while nobody else who
 * calls this reads. Cheap where they are there. Errors are left to who reads the bytes. */
void disk_fetch(struct disk *disk, int fd, uint64_t offset, uint64_t length);

#endif
