/* One walk, three levels deep; the folders below are walked only where no record tells their size. */
#include "client/cache_survey.h"

#include "client/cache_lock.h"
#include "client/cache_tree.h"

#include "common/fdio.h"
#include "common/path.h"
#include "common/walk.h"
#include "proto/name.h"

#include <fcntl.h>
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

static void add_model(struct cache_survey *survey, const char *name)
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
    if (!cache_record_load(survey->cache, name, &model->record))
        model->record = (struct cache_record){0};
    fdio_drop(&lock);
}

static bool is_held(const struct cache_survey *survey, const char *model, uint64_t folder)
{
    struct error ignored;
    int lock = cache_lock_open(survey->cache, model, &ignored);
    bool held = lock < 0 || cache_lock_is_held(lock, folder);
    fdio_drop(&lock);
    return held;
}

static void add_leftover(struct cache_survey *survey, struct cache_model *model, const char *path,
                         uint64_t number)
{
    struct stat st;
    struct cache_tree tree;
    struct error ignored;
    int fd = path_open(survey->cache->models, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0 && fstat(fd, &st) == 0 && cache_tree_look(fd, &tree, NULL, &ignored) == 0) {
        model->leftovers = grow(model->leftovers, model->leftover_count, sizeof *model->leftovers);
        model->leftovers[model->leftover_count++] =
            (struct cache_leftover){.folder = number,
                                    .bytes = tree.own + tree.staged,
                                    .used_ns = cache_time_ns(&st.st_mtim),
                                    .in_use = is_held(survey, model->name, number)};
    }
    fdio_drop(&fd);
}

static int depth_of(const char *path)
{
    int depth = 1;
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

static enum walk_step see(void *context, const struct walk_entry *entry, struct error *err)
{
    struct cache_survey *survey = context;
    int depth = depth_of(entry->path);
    (void)err;
    if (entry->kind != WALK_FOLDER || depth == 1)
        return WALK_ON;
    if (depth == 2) {
        if (!name_is_model_id(entry->path))
            return WALK_SKIP;
        add_model(survey, entry->path);
        return WALK_ON;
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
        add_leftover(survey, model, entry->path, number);
    }
    return WALK_SKIP;
}

int cache_survey_take(struct cache_survey *survey, const struct cache *cache, struct error *err)
{
    *survey = (struct cache_survey){.cache = cache};
    if (walk_tree(cache->models, false, see, survey, err) == 0)
        return 0;
    cache_survey_release(survey);
    return -1;
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
