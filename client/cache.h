/* The local tier on disk: where it lies, and the names in it.
 *
 *   CACHE/models/<namespace>/<model>/N/…   the files of a version; the highest complete one is printed by get
 *   CACHE/models/<namespace>/<model>/current   a link to it, for those who need a path that stays
 *   CACHE/state/<namespace>--<model>.json  the record: which N is complete, and what the server said of it
 * (cache_record.h) CACHE/state/<namespace>--<model>.room  what a pull under way has been promised
 * (cache_room.h) CACHE/lock/<namespace>--<model>        bytes to lock (cache_lock.h); never removed
 *   CACHE/trash/…                          renamed here first, then deleted
 *
 * A folder N counts for nothing until the record names it: so a program that is killed at any moment leaves
 * at worst a folder that nobody asks for, which the next pull of that model goes on with. "--" is in no model
 * id, so the flat names cannot clash. CACHE is MSTORE_CACHE, else $XDG_CACHE_HOME/mstore, else
 * ~/.cache/mstore.
 *
 * Blocking. Any number of processes work in one cache; one struct belongs to one thread. */
#ifndef CLIENT_CACHE_H
#define CLIENT_CACHE_H

#include "proto/error.h"
#include "proto/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct cache {
    char *path; /* absolute, without links */
    int models, state, lock, trash;
};

/* Room for "<namespace>--<model>.json" with a dot before and another suffix behind. */
#define CACHE_NAME_MAX (LIMIT_ID + 32)

/* Largest number of a version's folder: twelve digits, which no user lives to see. */
#define CACHE_FOLDER_MAX UINT64_C(999999999999)

#define CACHE_CURRENT "current"

/* Makes what is missing. */
int cache_open(struct cache *cache, struct error *err);
void cache_close(struct cache *cache);

/* The part of a model id before the slash. Returns `name`. */
char *cache_namespace(char name[LIMIT_ID_PART + 1], const char *model);

/* "<namespace>--<model><suffix>". Returns `name`. */
char *cache_flat_name(char name[CACHE_NAME_MAX], const char *model, const char *suffix);

/* A descriptor of models/<namespace>/<model>, which is made if it is missing and `make`. -1 with errno. */
int cache_model_folder(const struct cache *cache, const char *model, bool make);

/* The path of a version's folder; free() it. */
char *cache_version_path(const struct cache *cache, const char *model, uint64_t folder);

/* A descriptor of a version's folder. -1 with errno. */
int cache_version_open(const struct cache *cache, const char *model, uint64_t folder);

/* The number that is the name of a version's folder; 0 if it is none. */
uint64_t cache_folder_number(const char *name);

/* Nanoseconds since 1970, as far as 64 bits go. */
int64_t cache_time_ns(const struct timespec *time);

/* Renames a version's folder into the trash. 0 also if it is not there; -1 with errno. */
int cache_discard(const struct cache *cache, const char *model, uint64_t folder);

/* Deletes what is in the trash. What cannot be deleted stays for the next time. */
void cache_sweep(const struct cache *cache);

#endif
