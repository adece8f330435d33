/* What the local tier knows of a model: a small JSON file that is replaced in one step, so it is the old one
 * or the new one, whenever a program is killed. Its modification time is when the model was last asked for.
 *
 * A file that is not what cache_record_print() makes counts as none: then the model is fetched again, which
 * moves only what its folder lacks. Save, touch and remove under CACHE_LOCK_SWITCH. Blocking. */
#ifndef CLIENT_CACHE_RECORD_H
#define CLIENT_CACHE_RECORD_H

#include "client/cache.h"

#include <stdbool.h>
#include <stddef.h>

/* What tells one version on the server from another, as `info` answers. */
struct cache_version {
    uint64_t bytes, files, number; /* number: docs/protocol.md, `version`; 0 from an older server */
    int64_t mtime;
    uint32_t nsec;
};

struct cache_record {
    uint64_t folder; /* never 0 */
    struct cache_version version;
    uint64_t fingerprint; /* of the local files, when they were complete and proven; never 0 */
    bool pinned;
    int64_t used_ns; /* since 1970; not in the text */
};

bool cache_version_is_same(const struct cache_version *a, const struct cache_version *b);

/* The text; free() it. Parsing fills all but used_ns. Pure. */
char *cache_record_print(const struct cache_record *record);
bool cache_record_parse(struct cache_record *record, const char *text, size_t length);

/* The number in the text of a reservation; 0 if it is none. Pure. */
uint64_t cache_record_parse_reserved(const char *text, size_t length);

/* 1, or 0 with `folder` 0 if there is none. -1 if it cannot be read now: then there may be one, and nothing
 * may be done for want of it. */
int cache_record_load(const struct cache *cache, const char *model, struct cache_record *record,
                      struct error *err);

/* Durable when it returns. With used_ns 0, it is asked for now. */
int cache_record_save(const struct cache *cache, const char *model, const struct cache_record *record,
                      struct error *err);

/* It is asked for now. */
void cache_record_touch(const struct cache *cache, const char *model);

/* -1 with errno; what is not there is no error. */
int cache_record_remove(const struct cache *cache, const char *model);

/* How many bytes the pull under way, which has CACHE_LOCK_PULL, will take in all; it counts only as long as
 * that lock is taken. Without one, 0. */
int cache_record_reserve(const struct cache *cache, const char *model, uint64_t bytes, struct error *err);
uint64_t cache_record_reserved(const struct cache *cache, const char *model);
void cache_record_unreserve(const struct cache *cache, const char *model);

#endif
