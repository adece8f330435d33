/* Names of the Hugging Face Hub and of its cache on this machine (docs/layouts.md).
 *
 * A repo is ORG/MODEL, or MODEL alone for the oldest ones. In the cache it is the folder
 * `models--ORG--MODEL/{blobs,refs,snapshots/<commit>}`. As a source of a push it is written
 * hf:ORG/MODEL[@REVISION], and as a model's origin hf:ORG/MODEL@<commit>. Pure but for the environment; any
 * thread. */
#ifndef CLIENT_HUB_H
#define CLIENT_HUB_H

#include "proto/error.h"
#include "proto/limits.h"

#include <stdbool.h>

#define HUB_PREFIX        "hf:"
#define HUB_MAIN          "main" /* the revision where none is named */
#define HUB_COMMIT_DIGITS 40
#define HUB_REVISION_MAX  255

struct hub_name {
    char repo[LIMIT_ID + 1];
    char revision[HUB_REVISION_MAX + 1]; /* a ref such as "main" or "refs/pr/1", or a commit */
};

/* Whether a source is meant as a name of the Hub. */
bool hub_is_name(const char *source);

/* ERROR_USAGE where repo or revision cannot be one. */
int hub_parse(struct hub_name *name, const char *source, struct error *err);

/* Exactly 40 lower-case hexadecimal digits. */
bool hub_is_commit(const char *text);

/* "hf:ORG/MODEL@<commit>", and back: false for any other text. */
void hub_origin(char out[LIMIT_ORIGIN + 1], const char *repo, const char *commit);
bool hub_parse_origin(struct hub_name *name, const char *origin);

/* The cache's folder: `given` (may be NULL), $HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub or
 * ~/.cache/huggingface/hub, the first that is set, as the Hub's own library looks. free() it. NULL without a
 * home: ERROR_USAGE. */
char *hub_cache_folder(const char *given, struct error *err);

/* CACHE/models--ORG--MODEL; free() it. */
char *hub_repo_folder(const char *cache, const char *repo);

#endif
