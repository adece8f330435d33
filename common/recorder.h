/* Records what arrives in a staging folder: after 16 MiB or a second what came since is flushed, and only
 * then written into the journal. So the journal never says more than the disk holds, and a crash costs
 * little.
 *
 *   recorder_create() … recorder_add() …   recorder_commit() once   recorder_run() … recorder_add() …
 * recorder_destroy()
 *
 * Threads: recorder_add() from any thread; the rest from one. The view's functions are called from the
 * recorder's thread and take what locks they need. A failure of recording is logged once and only costs
 * resume: if the disk is to blame, the writers meet it too. */
#ifndef COMMON_RECORDER_H
#define COMMON_RECORDER_H

#include "proto/error.h"
#include "proto/listing.h"

#include <stdbool.h>
#include <stdint.h>

/* A round begins when this much has come or this long has passed, and so this is what a crash can cost beside
 * the blocks that are on their way. Between two rounds lie at least RECORDER_PAUSE times the first one's
 * duration (but no more than RECORDER_EVERY_MS): where a flush is a seek of 30 ms, the seeks take a tenth of
 * the disk's time at most. */
#define RECORDER_EVERY_BYTES (UINT64_C(16) << 20)
#define RECORDER_EVERY_MS    1000
#define RECORDER_PAUSE       8

struct recorder;

/* What the recorder asks the staging. */
struct recorder_view {
    void *context;
    /* A duplicate of the open descriptor of a file, -1 if it is not open. The caller closes it. */
    int (*open_copy)(void *context, uint32_t file);
    /* Path of its temporary file, NULL if it has none (any more). The caller frees it. */
    char *(*temporary)(void *context, uint32_t file);
    bool (*is_complete)(void *context, uint32_t file);
    const uint8_t *(*hashes)(void *context, uint32_t file);
    /* Bytes of a file, or of some file (-1), could not be flushed. */
    void (*lost)(void *context, int64_t file, const struct error *error);
};

/* `folder` holds the journal, `tree` the files (for syncfs); both and the plan are borrowed. */
int recorder_create(struct recorder **recorder, int folder, int tree, const struct listing *plan,
                    const struct recorder_view *view, struct error *err);

/* This block is written, and if it was the last, the file has its name. */
void recorder_add(struct recorder *recorder, uint32_t file, uint64_t block);

/* Records what was added so far and lets the new journal take the place of the old one. */
int recorder_commit(struct recorder *recorder, struct error *err);

/* Starts the thread. */
int recorder_run(struct recorder *recorder, struct error *err);

/* Stops the thread; with `last_round` what was added since is still recorded. */
void recorder_destroy(struct recorder **recorder, bool last_round);

#endif
