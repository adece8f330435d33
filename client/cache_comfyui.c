/* Which folders, by their names alone; ids and these names are plain ASCII, so only the base needs quoting,
 * and a JSON string is a YAML string. */
#include "client/cache_comfyui.h"

#include "common/fdio.h"
#include "common/path.h"
#include "proto/json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* folder_paths.py; clip and unet are the older names of text_encoders and diffusion_models. */
static const char *const categories[] = {"checkpoints",   "loras",          "vae",
                                         "text_encoders", "clip",           "diffusion_models",
                                         "unet",          "clip_vision",    "controlnet",
                                         "embeddings",    "upscale_models", "latent_upscale_models",
                                         "style_models",  "diffusers",      "vae_approx",
                                         "gligen",        "hypernetworks",  "photomaker",
                                         "model_patches", "audio_encoders", "configs"};

static const char *const parents[] = {"", "models/", "split_files/"};

/* "current" where that link points to the version, else its number. */
static void version_name(const struct cache_survey *survey, const struct cache_model *model, char name[24])
{
    char number[24], target[24];
    (void)snprintf(number, sizeof number, "%" PRIu64, model->record.folder);
    int folder = cache_model_folder(survey->cache, model->name, false);
    ssize_t length = folder < 0 ? -1 : readlinkat(folder, CACHE_CURRENT, target, sizeof target - 1);
    fdio_drop(&folder);
    target[length < 0 ? 0 : length] = '\0';
    (void)snprintf(name, 24, "%s", strcmp(target, number) == 0 ? CACHE_CURRENT : number);
}

static bool is_folder(const struct cache_survey *survey, const char *path)
{
    int fd = path_open(survey->cache->models, path, O_RDONLY | O_DIRECTORY, 0);
    bool is = fd >= 0;
    fdio_drop(&fd);
    return is;
}

/* The line of one folder, and before the first one its category's. */
static void print_folder(const struct cache_survey *survey, const struct cache_model *model,
                         const char *category, const char *parent, bool *has_head)
{
    char *path, version[24];
    if (asprintf(&path, "%s/%" PRIu64 "/%s%s", model->name, model->record.folder, parent, category) < 0)
        abort();
    if (is_folder(survey, path)) {
        version_name(survey, model, version);
        if (!*has_head)
            (void)printf("    %s: |\n", category);
        (void)printf("        %s/%s/%s%s\n", model->name, version, parent, category);
        *has_head = true;
    }
    free(path);
}

static void print_category(const struct cache_survey *survey, const char *category)
{
    bool has_head = false;
    for (size_t i = 0; i < survey->count; i++)
        for (size_t p = 0; survey->models[i].complete && p < sizeof parents / sizeof parents[0]; p++)
            print_folder(survey, &survey->models[i], category, parents[p], &has_head);
}

static void print_base(const char *path)
{
    char *base;
    if (asprintf(&base, "%s/models", path) < 0)
        abort();
    struct json *list = json_array(); /* printed with its brackets, which YAML would not take for a string */
    json_add_text(list, NULL, base);
    char *text = json_print(list);
    (void)printf("mstore:\n    base_path: %.*s\n", (int)strlen(text) - 2, text + 1);
    free(text);
    json_free(list);
    free(base);
}

void cache_comfyui_print(const struct cache_survey *survey)
{
    print_base(survey->cache->path);
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
        print_category(survey, categories[i]);
}
