/* The files that bench read reads: which they are, what of them is cached, and dropping that.
 *
 *   bench_files_collect() … bench_files_resident(), bench_files_drop() … bench_files_release()
 *
 * Blocking; one thread. An error that concerns one file names it (ERROR_FILE, ERROR_CHANGED). */
#ifndef CLIENT_BENCH_FILES_H
#define CLIENT_BENCH_FILES_H

#include "common/optparse.h"
#include "proto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bench_file {
    char *path;
    uint64_t size;
    uint64_t allocated; /* bytes that lie on the disk: fewer where it has holes */
    dev_t device;
    ino_t inode;
    size_t place; /* in which order it was found */
};

struct bench_files {
    struct bench_file *files;
    size_t count;
    uint64_t bytes;
    uint64_t allocated; /* never more than `bytes` */
};

/* Takes files as they are, and of folders the regular files below, sorted by name, without junk (junk.h);
 * links to files are followed. A file that is reached twice counts once: the second time it would be
 * read from memory. Fails where nothing is to be read, and where the files lie in different file systems: a
 * mean of two places says nothing about either. */
int bench_files_collect(struct bench_files *files, const struct optparse_list *paths, struct error *err);
void bench_files_release(struct bench_files *files);

/* Opens one of them for reading; fails where its size is no longer what it was. Close the result. */
int bench_files_open(const struct bench_file *file, struct error *err);

/* How many of the bytes are in the page cache. *known is false, without an error, where the kernel does not
 * tell (page_cache_resident()). */
int bench_files_resident(const struct bench_files *files, bool *known, uint64_t *cached, struct error *err);

/* Has all of them written back and dropped from the page cache, as far as that goes. */
int bench_files_drop(const struct bench_files *files, struct error *err);

#endif
