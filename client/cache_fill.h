/* Fetches a version of a model into a folder of its own and makes it the one that counts.
 *
 * The folder is that of a pull that was cut off, if there is one, else a new one in which every file of the
 * version before has a second name: so only what differs moves. When all of it is there and proven, the
 * record is replaced in one step; who reads the old version goes on with its folder.
 *
 * What is in the folder may stand in the way of the version (a file has become a folder) or be more than it:
 * then the folder goes, and all of the version is fetched into an empty one. */
#ifndef CLIENT_CACHE_FILL_H
#define CLIENT_CACHE_FILL_H

#include "client/cache.h"
#include "client/cache_record.h"
#include "client/options.h"

/* Bytes that came over the network. */
struct cache_filled {
    uint64_t bytes;
    double seconds;
};

/* The caller has CACHE_LOCK_PULL through `lock`, and asked for `version` after it had it. On success *record
 * is the new one. After a failure what was received stays for the next time, and the record is what it was.
 */
int cache_fill(const struct cache *cache, const struct options *options, const char *model, int lock,
               const struct cache_version *version, struct cache_record *record, struct cache_filled *filled,
               struct error *err);

#endif
