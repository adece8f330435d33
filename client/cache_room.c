/* Look (cache_survey), choose (cache_choice), then take each under its locks, where it is looked at again:
 * what has come into use meanwhile stays, and the choice is made anew. */
#include "client/cache_room.h"

#include "client/cache_choice.h"
#include "client/cache_lock.h"
#include "client/cache_survey.h"
#include "client/cache_tidy.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

static bool is_own(const struct cache_need *need, const char *model)
{
    return need && strcmp(model, need->model) == 0;
}

static void add_complete(struct choice *choice, const struct cache_model *model,
                         const struct cache_need *need)
{
    bool own = is_own(need, model->name);
    uint64_t bytes = model->record.version.bytes, shared = own ? need->shared : 0;
    add_item(choice, &(struct cache_item){.model = model->name,
                                          .folder = model->record.folder,
                                          .bytes = bytes > shared ? bytes - shared : 0,
                                          .used_ns = model->record.used_ns,
                                          .rank = own ? CACHE_OWN : CACHE_MODEL,
                                          .kept = model->record.pinned     ? CACHE_PINNED
                                                  : model->in_use          ? CACHE_IN_USE
                                                  : model->pulling && !own ? CACHE_FETCHED
                                                                           : CACHE_NOT_KEPT});
}

/* Who pulls a model may use all of its folders; one's own pull, just the one that it fills. */
static void add_leftover(struct choice *choice, const struct cache_model *model,
                         const struct cache_leftover *left, const struct cache_need *need)
{
    bool fills = cache_is_filling(model, left);
    bool fetched = is_own(need, model->name) ? fills : model->pulling;
    add_item(choice, &(struct cache_item){.model = model->name,
                                          .folder = left->folder,
                                          .bytes = fills && model->reserved > 0 ? 0 : left->bytes,
                                          .used_ns = left->used_ns,
                                          .rank = CACHE_LEFTOVER,
                                          .kept = left->in_use ? CACHE_IN_USE
                                                  : fetched    ? CACHE_FETCHED
                                                               : CACHE_NOT_KEPT});
}

/* All that counts against the budget, but for what the pull that needs room is to take. */
static void list_items(struct choice *choice, const struct cache_survey *survey,
                       const struct cache_need *need)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct cache_model *model = &survey->models[i];
        if (model->complete)
            add_complete(choice, model, need);
        for (size_t k = 0; k < model->leftover_count; k++)
            add_leftover(choice, model, &model->leftovers[k], need);
        if (model->reserved > 0 && !is_own(need, model->name))
            add_item(choice, &(struct cache_item){.model = model->name,
                                                  .bytes = model->reserved,
                                                  .rank = CACHE_LEFTOVER,
                                                  .kept = CACHE_FETCHED});
    }
}

/* "400 MB pinned, 1.2 GB in use", or "" if nothing is kept. Returns `text`. */
#define KEPT_TEXT_MAX (4 * UNITS_TEXT_MAX)
static char *describe_kept(char text[KEPT_TEXT_MAX], const struct choice *choice)
{
    static const char *const words[CACHE_KEPT_COUNT] = {
        [CACHE_PINNED] = "pinned", [CACHE_IN_USE] = "in use", [CACHE_FETCHED] = "being fetched"};
    uint64_t bytes[CACHE_KEPT_COUNT] = {0};
    char number[UNITS_TEXT_MAX];
    for (size_t i = 0; i < choice->count; i++)
        bytes[choice->items[i].kept] += choice->items[i].bytes;
    text[0] = '\0';
    for (size_t kept = CACHE_NOT_KEPT + 1; kept < CACHE_KEPT_COUNT; kept++) {
        size_t used = strlen(text);
        if (bytes[kept] > 0)
            (void)snprintf(text + used, KEPT_TEXT_MAX - used, "%s%s %s", used > 0 ? ", " : "",
                           units_format_bytes(number, bytes[kept]), words[kept]);
    }
    return text;
}

/* -- taking -- */

/* Under SWITCH: 1 it went, 0 it is not what was chosen: it has come into use, or was asked for since; -1. */
static int take_folder(const struct cache *cache, const struct cache_item *item, int lock, struct error *err)
{
    struct cache_record record;
    if (cache_record_load(cache, item->model, &record, err) < 0)
        return -1;
    bool is_current = record.folder == item->folder;
    bool was_current = item->rank != CACHE_LEFTOVER;
    if (is_current != was_current || cache_lock_is_held(lock, item->folder) ||
        (is_current && (record.pinned || record.used_ns > item->used_ns)))
        return 0;
    if (cache_discard(cache, item->model, item->folder) < 0 ||
        (is_current && cache_record_remove(cache, item->model) < 0))
        return error_set_sys(err, ERROR_FAILED, errno, "cannot remove '%s' from the cache", item->model);
    return 1;
}

/* The same from without; `need` has PULL of its own model. */
static int take_item(const struct cache *cache, const struct options *options, const struct cache_item *item,
                     const struct cache_need *need, struct error *err)
{
    bool own = is_own(need, item->model);
    int lock = own ? need->lock : cache_lock_open(cache, item->model, err);
    int result = lock < 0 ? -1 : 0;
    if (result == 0 && (own || cache_lock_try(lock, CACHE_LOCK_PULL))) {
        if (cache_lock_take(lock, CACHE_LOCK_SWITCH, item->model, options, err) < 0) {
            result = -1;
        } else {
            result = take_folder(cache, item, lock, err);
            if (result > 0 && !own)
                cache_tidy_model(cache, item->model);
            cache_lock_drop(lock, CACHE_LOCK_SWITCH);
        }
    }
    if (!own)
        fdio_drop(&lock);
    return result;
}

/* 1 all of it went, 0 something has come into use and is no longer chosen, -1. */
static int take_chosen(const struct cache *cache, const struct options *options, struct choice *choice,
                       const struct cache_need *need, struct optparse_list *removed, struct error *err)
{
    int all = 1;
    for (size_t i = 0; i < choice->count; i++) {
        struct cache_item *item = &choice->items[i];
        if (!item->chosen)
            continue;
        int taken = take_item(cache, options, item, need, err);
        if (taken < 0)
            return -1;
        if (taken > 0 && item->rank != CACHE_LEFTOVER && removed)
            optparse_list_add(removed, item->model);
        item->chosen = taken > 0;
        all = all && taken > 0;
    }
    return all;
}

/* -- for a pull -- */

static int refuse(const struct options *options, const struct cache_need *need, const struct choice *choice,
                  struct error *err)
{
    char budget[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX], kept[KEPT_TEXT_MAX];
    (void)describe_kept(kept, choice);
    return error_set(err, ERROR_NO_SPACE,
                     "no room in the cache for %s: it takes %s of the budget of %s%s%s: raise --budget, or "
                     "unpin something",
                     need->model, units_format_bytes(bytes, need->bytes),
                     units_format_bytes(budget, options->budget), kept[0] ? ", beside " : "", kept);
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
                     : refuse(options, need, &choice, err);
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
    int shares = cache_record_load(cache, need->model, &record, err);
    if (shares < 0)
        return -1;
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

/* Leftovers go without counting, the rest as far as it is too much. */
static void choose_to_prune(struct choice *choice, const struct cache_survey *survey, uint64_t budget,
                            bool all)
{
    uint64_t total = cache_survey_bytes(survey, NULL);
    int64_t now_ns = (int64_t)clock_wall_ns(); /* held against the times of files */
    for (size_t i = 0; i < choice->count; i++) {
        struct cache_item *item = &choice->items[i];
        if (item->rank == CACHE_LEFTOVER && item->kept == CACHE_NOT_KEPT &&
            (all || is_stale(item, survey, now_ns))) {
            item->chosen = true;
            total -= item->bytes < total ? item->bytes : total;
        }
    }
    if (budget > 0)
        (void)cache_choose(choice->items, choice->count, total > budget ? total - budget : 0);
}

/* What is still there when the chosen has gone. */
static uint64_t bytes_left(const struct choice *choice, uint64_t total)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->items[i].chosen)
            total -= choice->items[i].bytes < total ? choice->items[i].bytes : total;
    return total;
}

static int say_too_large(const struct options *options, uint64_t bytes, const struct choice *choice,
                         struct error *err)
{
    char left[UNITS_TEXT_MAX], budget[UNITS_TEXT_MAX], kept[KEPT_TEXT_MAX];
    (void)describe_kept(kept, choice);
    return error_set(err, ERROR_NO_SPACE, "the cache stays at %s, above its budget of %s: %s",
                     units_format_bytes(left, bytes), units_format_bytes(budget, options->budget),
                     kept[0] ? kept : "what could go was asked for meanwhile");
}

/* 1 what was chosen went, 0 something of it has come into use, -1. *over says why the budget is not met. */
static int prune_once(const struct cache *cache, const struct options *options, bool all,
                      struct optparse_list *removed, struct error *over, struct error *err)
{
    struct cache_survey survey;
    struct choice choice = {0};
    over->code = ERROR_NONE;
    if (cache_survey_take(&survey, cache, err) < 0)
        return -1;
    list_items(&choice, &survey, NULL);
    choose_to_prune(&choice, &survey, options->budget, all);
    int result = take_chosen(cache, options, &choice, NULL, removed, err);
    uint64_t left = bytes_left(&choice, cache_survey_bytes(&survey, NULL));
    if (options->budget > 0 && left > options->budget)
        say_too_large(options, left, &choice, over);
    free(choice.items);
    cache_survey_release(&survey);
    return result;
}

int cache_room_prune(const struct cache *cache, const struct options *options, bool all,
                     struct optparse_list *removed, struct error *err)
{
    struct error over = {0};
    int room = cache_lock_open_room(cache, err);
    int result = room < 0 ? -1 : cache_lock_take(room, CACHE_LOCK_SWITCH, "room", options, err);
    for (int attempt = 0; result >= 0 && attempt < ATTEMPTS; attempt++) {
        result = prune_once(cache, options, all, removed, &over, err);
        if (result > 0)
            break;
    }
    fdio_drop(&room);
    cache_sweep(cache);
    cache_tidy(cache);
    if (result >= 0 && over.code != ERROR_NONE) {
        *err = over;
        return -1;
    }
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
