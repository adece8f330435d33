/* All that lies in the local tier, as it is now: for lists, and for deciding what goes.
 *
 * Sizes of complete models are what their records say; where a model has leftovers its folders are walked,
 * and a file that several of them share counts once. Other processes go on meanwhile: who acts on it looks
 * again under the locks. Blocking. */
#ifndef CLIENT_CACHE_SURVEY_H
#define CLIENT_CACHE_SURVEY_H

#include "client/cache.h"
#include "client/cache_record.h"

#include <stdbool.h>
#include <stddef.h>

/* A folder that no record names: a replaced version, a pull that was cut off or is under way. */
struct cache_leftover {
    uint64_t folder, bytes;
    int64_t used_ns; /* when something last happened in it, or it was replaced */
    bool in_use;
};

struct cache_model {
    char *name;
    bool complete; /* and `record` is valid */
    struct cache_record record;
    bool in_use;       /* its complete version is held */
    bool pulling;      /* by another process, or through another descriptor of this one */
    uint64_t reserved; /* for that pull, 0 if it has none yet */
    struct cache_leftover *leftovers;
    size_t leftover_count;
    uint64_t newest; /* the highest number of a folder */
};

struct cache_survey {
    struct cache_model *models;
    size_t count;
    const struct cache *cache;
};

int cache_survey_take(struct cache_survey *survey, const struct cache *cache, struct error *err);
void cache_survey_release(struct cache_survey *survey);

/* Whether nothing but empty folders is left of it. */
bool cache_model_is_empty(const struct cache_model *model);

/* Whether the pull under way fills this folder: it takes the newest one that is not the complete one. */
bool cache_is_filling(const struct cache_model *model, const struct cache_leftover *leftover);

/* Bytes of one model, with what is reserved for its pull, and of all but `except` (NULL: of all). */
uint64_t cache_model_bytes(const struct cache_model *model);
uint64_t cache_survey_bytes(const struct cache_survey *survey, const char *except);

#endif
