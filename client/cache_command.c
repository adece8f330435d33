/* cache: the local tier as its user sees it. No server is asked. */
#include "client/cache_comfyui.h"
#include "client/cache_lock.h"
#include "client/cache_room.h"
#include "client/cache_survey.h"
#include "client/commands.h"
#include "client/output.h"

#include "common/fdio.h"
#include "common/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* -- ls -- */

static const char *state_of(const struct cache_model *model)
{
    return model->pulling ? "fetching" : model->complete ? "complete" : "incomplete";
}

static bool is_in_use(const struct cache_model *model)
{
    bool in_use = model->in_use;
    for (size_t i = 0; i < model->leftover_count; i++)
        in_use = in_use || model->leftovers[i].in_use;
    return in_use;
}

/* When it was last asked for; of one that is not complete, when something last came. */
static int64_t used_s(const struct cache_model *model)
{
    int64_t used_ns = model->complete ? model->record.used_ns : 0;
    for (size_t i = 0; !model->complete && i < model->leftover_count; i++)
        used_ns = model->leftovers[i].used_ns > used_ns ? model->leftovers[i].used_ns : used_ns;
    return used_ns / 1000000000;
}

static void print_model(const struct cache_model *model)
{
    char bytes[UNITS_TEXT_MAX], age[UNITS_TEXT_MAX];
    (void)printf(
        "%-48s %10s  %-16s %s%s%s\n", model->name, units_format_bytes(bytes, cache_model_bytes(model)),
        units_format_age(age, time(NULL) - used_s(model)), state_of(model),
        model->complete && model->record.pinned ? ", pinned" : "", is_in_use(model) ? ", in use" : "");
}

static void add_model(struct json *models, const struct cache *cache, const struct cache_model *model)
{
    char text[UNITS_TEXT_MAX];
    struct json *object = json_add(models, NULL, json_object());
    json_add_text(object, "name", model->name);
    json_add_size(object, "bytes", cache_model_bytes(model));
    json_add_text(object, "state", state_of(model));
    json_add_text(object, "last_used", units_format_time(text, used_s(model), 0));
    json_add_bool(object, "pinned", model->complete && model->record.pinned);
    json_add_bool(object, "in_use", is_in_use(model));
    if (model->complete) {
        char *path = cache_version_path(cache, model->name, model->record.folder);
        json_add_path(object, "path", path, true);
        free(path);
    } else {
        json_add_null(object, "path");
    }
}

static void print_survey(const struct cache_survey *survey, const struct options *options)
{
    char bytes[UNITS_TEXT_MAX], budget[UNITS_TEXT_MAX];
    if (survey->count > 0)
        (void)printf("%-48s %10s  %-16s %s\n", "NAME", "SIZE", "LAST USED", "STATE");
    for (size_t i = 0; i < survey->count; i++)
        if (!cache_model_is_empty(&survey->models[i]))
            print_model(&survey->models[i]);
    (void)printf("%s in ", units_format_bytes(bytes, cache_survey_bytes(survey, NULL)));
    output_text(survey->cache->path);
    if (options->budget > 0)
        (void)printf(", of a budget of %s", units_format_bytes(budget, options->budget));
    (void)printf("\n");
}

static struct json *survey_to_json(const struct cache_survey *survey, const struct options *options)
{
    struct json *result = json_object();
    struct json *models = json_add(result, "models", json_array());
    for (size_t i = 0; i < survey->count; i++)
        if (!cache_model_is_empty(&survey->models[i]))
            add_model(models, survey->cache, &survey->models[i]);
    json_add_size(result, "bytes", cache_survey_bytes(survey, NULL));
    if (options->budget > 0)
        json_add_size(result, "budget", options->budget);
    else
        json_add_null(result, "budget");
    json_add_path(result, "path", survey->cache->path, true);
    return result;
}

/* What goes over all that is there: with JSON the object, else NULL after printing. */
typedef struct json *show_survey(const struct cache_survey *survey, const struct options *options);

static struct json *show_list(const struct cache_survey *survey, const struct options *options)
{
    if (options->json)
        return survey_to_json(survey, options);
    print_survey(survey, options);
    return NULL;
}

static int with_survey(const struct options *options, show_survey *show)
{
    struct cache cache;
    struct cache_survey survey;
    struct error err = {0};
    struct json *result = NULL;
    if (cache_open(&cache, &err) == 0) {
        if (cache_survey_take(&survey, &cache, &err) == 0) {
            result = show(&survey, options);
            cache_survey_release(&survey);
        }
        cache_close(&cache);
    }
    return output_finish(options, result, &err);
}

int command_cache_list(const struct options *options)
{
    return with_survey(options, show_list);
}

/* -- paths -- */

static struct json *show_paths(const struct cache_survey *survey, const struct options *options)
{
    if (options->comfyui) {
        cache_comfyui_print(survey);
        return NULL;
    }
    struct json *result = options->json ? json_object() : NULL;
    struct json *paths = result ? json_add(result, "paths", json_array()) : NULL;
    for (size_t i = 0; i < survey->count; i++) {
        const struct cache_model *model = &survey->models[i];
        if (!model->complete)
            continue;
        char *path = cache_version_path(survey->cache, model->name, model->record.folder);
        if (paths) {
            struct json *object = json_add(paths, NULL, json_object());
            json_add_text(object, "name", model->name);
            json_add_path(object, "path", path, true);
        } else {
            (void)printf("%s\t", model->name);
            output_text(path);
            (void)printf("\n");
        }
        free(path);
    }
    return result;
}

int command_cache_paths(const struct options *options)
{
    return with_survey(options, show_paths);
}

/* -- changing -- */

typedef int change_model(const struct cache *cache, const struct options *options, const char *model,
                         struct error *err);

/* One that cannot be changed does not keep the others; the last error is the command's. */
static int change_all(const struct options *options, const char *done, change_model *change)
{
    struct cache cache;
    struct error err = {0};
    struct json *result = options->json ? json_object() : NULL;
    struct json *names = result ? json_add(result, done, json_array()) : NULL;
    size_t count = cache_open(&cache, &err) == 0 ? options->arguments.count : 0;
    for (size_t i = 0; i < count; i++) {
        const char *model = options->arguments.items[i];
        struct error one = {0};
        if (change(&cache, options, model, &one) < 0) {
            if (err.code != ERROR_NONE)
                output_error("%s", err.text);
            err = one;
        } else if (names) {
            json_add_text(names, NULL, model);
        } else if (!options->quiet) {
            (void)printf("%s %s\n", done, model);
        }
    }
    cache_close(&cache);
    if (result)
        json_add_bool(result, "ok", err.code == ERROR_NONE);
    return output_finish(options, result, &err);
}

int command_cache_remove(const struct options *options)
{
    return change_all(options, "removed", cache_room_remove);
}

static int set_pin(const struct cache *cache, const struct options *options, const char *model, bool pinned,
                   struct error *err)
{
    struct cache_record record;
    int lock = cache_lock_open(cache, model, err);
    int result = lock < 0 ? -1 : cache_lock_take(lock, CACHE_LOCK_SWITCH, model, options, err);
    int found = result < 0 ? -1 : cache_record_load(cache, model, &record, err);
    if (found < 0)
        result = -1;
    else if (found == 0)
        result = error_set(err, ERROR_NO_MODEL, "there is no complete model '%s' in the cache", model);
    if (result >= 0) {
        record.pinned = pinned;
        result = cache_record_save(cache, model, &record, err);
    }
    fdio_drop(&lock);
    return result;
}

static int pin(const struct cache *cache, const struct options *options, const char *model, struct error *err)
{
    return set_pin(cache, options, model, true, err);
}

static int unpin(const struct cache *cache, const struct options *options, const char *model,
                 struct error *err)
{
    return set_pin(cache, options, model, false, err);
}

int command_cache_pin(const struct options *options)
{
    return change_all(options, "pinned", pin);
}

int command_cache_unpin(const struct options *options)
{
    return change_all(options, "unpinned", unpin);
}

/* -- prune -- */

int command_cache_prune(const struct options *options)
{
    struct cache cache;
    struct error err = {0};
    struct optparse_list removed = {0};
    struct json *result = options->json ? json_object() : NULL;
    struct json *names = result ? json_add(result, "removed", json_array()) : NULL;
    if (cache_open(&cache, &err) == 0) {
        (void)cache_room_prune(&cache, options, true, &removed, &err);
        cache_close(&cache);
    }
    for (size_t i = 0; i < removed.count; i++)
        if (names)
            json_add_text(names, NULL, removed.items[i]);
        else if (!options->quiet)
            (void)printf("removed %s\n", removed.items[i]);
    optparse_list_release(&removed);
    if (result)
        json_add_bool(result, "ok", err.code == ERROR_NONE);
    return output_finish(options, result, &err);
}
