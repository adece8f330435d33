/* A listing: the files of one version of a model, or of a local folder, each with what identifies it.
 *
 * The place of a file, from 0, is its file number on the wire. Ownership: the listing owns its paths.
 * Not thread-safe while it grows; const and shared freely afterwards. */
#ifndef PROTO_LISTING_H
#define PROTO_LISTING_H

#include "proto/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the bytes of a planned file come from (docs/protocol.md, section 5.1). */
enum file_from { FROM_NONE, FROM_SEND, FROM_STAGED, FROM_LIVE };

struct file_entry {
    char *path;
    uint64_t size;
    int64_t mtime; /* seconds since 1970, may be negative */
    uint32_t nsec;
    uint64_t
        source; /* what a pusher recognises its own file by (docs/protocol.md, section 4); 0 if unknown */
    enum file_from from;
    bool has_hash;
    uint8_t hash[HASH_SIZE];
    /* What else is known of the bytes (docs/protocol.md, section 5): */
    bool has_sha256, has_git_blob;
    uint8_t sha256[SHA256_SIZE], git_blob[GIT_BLOB_SIZE];
};

struct listing {
    struct file_entry *files;
    size_t count, capacity;
    size_t path_bytes; /* of all paths */
};

/* Appends a copy of `entry` with a copy of its path; out of memory ends the program. Returns it, valid until
 * the next add. */
struct file_entry *listing_add(struct listing *listing, const struct file_entry *entry);

/* Copies SHA-256 and blob id that `entry` lacks and `known`, the same bytes, has. */
void file_entry_learn(struct file_entry *entry, const struct file_entry *known);

/* Appends a batch, or nothing and returns false if that would be more than LIMIT_FILES or LIMIT_PATHS. */
bool listing_add_batch(struct listing *listing, const struct listing *batch);

/* Takes out the files for which `keep`, called once for each in order, is false. It may change what is known
 * of a file, not its path. */
void listing_filter(struct listing *listing, bool (*keep)(void *context, struct file_entry *entry),
                    void *context);

void listing_release(struct listing *listing);

/* Of all files; UINT64_MAX if that is more. */
uint64_t listing_bytes(const struct listing *listing);

/* How many files from number `at` on make one `files` message. */
size_t listing_batch(const struct listing *listing, size_t at);

/* An index by path: the file numbers in strcmp order of their paths. free() it. NULL if the listing names a
 * path twice, or one that is a folder of another; then *clash is such a path. An empty listing gives a
 * non-NULL index too. */
uint32_t *listing_index(const struct listing *listing, const char **clash);

/* The file number of `path`, or -1. */
int64_t listing_find(const struct listing *listing, const uint32_t *index, const char *path);

/* "send" … and back; FROM_NONE for an unknown word. */
const char *file_from_name(enum file_from from);
enum file_from file_from_parse(const char *name);

#endif
