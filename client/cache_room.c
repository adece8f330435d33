/* Look (cache_survey), choose (cache_choice), then take each under its locks, where it is looked at again:
 * what has come into use meanwhile stays, and the choice is made anew. */
#include "client/cache_room.h"

#include "client/cache_choice.h"
#include "client/cache_lock.h"
#include "client/cache_survey.h"
#include "client/cache_tidy.h"

#include "common/fdio.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often what was chosen may have come into use before it could be taken. */
#define ATTEMPTS 10

struct choice {
    struct cache_item *items;
    size_t count;
};

/* -- what there is -- */

static void add_item(struct choice *choice, const struct cache_item *item)
{
    choice->items = realloc(choice->items, (choice->count + 1) * sizeof *choice->items);
    if (!choice->items)
        abort();
    choice->items[choice->count++] = *item;
}

static void add_complete(struct choice *choice, const struct cache_model *model,
                         const struct cache_need *need)
{
    bool own = need && strcmp(model->name, need->model) == 0;
    uint64_t bytes = model->record.version.bytes, shared = own ? need->shared : 0;
    add_item(choice,
             &(struct cache_item){.model = model->name,
                                  .folder = model->record.folder,
                                  .bytes = bytes > shared ? bytes - shared : 0,
                                  .used_ns = model->record.used_ns,
                                  .rank = own ? CACHE_OWN : CACHE_MODEL,
                                  .kept = model->record.pinned || model->in_use || (model->pulling && !own)});
}

static void list_items(struct choice *choice, const struct cache_survey *survey,
                       const struct cache_need *need)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct cache_model *model = &survey->models[i];
        if (model->complete)
            add_complete(choice, model, need);
        for (size_t k = 0; k < model->leftover_count; k++) {
            const struct cache_leftover *left = &model->leftovers[k];
            add_item(choice, &(struct cache_item){.model = model->name,
                                                  .folder = left->folder,
                                                  .bytes = left->bytes,
                                                  .used_ns = left->used_ns,
                                                  .rank = CACHE_LEFTOVER,
                                                  .kept = left->in_use || cache_is_filling(model, left)});
        }
    }
}

/* -- taking -- */

/* Under SWITCH: 1 it went, 0 it is in use now, -1 with errno. */
static int take_folder(const struct cache *cache, const struct cache_item *item, int lock)
{
    struct cache_record record;
    bool is_current = cache_record_load(cache, item->model, &record) && record.folder == item->folder;
    if (cache_lock_is_held(lock, item->folder) || (is_current && record.pinned) ||
        (!is_current && item->rank != CACHE_LEFTOVER))
        return 0;
    if (cache_discard(cache, item->model, item->folder) < 0)
        return -1;
    if (is_current && cache_record_remove(cache, item->model) < 0)
        return -1;
    return 1;
}

/* The same from without; `need` has PULL of its own model. */
static int take_item(const struct cache *cache, const struct options *options, const struct cache_item *item,
                     const struct cache_need *need, struct error *err)
{
    bool own = need && strcmp(item->model, need->model) == 0;
    int lock = own ? need->lock : cache_lock_open(cache, item->model, err);
    int result = lock < 0 ? -1 : 0;
    if (result == 0 && (own || cache_lock_try(lock, CACHE_LOCK_PULL))) {
        if (cache_lock_take(lock, CACHE_LOCK_SWITCH, item->model, options, err) < 0) {
            result = -1;
        } else {
            result = take_folder(cache, item, lock);
            if (result < 0)
                error_set_sys(err, ERROR_FAILED, errno, "cannot remove '%s' from the cache", item->model);
            if (result > 0 && !own)
                cache_tidy_model(cache, item->model);
            cache_lock_drop(lock, CACHE_LOCK_SWITCH);
        }
    }
    if (!own)
        fdio_drop(&lock);
    return result;
}

/* 1 all of it went, 0 something has come into use, -1. */
static int take_chosen(const struct cache *cache, const struct options *options, const struct choice *choice,
                       const struct cache_need *need, struct optparse_list *removed, struct error *err)
{
    int all = 1;
    for (size_t i = 0; i < choice->count; i++) {
        const struct cache_item *item = &choice->items[i];
        if (!item->chosen)
            continue;
        int taken = take_item(cache, options, item, need, err);
        if (taken < 0)
            return -1;
        if (taken > 0 && item->rank != CACHE_LEFTOVER && removed)
            optparse_list_add(removed, item->model);
        all = all && taken > 0;
    }
    return all;
}

/* -- for a pull -- */

static int refuse(const struct options *options, uint64_t bytes, uint64_t kept, const char *model,
                  struct error *err)
{
    char budget[UNITS_TEXT_MAX], need[UNITS_TEXT_MAX], rest[UNITS_TEXT_MAX];
    return error_set(err, ERROR_NO_SPACE,
                     "no room in the cache for %s: it takes %s, and %s of the budget of %s are pinned or in "
                     "use: raise --budget, or unpin something",
                     model, units_format_bytes(need, bytes), units_format_bytes(rest, kept),
                     units_format_bytes(budget, options->budget));
}

static uint64_t kept_bytes(const struct choice *choice, uint64_t total)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->items[i].chosen)
            total -= choice->items[i].bytes < total ? choice->items[i].bytes : total;
    return total;
}

/* What there is beside the folder that is about to be filled. */
static uint64_t bytes_beside(const struct cache_survey *survey, const struct cache_need *need)
{
    uint64_t bytes = cache_survey_bytes(survey, need->model);
    for (size_t i = 0; i < survey->count; i++) {
        struct cache_model *model = &survey->models[i];
        if (strcmp(model->name, need->model) != 0)
            continue;
        bytes += model->complete ? model->record.version.bytes : 0;
        for (size_t k = 0; k < model->leftover_count; k++)
            bytes += cache_is_filling(model, &model->leftovers[k]) ? 0 : model->leftovers[k].bytes;
    }
    return bytes;
}

/* 1 there is room, 0 try again, -1. */
static int look_for_room(const struct cache *cache, const struct options *options,
                         const struct cache_need *need, struct error *err)
{
    struct cache_survey survey;
    struct choice choice = {0};
    if (cache_survey_take(&survey, cache, err) < 0)
        return -1;
    uint64_t own = need->bytes - need->shared, total = bytes_beside(&survey, need);
    uint64_t excess = total + own > options->budget ? total + own - options->budget : 0;
    list_items(&choice, &survey, need);
    int result = cache_choose(choice.items, choice.count, excess)
                     ? take_chosen(cache, options, &choice, need, NULL, err)
                     : refuse(options, need->bytes, kept_bytes(&choice, total), need->model, err);
    free(choice.items);
    cache_survey_release(&survey);
    return result;
}

static int make_room(const struct cache *cache, const struct options *options, const struct cache_need *need,
                     struct error *err)
{
    for (int attempt = 0; options->budget > 0 && attempt < ATTEMPTS; attempt++) {
        int found = look_for_room(cache, options, need, err);
        if (found < 0)
            return -1;
        if (found > 0)
            break;
        if (attempt == ATTEMPTS - 1)
            return error_set(err, ERROR_BUSY, "the cache is too busy to make room for '%s'", need->model);
    }
    /* The version it replaces may have gone: then what it shared with that is its own. */
    struct cache_record record;
    bool shares = cache_record_load(cache, need->model, &record);
    return cache_record_reserve(cache, need->model, need->bytes - (shares ? need->shared : 0), err);
}

int cache_room_make(const struct cache *cache, const struct options *options, const struct cache_need *need,
                    struct error *err)
{
    int room = cache_lock_open_room(cache, err);
    int result = room < 0 ? -1 : cache_lock_take(room, CACHE_LOCK_SWITCH, "room", options, err);
    if (result >= 0)
        result = make_room(cache, options, need, err);
    fdio_drop(&room);
    cache_sweep(cache);
    return result;
}

/* -- on its own -- */

static bool is_stale(const struct cache_item *item, const struct cache_survey *survey, int64_t now_ns)
{
    uint64_t current = 0;
    for (size_t i = 0; i < survey->count; i++)
        if (strcmp(survey->models[i].name, item->model) == 0 && survey->models[i].complete)
            current = survey->models[i].record.folder;
    int64_t keep_s = item->folder < current ? CACHE_REPLACED_KEEP_S : CACHE_UNFINISHED_KEEP_S;
    return now_ns - item->used_ns > keep_s * 1000000000;
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* held against the times of files */
    return cache_time_ns(&now);
}

/* Leftovers go without counting, the rest as far as it is too much. Returns whether that is enough. */
static bool choose_to_prune(struct choice *choice, const struct cache_survey *survey, uint64_t budget,
                            bool all)
{
    uint64_t total = cache_survey_bytes(survey, NULL);
    int64_t now = now_ns();
    for (size_t i = 0; i < choice->count; i++) {
        struct cache_item *item = &choice->items[i];
        if (item->rank == CACHE_LEFTOVER && !item->kept && (all || is_stale(item, survey, now))) {
            item->chosen = true;
            total -= item->bytes < total ? item->bytes : total;
        }
    }
    return budget == 0 || cache_choose(choice->items, choice->count, total > budget ? total - budget : 0);
}

static int prune_once(const struct cache *cache, const struct options *options, bool all, bool *enough,
                      struct optparse_list *removed, struct error *err)
{
    struct cache_survey survey;
    struct choice choice = {0};
    if (cache_survey_take(&survey, cache, err) < 0)
        return -1;
    list_items(&choice, &survey, NULL);
    *enough = choose_to_prune(&choice, &survey, options->budget, all);
    int result = take_chosen(cache, options, &choice, NULL, removed, err);
    free(choice.items);
    cache_survey_release(&survey);
    return result;
}

int cache_room_prune(const struct cache *cache, const struct options *options, bool all,
                     struct optparse_list *removed, struct error *err)
{
    char budget[UNITS_TEXT_MAX];
    bool enough = true;
    int room = cache_lock_open_room(cache, err);
    int result = room < 0 ? -1 : cache_lock_take(room, CACHE_LOCK_SWITCH, "room", options, err);
    for (int attempt = 0; result >= 0 && attempt < ATTEMPTS; attempt++) {
        result = prune_once(cache, options, all, &enough, removed, err);
        if (result > 0)
            break;
    }
    fdio_drop(&room);
    cache_sweep(cache);
    cache_tidy(cache);
    if (result >= 0 && !enough)
        return error_set(err, ERROR_NO_SPACE,
                         "the cache stays larger than its budget of %s: the rest is pinned or in use",
                         units_format_bytes(budget, options->budget));
    return result < 0 ? -1 : 0;
}

/* -- one model -- */

static int remove_locked(const struct cache *cache, const char *model, int lock, struct error *err)
{
    struct cache_survey survey;
    int result = 0;
    bool found = false;
    if (cache_lock_is_held(lock, 0))
        return error_set(err, ERROR_BUSY, "'%s' is in use", model);
    if (cache_survey_take(&survey, cache, err) < 0)
        return -1;
    for (size_t i = 0; i < survey.count; i++) {
        const struct cache_model *m = &survey.models[i];
        if (strcmp(m->name, model) != 0)
            continue;
        found = m->complete || m->leftover_count > 0;
        if (m->complete)
            result = cache_discard(cache, model, m->record.folder);
        for (size_t k = 0; k < m->leftover_count && result == 0; k++)
            result = cache_discard(cache, model, m->leftovers[k].folder);
    }
    if (result < 0 || cache_record_remove(cache, model) < 0)
        result = error_set_sys(err, ERROR_FAILED, errno, "cannot remove '%s' from the cache", model);
    else if (!found)
        result = error_set(err, ERROR_NO_MODEL, "there is no model '%s' in the cache", model);
    cache_tidy_model(cache, model);
    cache_survey_release(&survey);
    return result;
}

int cache_room_remove(const struct cache *cache, const struct options *options, const char *model,
                      struct error *err)
{
    int lock = cache_lock_open(cache, model, err);
    int result = lock < 0 ? -1 : 0;
    if (result == 0 && !cache_lock_try(lock, CACHE_LOCK_PULL))
        result = error_set(err, ERROR_BUSY, "'%s' is being fetched", model);
    if (result == 0)
        result = cache_lock_take(lock, CACHE_LOCK_SWITCH, model, options, err);
    if (result >= 0)
        result = remove_locked(cache, model, lock, err);
    fdio_drop(&lock);
    cache_sweep(cache);
    return result;
}
