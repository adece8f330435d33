/* One walk, three levels deep; the folders below are walked only where leftovers are. */
#include "client/cache_survey.h"

#include "client/cache_lock.h"

#include "common/fdio.h"
#include "common/walk.h"
#include "proto/name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *grow(void *list, size_t count, size_t size)
{
    list = realloc(list, (count + 1) * size);
    if (!list)
        abort();
    return list;
}

static int add_model(struct cache_survey *survey, const char *name, struct error *err)
{
    survey->models = grow(survey->models, survey->count, sizeof *survey->models);
    struct cache_model *model = &survey->models[survey->count++];
    *model = (struct cache_model){.name = strdup(name)};
    if (!model->name)
        abort();
    struct error ignored;
    int lock = cache_lock_open(survey->cache, name, &ignored);
    model->pulling = lock >= 0 && cache_lock_is_taken(lock, CACHE_LOCK_PULL);
    model->reserved = model->pulling ? cache_record_reserved(survey->cache, name) : 0;
    fdio_drop(&lock);
    return cache_record_load(survey->cache, name, &model->record, err);
}

static bool is_held(const struct cache_survey *survey, const char *model, uint64_t folder)
{
    struct error ignored;
    int lock = cache_lock_open(survey->cache, model, &ignored);
    bool held = lock < 0 || cache_lock_is_held(lock, folder);
    fdio_drop(&lock);
    return held;
}

static void add_leftover(struct cache_survey *survey, struct cache_model *model, uint64_t number)
{
    model->leftovers = grow(model->leftovers, model->leftover_count, sizeof *model->leftovers);
    model->leftovers[model->leftover_count++] =
        (struct cache_leftover){.folder = number, .in_use = is_held(survey, model->name, number)};
}

static int depth_of(const char *path)
{
    int depth = 1;
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

/* What has just been removed is no failure, and neither is what no program of ours has made. */
static bool is_missed(const struct walk_entry *entry)
{
    return entry->kind == WALK_FAILED && entry->sys != ENOENT &&
           name_is_id_part(entry->path, strcspn(entry->path, "/"));
}

static enum walk_step see(void *context, const struct walk_entry *entry, struct error *err)
{
    struct cache_survey *survey = context;
    int depth = depth_of(entry->path);
    if (is_missed(entry)) {
        error_set_sys(err, ERROR_FAILED, entry->sys, "cannot read '%s/models/%s'", survey->cache->path,
                      entry->path);
        return WALK_STOP;
    }
    if (entry->kind != WALK_FOLDER || depth == 1)
        return WALK_ON;
    if (depth == 2) {
        if (!name_is_model_id(entry->path))
            return WALK_SKIP;
        return add_model(survey, entry->path, err) < 0 ? WALK_STOP : WALK_ON;
    }
    struct cache_model *model = &survey->models[survey->count - 1];
    uint64_t number = cache_folder_number(entry->name);
    if (number == 0)
        return WALK_SKIP;
    model->newest = number > model->newest ? number : model->newest;
    if (number == model->record.folder) {
        model->complete = true;
        model->in_use = is_held(survey, model->name, number);
    } else {
        add_leftover(survey, model, number);
    }
    return WALK_SKIP;
}

/* -- what the leftovers of a model take -- */

/* A file of one of its folders. Folders share files by hard links. */
struct place {
    uint64_t inode, bytes;
    unsigned order;                  /* of the folder, among those that have the file: the first one counts */
    struct cache_leftover *leftover; /* NULL: of the complete version */
};

struct places {
    struct place *list;
    size_t count, capacity;
    unsigned order;
    struct cache_leftover *leftover;
};

static enum walk_step add_place(void *context, const struct walk_entry *entry, struct error *err)
{
    struct places *places = context;
    (void)err;
    if (entry->kind != WALK_FILE)
        return WALK_ON;
    if (places->count == places->capacity) {
        places->capacity = places->capacity ? 2 * places->capacity : 64;
        places->list = realloc(places->list, places->capacity * sizeof *places->list);
        if (!places->list)
            abort();
    }
    places->list[places->count++] = (struct place){.inode = entry->st.st_ino,
                                                   .bytes = (uint64_t)entry->st.st_size,
                                                   .order = places->order,
                                                   .leftover = places->leftover};
    return WALK_ON;
}

/* Collects the files of a folder; with a leftover, also its time. */
static void look_into(const struct cache_survey *survey, const struct cache_model *model, uint64_t number,
                      struct places *places)
{
    struct stat st;
    struct error ignored;
    int fd = cache_version_open(survey->cache, model->name, number);
    if (fd >= 0 && places->leftover && fstat(fd, &st) == 0)
        places->leftover->used_ns = cache_time_ns(&st.st_mtim);
    if (fd >= 0)
        (void)walk_tree(fd, false, add_place, places, &ignored); /* it may just be removed */
    fdio_drop(&fd);
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* How many of the leftovers are older. */
static size_t rank_of(const struct cache_model *model, size_t leftover)
{
    size_t rank = 0;
    for (size_t i = 0; i < model->leftover_count; i++)
        rank += model->leftovers[i].folder < model->leftovers[leftover].folder;
    return rank;
}

/* A file counts where it stays longest: in the complete version, else in a folder in use, else in the newest.
 */
static void measure_leftovers(const struct cache_survey *survey, struct cache_model *model)
{
    struct places places = {0};
    if (model->complete)
        look_into(survey, model, model->record.folder, &places);
    for (size_t i = 0; i < model->leftover_count; i++) {
        places.leftover = &model->leftovers[i];
        places.order = (places.leftover->in_use ? 1 : 1 + (unsigned)model->leftover_count) +
                       (unsigned)(model->leftover_count - 1 - rank_of(model, i));
        look_into(survey, model, model->leftovers[i].folder, &places);
    }
    if (places.count > 0)
        qsort(places.list, places.count, sizeof *places.list, compare_places);
    for (size_t i = 0; i < places.count; i++)
        if (places.list[i].leftover && (i == 0 || places.list[i].inode != places.list[i - 1].inode))
            places.list[i].leftover->bytes += places.list[i].bytes;
    free(places.list);
}

/* -- */

int cache_survey_take(struct cache_survey *survey, const struct cache *cache, struct error *err)
{
    *survey = (struct cache_survey){.cache = cache};
    if (walk_tree(cache->models, false, see, survey, err) < 0) {
        cache_survey_release(survey);
        return -1;
    }
    for (size_t i = 0; i < survey->count; i++)
        if (survey->models[i].leftover_count > 0)
            measure_leftovers(survey, &survey->models[i]);
    return 0;
}

void cache_survey_release(struct cache_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        free(survey->models[i].name);
        free(survey->models[i].leftovers);
    }
    free(survey->models);
    *survey = (struct cache_survey){0};
}

bool cache_model_is_empty(const struct cache_model *model)
{
    return !model->complete && !model->pulling && model->leftover_count == 0;
}

bool cache_is_filling(const struct cache_model *model, const struct cache_leftover *leftover)
{
    return model->pulling && leftover->folder > model->record.folder && leftover->folder == model->newest;
}

uint64_t cache_model_bytes(const struct cache_model *model)
{
    uint64_t bytes = (model->complete ? model->record.version.bytes : 0) + model->reserved;
    for (size_t i = 0; i < model->leftover_count; i++)
        if (model->reserved == 0 || !cache_is_filling(model, &model->leftovers[i]))
            bytes += model->leftovers[i].bytes;
    return bytes;
}

uint64_t cache_survey_bytes(const struct cache_survey *survey, const char *except)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < survey->count; i++)
        if (!except || strcmp(survey->models[i].name, except) != 0)
            bytes += cache_model_bytes(&survey->models[i]);
    return bytes;
}
