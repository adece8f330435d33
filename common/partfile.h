/* A temporary file beside its final name: create, reserve, write, publish.
 *
 *   partfile_create() … partfile_write() … partfile_publish()   or   partfile_discard()
 *
 * The bytes are invisible under the final name until partfile_publish() has renamed it there, which never
 * replaces a file. The temporary name is `.<name>.<random>` in the same folder (so that a distributed file
 * system places it with its final name); where that is too long, `.mstore.<random>`.
 *
 * One thread at a time creates, publishes or discards; any number may write different ranges in between. */
#ifndef COMMON_PARTFILE_H
#define COMMON_PARTFILE_H

#include "proto/error.h"
#include "proto/listing.h"

#include <pthread.h>
#include <stdbool.h>

/* Alignment of buffers, offsets and lengths for O_DIRECT: the largest logical block of today's disks
 * (open(2)). */
#define PARTFILE_ALIGN 4096

struct partfile {
    int folder;    /* the folder that holds it */
    int fd;        /* through the page cache */
    int direct_fd; /* O_DIRECT, or -1 */
    char *name;    /* temporary, in `folder` */
    /* Writes through the cache take turns. The kernel lets one through at a time (i_rwsem of the inode) and
     * has the others spin meanwhile: measured, a tenth of a receiver's CPU time with four streams in one
     * file. */
    pthread_mutex_t turn;
};

/* Makes the folders on the way and the file, and reserves its size. `direct` asks for O_DIRECT; where the
 * file system has none, direct_fd stays -1. Errors carry the path of `entry`. */
int partfile_create(struct partfile *part, int root, const struct file_entry *entry, bool direct,
                    struct error *err);

/* Opens one that an earlier process has left under the temporary path `path`. */
int partfile_reopen(struct partfile *part, int root, const struct file_entry *entry, const char *path,
                    bool direct, struct error *err);

/* The temporary path below the root, for the journal; free() it. */
char *partfile_path(const struct partfile *part, const struct file_entry *entry);

/* Writes through O_DIRECT what is aligned, if there is a direct_fd, else through the page cache. */
int partfile_write(struct partfile *part, const struct file_entry *entry, const void *bytes, size_t length,
                   uint64_t offset, struct error *err);

/* Starts the writeback of a range; finishing waits for it and, with `drop`, lets its pages go. What a file
 * system does not know is left out; an error of writing is returned, for the kernel tells of it only once. */
int partfile_start_writeback(struct partfile *part, const struct file_entry *entry, uint64_t offset,
                             uint64_t length, struct error *err);
int partfile_finish_writeback(struct partfile *part, const struct file_entry *entry, uint64_t offset,
                              uint64_t length, bool drop, struct error *err);

/* Sets size and mtime, with `durable` flushes the data, closes, and renames to the final name. Frees
 * everything, also on failure, when the temporary file is removed. A file that is there already under the
 * final name is an error: two names of the model are one name on this file system (case, Unicode form). */
int partfile_publish(struct partfile *part, const struct file_entry *entry, bool durable, struct error *err);

/* Closes and removes it. */
void partfile_discard(struct partfile *part);

/* Closes it and leaves it for a later partfile_reopen(). */
void partfile_leave(struct partfile *part);

#endif
