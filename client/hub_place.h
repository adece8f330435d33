/* The Hub's cache as the place of a pull (docs/layouts.md): files become blobs, a snapshot of links shows
 * them, refs/main names it.
 *
 *   hub_place_choose() when origin and listing are known; hub_place_has() for each file; the pull stages what
 * is missing in a struct destination of place.folder; hub_place_show() when all is there and proven
 *
 * Blobs are complete and durable before the snapshot's folder appears, in one rename, and refs/main follows
 * it. A crash leaves at most blobs, each of them complete. Blocking; one thread. */
#ifndef CLIENT_HUB_PLACE_H
#define CLIENT_HUB_PLACE_H

#include "client/destination.h"
#include "client/hub.h"
#include "client/options.h"
#include "proto/hex.h"
#include "proto/listing.h"

struct hub_place {
    char *folder;                       /* CACHE/models--ORG--MODEL */
    char commit[HUB_COMMIT_DIGITS + 1]; /* "": hub_place_show() makes it of the files */
};

/* `origin` (or NULL) says repo and commit; without one the repo is called like the model. */
int hub_place_choose(struct hub_place *place, const char *cache, const char *model, const char *origin,
                     struct error *err);
void hub_place_release(struct hub_place *place);

/* The folder of the snapshot that was shown; free() it. */
char *hub_place_snapshot(const struct hub_place *place);

/* The name of a file's blob: its SHA-256, else Git's id, else the file hash in hexadecimal. False if none of
 * them is known. */
#define HUB_BLOB_MAX HEX_MAX(SHA256_SIZE)
bool hub_blob_name(const struct file_entry *entry, char out[HUB_BLOB_MAX]);

/* Where that lies in the repo's folder: "blobs/<name>". */
#define HUB_BLOB_PATH_MAX (sizeof "blobs/" + HUB_BLOB_MAX)
bool hub_blob_path(const struct file_entry *entry, char out[HUB_BLOB_PATH_MAX]);

/* Whether the repo's `folder` (-1: there is none) has the blob, of that size; with `checksum`, of that
 * content. */
bool hub_place_has(int folder, const struct file_entry *entry, bool checksum, _Atomic uint64_t *bytes_read);

/* 40 digits made of paths, sizes and file hashes (of modification times where those are unknown): the same
 * for the same files. */
void hub_make_commit(const struct listing *model, char commit[HUB_COMMIT_DIGITS + 1]);

/* `tree` holds the files of `plan`, which are those with these `numbers` of `model`. All files of the model
 * that the options select are in the tree or were there, and have a blob name. ERROR_CORRUPT where a blob of
 * a SHA-256 is there and the file that should take its place has another one. */
int hub_place_show(struct hub_place *place, const struct destination *destination, int tree,
                   const struct listing *plan, const uint32_t *numbers, const struct listing *model,
                   const struct options *options, struct error *err);

#endif
