/* The locks of a model in the local tier: bytes of CACHE/lock/<namespace>--<model>, locked with fcntl(2),
 * F_OFD_SETLK. They go with the open file, so a killed process leaves none, and they may be inherited by a
 * program that is run in the place of this one.
 *
 *   PULL      one process fetches this model or removes parts of it; may last for hours
 *   SWITCH    the record is read and acted on; who has it waits for nothing else
 *   a hold    shared, one byte for each version: its files are in use and stay
 *
 * Order: PULL before SWITCH; of other models PULL is only tried, never waited for. A hold is taken under
 * SWITCH; who wants to remove a version looks for holds under SWITCH, too. A lock and a hold of one process
 * need descriptors of their own. Threads: any. */
#ifndef CLIENT_CACHE_LOCK_H
#define CLIENT_CACHE_LOCK_H

#include "client/cache.h"
#include "client/options.h"

#include <stdbool.h>

enum cache_lock { CACHE_LOCK_PULL, CACHE_LOCK_SWITCH };

/* A descriptor to lock through. */
int cache_lock_open(const struct cache *cache, const char *model, struct error *err);

/* Waits until it is free, or a signal comes (ERROR_INTERRUPTED). While it waits for PULL it says so once.
 * Returns 1 if it had to wait, 0 if not, -1. */
int cache_lock_take(int fd, enum cache_lock lock, const char *model, const struct options *options,
                    struct error *err);

/* Without waiting: whether it is taken now. */
bool cache_lock_try(int fd, enum cache_lock lock);
void cache_lock_drop(int fd, enum cache_lock lock);

/* Whether another process has it. */
bool cache_lock_is_taken(int fd, enum cache_lock lock);

/* Holds a version, by the number of its folder, until the descriptor is closed. */
int cache_lock_hold(int fd, uint64_t folder, struct error *err);

/* Whether somebody holds that version; 0: any version. Where it cannot be told, true. */
bool cache_lock_is_held(int fd, uint64_t folder);

/* The lock of the whole cache under which room is given away. Same rules; no model. */
int cache_lock_open_room(const struct cache *cache, struct error *err);

#endif
