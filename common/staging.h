/* A model on its way in: a folder `tree` that becomes the model, and a journal of what is there. The server's
 * side of a push and the client's side of a pull; neither sockets nor the final place are known here.
 *
 *   staging_tree_inspect()   what did a former transfer leave? (staging_tree.h)
 *   staging_create()    adopt what the plan takes from it, remove the rest
 *   staging_link()      files that are taken over unchanged
 *   staging_start()     from now on what arrives is flushed and recorded every second
 *   staging_begin/write/end()   by the stream threads, for each block
 *   staging_finish()    everything is there: flush; then the owner moves `tree` into place
 *   staging_destroy()   leaves what is there for the next time
 *
 * Each block is claimed by the stream that writes it. A second stream with the same block (a sick link's work
 * is done twice) collects it in memory; only when it is whole and proven does it take the claim over, once
 * the first is not inside a write, and writes it at one go; the first then discards its copy. Whoever is
 * through first has stored the block. So no byte is written behind a block's check, nor into a file that is
 * complete, and a block that is said to be there is there.
 *
 * Threads: begin, write, end and abandon from any thread; the rest from one. One mutex; file system calls are
 * made without it. Ownership: the plan is borrowed and const until staging_destroy(). */
#ifndef COMMON_STAGING_H
#define COMMON_STAGING_H

#include "common/claims.h"
#include "common/io_mode.h"
#include "common/journal.h"
#include "proto/error.h"
#include "proto/listing.h"

#include <stdbool.h>
#include <stdint.h>

#define STAGING_TREE "tree"

/* A file of this size or more is written with O_DIRECT in mode `auto`, unless it lies in memory: smaller ones
 * fit the disk's own cache anyway. */
#define STAGING_DIRECT_MIN ((uint64_t)64 << 20)

/* How far writing runs ahead of writeback before it waits: two windows of 32 MB, in blocks (design: measured
 * at the disk's full rate with nothing left to flush at the end). */
#define STAGING_AHEAD_BLOCKS 8

struct staging;

struct staging_options {
    enum io_mode io;
    bool keep_cached; /* the pages stay in the cache: the files are read next (pull); else they are let go */
};

enum staging_answer {
    STAGING_FAILED = -1,
    STAGING_CLAIMED, /* write it, then staging_end() */
    STAGING_HAVE,    /* it is there: discard the payload */
    STAGING_TAKEN,   /* another stream is writing it, or has taken it over */
};

/* Takes `folder`. Files of the plan with FROM_STAGED are adopted from the sorted `state` (ERROR_PROTOCOL if
 * they are not there with that size); whatever else lies in the folder is removed. */
int staging_create(struct staging **staging, int folder, const struct listing *plan,
                   const struct journal_state *state, const struct staging_options *options,
                   struct error *err);

/* Takes a file over from `live` (a folder) as a hard link, or as a copy where there are no links. `hashes`
 * are its block hashes, NULL if they are not known. */
int staging_link(struct staging *staging, uint32_t file, int live, const uint8_t *hashes, struct error *err);

int staging_start(struct staging *staging, struct error *err);

/* `*err` is set with STAGING_FAILED; the file has failed as a whole then. With `take_over`, never
 * STAGING_TAKEN: the caller has the whole block and it is proven. */
enum staging_answer staging_begin(struct staging *staging, uint32_t file, uint64_t block, bool take_over,
                                  struct claim *claim, struct error *err);
/* STAGING_TAKEN when the claim was taken over. After a failure the claim is gone. */
enum staging_answer staging_write(struct staging *staging, const struct claim *claim, const void *bytes,
                                  size_t length, uint64_t offset_in_block, struct error *err);
/* The block is written and its bytes have the hash `hash`. The last block completes the file. */
enum staging_answer staging_end(struct staging *staging, const struct claim *claim,
                                const uint8_t hash[HASH_SIZE], struct error *err);
/* For a stream whose claim was taken over: waits for the other, who is writing. STAGING_HAVE or
 * STAGING_FAILED. */
enum staging_answer staging_wait(struct staging *staging, uint32_t file, uint64_t block, struct error *err);
/* The bytes were bad or did not all come. */
void staging_abandon(struct staging *staging, const struct claim *claim);

/* Whether blocks of this file are best handed over whole and aligned, for O_DIRECT. */
bool staging_is_direct(const struct staging *staging, uint32_t file);

bool staging_has(struct staging *staging, uint32_t file, uint64_t block);
bool staging_is_complete(struct staging *staging);

/* Stops the recording, makes everything durable, and checks that no file has taken the place of another. Call
 * it when no stream is at work. */
int staging_finish(struct staging *staging, struct error *err);

/* Block hashes of a file of a complete staging, NULL if unknown (a linked file). Borrowed. */
const uint8_t *staging_hashes(struct staging *staging, uint32_t file);

/* Descriptor of `tree`, borrowed. */
int staging_tree(struct staging *staging);

/* Stops the recording, after a last time; open files are left for the next time. */
void staging_destroy(struct staging **staging);

#endif
