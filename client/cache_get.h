/* A model in the local tier, complete and current, and held as long as the caller wants.
 *
 * Asks the server which version is current; where the copy is that, nothing else happens. Else one process
 * fetches it while others that want the same wait for it. A server that is away (ERROR_CONNECT, ERROR_LOST)
 * is no failure if a complete copy is there; it is said on standard error. */
#ifndef CLIENT_CACHE_GET_H
#define CLIENT_CACHE_GET_H

#include "client/cache.h"
#include "client/cache_record.h"
#include "client/options.h"

#include <stdbool.h>

struct cache_copy {
    char *path;
    int hold;     /* the version stays as long as this is open; closed on exec unless the caller wants else */
    bool current; /* false: the server could not be asked */
    struct cache_record record;
    uint64_t moved; /* bytes that came over the network for it */
};

/* cache_copy_release() it. After a failure there is nothing to release. */
int cache_get(const struct cache *cache, const struct options *options, const char *model,
              struct cache_copy *copy, struct error *err);

void cache_copy_release(struct cache_copy *copy);

#endif
