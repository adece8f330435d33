/* Which parts of the local tier go when room is needed. Pure: the caller has looked, and the caller removes.
 *
 * First what nobody can ask for any more (leftovers: replaced versions, pulls that were cut off), oldest
 * first; then models, least recently used first; last the version that the pull under way is about to
 * replace, for it is what is there if the pull fails. What is kept is never chosen. */
#ifndef CLIENT_CACHE_CHOICE_H
#define CLIENT_CACHE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cache_rank { CACHE_LEFTOVER, CACHE_MODEL, CACHE_OWN };

/* Why something stays. */
enum cache_kept { CACHE_NOT_KEPT, CACHE_PINNED, CACHE_IN_USE, CACHE_FETCHED, CACHE_KEPT_COUNT };

struct cache_item {
    const char *model;
    uint64_t folder; /* number of the version's folder; 0: room that a pull has reserved */
    uint64_t bytes;  /* that go with it */
    int64_t used_ns; /* since 1970 */
    enum cache_rank rank;
    enum cache_kept kept;
    bool chosen;
};

/* Marks what has to go to free `excess` bytes, no more than in this order is needed. Returns whether that is
 * enough. */
bool cache_choose(struct cache_item *items, size_t count, uint64_t excess);

#endif
