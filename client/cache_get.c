/* Look under SWITCH; if that does not do, take PULL, look again, and only then fetch. */
#include "client/cache_get.h"

#include "client/cache_ask.h"
#include "client/cache_fill.h"
#include "client/cache_lock.h"
#include "client/cache_room.h"
#include "client/cache_tree.h"
#include "client/output.h"

#include "common/fdio.h"
#include "common/units.h"

#include <stdlib.h>
#include <string.h>

struct get {
    const struct cache *cache;
    const struct options *options;
    const char *model;
    struct cache_copy *copy;
    int lock;
    bool is_away;
    struct error why;             /* it is */
    struct cache_version version; /* unless it is */
};

/* Whether the failure is that the server is away: then it is no longer an error, but the reason for doing
 * without. */
static bool take_as_away(struct get *g, struct error *err)
{
    if (err->code != ERROR_CONNECT && err->code != ERROR_LOST)
        return false;
    g->is_away = true;
    g->why = *err;
    err->code = ERROR_NONE;
    return true;
}

static int ask(struct get *g, struct error *err)
{
    g->is_away = false;
    return cache_ask(g->options, g->model, &g->version, err) == 0 || take_as_away(g, err) ? 0 : -1;
}

/* The files are those that were proven when they came, as far as size and time tell. */
static bool is_whole(const struct get *g, const struct cache_record *record)
{
    int folder = cache_version_open(g->cache, g->model, record->folder);
    bool whole = folder >= 0 && cache_tree_fingerprint(folder) == record->fingerprint;
    fdio_drop(&folder);
    return whole;
}

static int hold(const struct get *g, struct error *err)
{
    int fd = cache_lock_open(g->cache, g->model, err);
    if (fd >= 0 && cache_lock_hold(fd, g->copy->record.folder, err) < 0)
        fdio_drop(&fd);
    g->copy->hold = fd;
    return fd < 0 ? -1 : 0;
}

/* 1 the copy is there and now held, 0 it is not, -1. `any`: also one that is not current. */
static int take_copy(struct get *g, bool any, struct error *err)
{
    struct cache_record record;
    if (cache_lock_take(g->lock, CACHE_LOCK_SWITCH, g->model, g->options, err) < 0)
        return -1;
    int found = cache_record_load(g->cache, g->model, &record, err);
    int result = found < 0 ? -1 : 0;
    if (found > 0 && (any || cache_version_is_same(&record.version, &g->version)) && is_whole(g, &record)) {
        g->copy->record = record;
        g->copy->current = !g->is_away;
        result = hold(g, err) < 0 ? -1 : 1;
        cache_record_touch(g->cache, g->model);
    }
    cache_lock_drop(g->lock, CACHE_LOCK_SWITCH);
    return result;
}

/* The server is away: what is there has to do. */
static int take_any(struct get *g, struct error *err)
{
    int taken = take_copy(g, true, err);
    if (taken < 0)
        return -1;
    if (taken == 0)
        return error_set(err, g->why.code, "%.300s; the cache has no complete copy of '%s'", g->why.text,
                         g->model);
    output_note(g->options, "%.300s; using the copy in the cache, which may not be current", g->why.text);
    return 0;
}

static void say_filled(const struct get *g, const struct cache_filled *filled)
{
    char bytes[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX];
    output_note(g->options, "%s: %s received in %s, verified", g->model,
                units_format_bytes(bytes, filled->bytes),
                units_format_duration(time, (uint64_t)(filled->seconds * 1000)));
}

/* With PULL: nobody else changes what is there. */
static int fetch(struct get *g, struct error *err)
{
    struct cache_record record;
    struct cache_filled filled;
    if (cache_fill(g->cache, g->options, g->model, g->lock, &g->version, &record, &filled, err) < 0)
        return take_as_away(g, err) ? take_any(g, err) : -1;
    g->copy->moved = filled.bytes;
    say_filled(g, &filled);
    int taken = take_copy(g, true, err);
    return taken == 0 ? error_set(err, ERROR_FAILED, "'%s' was changed in the cache", g->model) : taken;
}

static int wait_and_fetch(struct get *g, struct error *err)
{
    int waited = cache_lock_take(g->lock, CACHE_LOCK_PULL, g->model, g->options, err);
    if (waited < 0)
        return -1;
    int taken = take_copy(g, false, err); /* who had the lock may have fetched it */
    if (taken == 0 && waited) {           /* or a newer one than was asked for */
        if (ask(g, err) < 0)
            return -1;
        if (g->is_away)
            return take_any(g, err);
        taken = take_copy(g, false, err);
    }
    return taken < 0 ? -1 : taken > 0 ? 0 : fetch(g, err);
}

static int get_copy(struct get *g, struct error *err)
{
    if (ask(g, err) < 0)
        return -1;
    if (g->is_away)
        return take_any(g, err);
    int taken = take_copy(g, false, err);
    return taken < 0 ? -1 : taken > 0 ? 0 : wait_and_fetch(g, err);
}

int cache_get(const struct cache *cache, const struct options *options, const char *model,
              struct cache_copy *copy, struct error *err)
{
    struct get g = {.cache = cache, .options = options, .model = model, .copy = copy};
    struct error tidy = {0};
    *copy = (struct cache_copy){.hold = -1};
    g.lock = cache_lock_open(cache, model, err);
    int result = g.lock < 0 ? -1 : get_copy(&g, err);
    fdio_drop(&g.lock);
    if (result < 0) {
        cache_copy_release(copy);
        return -1;
    }
    copy->path = cache_version_path(cache, model, copy->record.folder);
    if (copy->moved > 0 && cache_room_prune(cache, options, false, NULL, &tidy) < 0)
        output_note(options, "%s", tidy.text);
    return 0;
}

void cache_copy_release(struct cache_copy *copy)
{
    fdio_drop(&copy->hold);
    free(copy->path);
    copy->path = NULL;
}
