/* Git LFS pointers: the small text that stands for a large file where that was not fetched.
 *
 * Format: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: lines "version URL", "oid sha256:HEX",
 * "size NUMBER", in this order with others between, less than 1024 bytes in all. Pure; any thread. */
#ifndef COMMON_LFS_POINTER_H
#define COMMON_LFS_POINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pointer has fewer bytes. */
#define LFS_POINTER_MAX 1024

struct lfs_pointer {
    uint8_t oid[32]; /* the SHA-256 of the file that it stands for */
    uint64_t size;   /* that file's */
};

/* Whether the whole file `text` is a pointer. */
bool lfs_pointer_parse(struct lfs_pointer *pointer, const char *text, size_t length);

#endif
