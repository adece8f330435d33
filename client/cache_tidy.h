/* What programs that were killed left among the small things of the local tier: half-written records,
 * reservations of pulls that run no more, records of versions that are gone, empty folders. None of it ever
 * counts; this only takes it away. A file whose model is locked by somebody is left for another time. */
#ifndef CLIENT_CACHE_TIDY_H
#define CLIENT_CACHE_TIDY_H

#include "client/cache.h"

void cache_tidy(const struct cache *cache);

/* Takes away the empty folders of a model of which nothing is left, and the link in them. Under SWITCH, and
 * PULL or with no pull of it under way. */
void cache_tidy_model(const struct cache *cache, const char *model);

#endif
