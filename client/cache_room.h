/* Room in the local tier: nothing is fetched before there is a place for it within the budget, and what has
 * to go for that is renamed into the trash before anything is deleted.
 *
 * A model that is pinned, held or being fetched by somebody is never taken. Two pulls that look for room at
 * the same time are told apart by one lock for the whole cache, and by what each has reserved. */
#ifndef CLIENT_CACHE_ROOM_H
#define CLIENT_CACHE_ROOM_H

#include "client/cache.h"
#include "client/options.h"

#include <stdint.h>

/* A replaced version that nobody holds is kept that long, unless room is needed: whoever was given its path
 * may still be opening shard after shard. An hour is more than loading 400 GB from any disk takes. */
#define CACHE_REPLACED_KEEP_S 3600

/* A pull that nobody goes on with; as long as the server keeps unfinished pushes. */
#define CACHE_UNFINISHED_KEEP_S (14 * 24 * 3600)

/* What a pull needs. The caller has CACHE_LOCK_PULL of `model` through `lock`. */
struct cache_need {
    const char *model;
    int lock;
    uint64_t bytes;  /* its new folder will take, what is there already included */
    uint64_t shared; /* thereof by names of files that the version it replaces has, too */
};

/* Removes what has to go and reserves the bytes. ERROR_NO_SPACE, and nothing is removed, if everything that
 * may go is too little. Without a budget it only reserves. */
int cache_room_make(const struct cache *cache, const struct options *options, const struct cache_need *need,
                    struct error *err);

/* Brings the cache down to the budget, if there is one. With `all`, every leftover that nobody uses goes
 * first, else those that are old. Then empties the trash. ERROR_NO_SPACE, with the reasons, if it stays above
 * the budget. `removed`, if not NULL, gets the names of the models that went. */
int cache_room_prune(const struct cache *cache, const struct options *options, bool all,
                     struct optparse_list *removed, struct error *err);

/* Removes all of one model, also if it is pinned: ERROR_BUSY if it is in use or being fetched, ERROR_NO_MODEL
 * if nothing of it is there. */
int cache_room_remove(const struct cache *cache, const struct options *options, const char *model,
                      struct error *err);

#endif
