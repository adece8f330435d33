/* The names of the files say which model's lock to take before one is looked at. */
#include "client/cache_tidy.h"

#include "client/cache_lock.h"
#include "client/cache_record.h"
#include "client/cache_survey.h"

#include "common/fdio.h"
#include "proto/name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "ns--m.json", ".ns--m.room" → "ns/m". False for what no program of ours has made. */
static bool model_of(const char *file, char model[LIMIT_ID + 1])
{
    const char *start = file + (file[0] == '.');
    const char *dashes = strstr(start, "--"), *dot = strrchr(start, '.');
    if (!dashes || !dot || dot < dashes || (strcmp(dot, ".json") != 0 && strcmp(dot, ".room") != 0) ||
        dot - start > LIMIT_ID + 1)
        return false;
    (void)snprintf(model, LIMIT_ID + 1, "%.*s/%.*s", (int)(dashes - start), start, (int)(dot - dashes - 2),
                   dashes + 2);
    return name_is_model_id(model);
}

void cache_tidy_model(const struct cache *cache, const char *model)
{
    char space[LIMIT_ID_PART + 1];
    struct cache_record record;
    struct error ignored;
    if (cache_record_load(cache, model, &record, &ignored) != 0)
        return;
    int folder = cache_model_folder(cache, model, false);
    if (folder >= 0)
        (void)unlinkat(folder, CACHE_CURRENT, 0);
    fdio_drop(&folder);
    if (unlinkat(cache->models, model, AT_REMOVEDIR) == 0)
        (void)unlinkat(cache->models, cache_namespace(space, model), AT_REMOVEDIR);
}

/* A record that cannot be read now, or a version that cannot be opened, is not gone. */
static bool is_backed(const struct cache *cache, const char *model)
{
    struct cache_record record;
    struct error ignored;
    int found = cache_record_load(cache, model, &record, &ignored);
    if (found <= 0)
        return found < 0;
    int fd = cache_version_open(cache, model, record.folder);
    bool backed = fd >= 0 || (errno != ENOENT && errno != ENOTDIR);
    fdio_drop(&fd);
    return backed;
}

/* Both locks of a model without waiting; a descriptor to close, or -1. */
static int lock_both(const struct cache *cache, const char *model)
{
    struct error ignored;
    int lock = cache_lock_open(cache, model, &ignored);
    if (lock >= 0 && (!cache_lock_try(lock, CACHE_LOCK_PULL) || !cache_lock_try(lock, CACHE_LOCK_SWITCH)))
        fdio_drop(&lock);
    return lock;
}

static void tidy_file(const struct cache *cache, const char *file)
{
    char model[LIMIT_ID + 1];
    if (!model_of(file, model))
        return;
    int lock = lock_both(cache, model);
    bool is_record = file[0] != '.' && strcmp(strrchr(file, '.'), ".json") == 0;
    if (lock >= 0 && !(is_record && is_backed(cache, model)))
        (void)unlinkat(cache->state, file, 0);
    fdio_drop(&lock);
}

static void tidy_files(const struct cache *cache)
{
    int fd = fdio_openat(cache->state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        fdio_drop(&fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        tidy_file(cache, entry->d_name);
    (void)closedir(stream);
}

void cache_tidy(const struct cache *cache)
{
    struct cache_survey survey;
    struct error ignored;
    tidy_files(cache);
    if (cache_survey_take(&survey, cache, &ignored) < 0)
        return;
    for (size_t i = 0; i < survey.count; i++) {
        int lock = cache_model_is_empty(&survey.models[i]) ? lock_both(cache, survey.models[i].name) : -1;
        if (lock >= 0)
            cache_tidy_model(cache, survey.models[i].name);
        fdio_drop(&lock);
    }
    cache_survey_release(&survey);
}
