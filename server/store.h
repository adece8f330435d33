/* The models on disk: their places, locks, listing, publishing and removal.
 *
 *   ROOT/<namespace>/<model>/…                    plain files
 *   ROOT/.mstore/meta/<namespace>/<model>/        manifests (manifest.h)
 *   ROOT/.mstore/staging/<namespace>/<model>/     an unfinished push (staging.h), and `plan.json`
 *   ROOT/.mstore/trash/<namespace>/<model>/<random>   what was removed or replaced
 *   ROOT/.mstore/lock/<namespace>/<model>         lock file, never removed
 *
 * Locks are open-file-description locks (fcntl(2)) on bytes of a model's lock file, so they hold between
 * sessions of this daemon and between daemons alike, and go with the descriptor: byte 0        one push,
 * removal or update of the model; its holder's name stands in the file byte 1        shared while a version
 * is being opened, exclusive while another takes its place byte 16 + i   shared while somebody reads the
 * version whose folder has inode i; the trash waits for it
 *
 * Threads: a struct store is const after store_open(); calls block and may run in any thread. */
#ifndef SERVER_STORE_H
#define SERVER_STORE_H

#include "proto/error.h"
#include "proto/message.h"
#include "server/manifest.h"

#include <stdatomic.h>
#include <stdbool.h>

struct store {
    int root, meta, staging, trash, lock; /* folders */
};

/* Makes the folders below ROOT/.mstore that are missing. */
int store_open(struct store *store, const char *root, struct error *err);
void store_close(struct store *store);

/* Calls `add` for every model, in the order of their names; models that only an unfinished push has begun are
 * `incomplete`. The model's strings are borrowed for the call. */
typedef void store_visitor(void *context, const struct message_model *model);
int store_list(const struct store *store, store_visitor *add, void *context, struct error *err);

/* The same for one model; ERROR_NO_MODEL. */
int store_describe(const struct store *store, const char *id, store_visitor *add, void *context,
                   struct error *err);

/* -- locks -- */

/* Descriptor of a model's lock file, made if it is missing; close it to let go of its locks. */
int store_lock_file(const struct store *store, const char *id, struct error *err);

/* Byte 0, at once or not at all: ERROR_BUSY names the holder and since when. `owner` is written into the
 * file. */
int store_lock_push(int lock_file, const char *id, const char *owner, struct error *err);

/* The same with a little patience: a push that was just interrupted still records what it has, and the next
 * command must not fail for that. Gives up early when *stop is set. */
int store_lock_soon(int lock_file, const char *id, const char *owner, const atomic_bool *stop,
                    struct error *err);

int store_lock_shared(int lock_file, struct error *err);    /* byte 1, waits */
int store_lock_exclusive(int lock_file, struct error *err); /* byte 1, waits */
void store_unlock(int lock_file);                           /* byte 1 */
int store_pin(int lock_file, uint64_t inode, struct error *err);
bool store_is_pinned(int lock_file, uint64_t inode);

/* -- one model -- */

/* The folder of the live version, or -1 with errno (ENOENT where there is none). */
int store_open_live(const struct store *store, const char *id);

/* Whether the folders of `id` are listed under just this spelling. */
bool store_has_spelling(const struct store *store, const char *id);

/* The folder of its manifests; `make` makes it. -1 with errno. */
int store_open_meta(const struct store *store, const char *id, bool make);

/* The staging folder of a push, made if it is missing. */
int store_open_staging(const struct store *store, const char *id, struct error *err);

/* Removes it if nothing is in it: a push that only asked. */
void store_drop_empty_staging(const struct store *store, const char *id);

/* Writes what the push will bring, so that others can say how far it is. */
int store_save_plan(int staging_folder, const struct manifest_summary *summary, struct error *err);

/* Saves `manifest` as the newest and, with SWITCH held exclusively by `lock_file`, makes `tree` of the
 * staging folder the live version in one step; the former one goes to the trash. The push lock must be held.
 * Durable when it returns. */
int store_publish(const struct store *store, const char *id, int lock_file, const struct manifest *manifest,
                  struct error *err);

/* Takes away the live version, its manifests and what was staged. The push lock must be held. */
int store_remove(const struct store *store, const char *id, int lock_file, struct error *err);

/* Saves a manifest for the live version as it is, and removes the older ones. Bytes 0 and 1 must be held
 * exclusively. */
int store_update_manifest(const struct store *store, const char *id, const struct manifest *manifest,
                          struct error *err);

/* Empties the trash of what nobody reads, and removes stagings that nobody has touched for `days`. Stops
 * early when *stop is set. Failures are logged. True if the trash is empty now. */
bool store_sweep(const struct store *store, unsigned days, const atomic_bool *stop);

#endif
