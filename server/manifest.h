/* What a stored version of a model consists of: its files, and the block hashes that were proven when they
 * came in.
 *
 * On disk, in the model's folder below ROOT/.mstore/meta: `<generation>.json`, one JSON object a line, first
 * the version itself, then each file; and `<generation>.blocks`, the block hashes of all files that have any,
 * one after the other in the order of the lines. The first line alone is enough to list a model, and block
 * hashes are read only when they are needed.
 *
 *   line 1   {"mstore":1,"files":12,"bytes":…,"mtime":…,"nsec":…,"folder":…,"model":"ns/m",
 *             "origin":…,"flawed":…}   time of publishing
 *   others   {"path":…,"size":…,"mtime":…,"nsec":…,"source":…,"hash":…,"sha256":…,"git_blob":…,
 *             "disk_mtime":…,"disk_nsec":…}
 *
 * `mtime` and `source` are the pusher's; `disk_mtime` is what the file system made of it, where that differs.
 * A file's hashes hold as long as it has that size and disk mtime. Threads: plain data; blocking calls. */
#ifndef SERVER_MANIFEST_H
#define SERVER_MANIFEST_H

#include "proto/error.h"
#include "proto/listing.h"

#include <stdint.h>

#define MANIFEST_NO_HASHES UINT64_MAX

struct manifest_summary {
    uint64_t files, bytes;
    int64_t mtime;
    uint32_t nsec;
    uint64_t folder;               /* 53 bits of the inode of the folder that it was made for */
    char model[LIMIT_ID + 1];      /* as it was spelled, "" if unknown: some file systems fold case */
    char origin[LIMIT_ORIGIN + 1]; /* where its files come from, "" if unknown */
    bool flawed;                   /* by what the headers told last (common/model_finding.h) */
};

#define MANIFEST_MOST_GENERATIONS 16

struct manifest {
    struct manifest_summary summary;
    struct listing listing;
    /* One each for the files of the listing: */
    int64_t *disk_mtime;
    uint32_t *disk_nsec;
    uint64_t *first_block; /* place in `blocks`, or MANIFEST_NO_HASHES */
    uint8_t *blocks;       /* block_total × HASH_SIZE */
    uint64_t block_total;
};

/* Appends a file; `hashes` (or NULL) are its block hashes. Sets the entry's file hash. */
void manifest_add(struct manifest *manifest, const struct file_entry *entry, int64_t disk_mtime,
                  uint32_t disk_nsec, const uint8_t *hashes);
void manifest_release(struct manifest *manifest);

/* The block hashes of a file, NULL if unknown. */
const uint8_t *manifest_hashes(const struct manifest *manifest, uint64_t file);

/* Both files, durable, blocks first. */
int manifest_save(const struct manifest *manifest, int folder, uint64_t generation, struct error *err);
int manifest_load(struct manifest *manifest, int folder, uint64_t generation, struct error *err);

/* The lines in memory, without the blocks: for tests and fuzzing. Counts the blocks that `.blocks` has to
 * hold. */
int manifest_parse(struct manifest *manifest, const char *text, size_t length, struct error *err);

/* The generations in a folder, highest first, at most `most`. Returns how many. */
size_t manifest_generations(int folder, uint64_t *generations, size_t most);

/* The generation that was made for the model's folder with this inode; where there is none (the root was
 * restored from a backup), the newest. 1, 0 if there is none at all, -1 if its first line is damaged. There
 * is more than one only after a crash in the middle of publishing. */
int manifest_choose(int folder, uint64_t inode, uint64_t *generation, struct manifest_summary *summary);

void manifest_remove(int folder, uint64_t generation);

#endif
