/* The journal of a staging folder: which files are on their way in, which of their blocks are there, and with
 * which hashes. What stands in it was flushed before it was written, so it holds after a crash.
 *
 * Writing: journal_create(), then journal_file() once for each file, journal_blocks(), journal_done(),
 * journal_flush(). Records are appended; a torn or damaged record ends what is read, and what follows it
 * counts as never written. Reading: journal_load() gives what a former process recorded. A file that is
 * missing, foreign or damaged from the start gives an empty state: there is no error, only less to go on
 * with.
 *
 * Format: 16 bytes `mstore-journal-1`, then records of: 4 bytes length of the body, 1 byte type, 3 zero, the
 * body, 8 bytes FNV-1a of all before in the record. Little-endian. 1 FILE    number 4, size 8, mtime 8, nsec
 * 4, source 8, path length 2, path, temporary path length 2, temporary path 2 BLOCKS  number 4, first block
 * 8, hashes n × 16 3 DONE    number 4: complete, under its name in `tree`
 *
 * One thread writes. Errors of writing are sticky: every later call fails too. */
#ifndef COMMON_JOURNAL_H
#define COMMON_JOURNAL_H

#include "proto/error.h"
#include "proto/listing.h"

#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_NAME       "journal"
#define JOURNAL_MAX_BLOCKS ((uint64_t)1 << 22) /* of one file, 32 TB; guards the memory of a reader */

struct journal_file {
    struct file_entry entry; /* owns its path */
    char *temporary;         /* path of the temporary file; NULL if it never had one */
    bool complete;
    uint8_t *hashes;  /* blocks × HASH_SIZE */
    uint8_t *present; /* 1 for each block that is there */
    uint64_t blocks;  /* length of both; blocks beyond are absent */
};

struct journal_state {
    struct journal_file *files;
    size_t count;
};

void journal_load(struct journal_state *state, int folder);
/* The same from bytes in memory; for tests and fuzzing. */
void journal_parse(struct journal_state *state, const uint8_t *bytes, size_t length);
void journal_state_release(struct journal_state *state);
void journal_file_release(struct journal_file *file);

/* Sorts by path, after which a file can be found by its path; NULL if it is not there. */
void journal_state_sort(struct journal_state *state);
const struct journal_file *journal_state_find(const struct journal_state *state, const char *path);

struct journal;

/* Begins a new journal in `folder`, under a temporary name until journal_commit() puts it in the place of the
 * former one. */
int journal_create(struct journal **journal, int folder, struct error *err);
int journal_commit(struct journal *journal, struct error *err);
void journal_destroy(struct journal **journal);

int journal_file(struct journal *journal, uint32_t number, const struct file_entry *entry,
                 const char *temporary, struct error *err);
int journal_blocks(struct journal *journal, uint32_t number, uint64_t first, const uint8_t *hashes,
                   size_t count, struct error *err);
int journal_done(struct journal *journal, uint32_t number, struct error *err);
/* Writes what was collected and makes it durable. */
int journal_flush(struct journal *journal, struct error *err);

#endif
