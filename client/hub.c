/* The rules are those of huggingface_hub's documentation of its cache, for models. */
#include "client/hub.h"

#include "proto/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hub_is_name(const char *source)
{
    return strncmp(source, HUB_PREFIX, strlen(HUB_PREFIX)) == 0;
}

static bool is_repo(const char *text)
{
    return name_is_model_id(text) || name_is_id_part(text, strlen(text));
}

int hub_parse(struct hub_name *name, const char *source, struct error *err)
{
    const char *repo = source + strlen(HUB_PREFIX), *at = strchr(repo, '@');
    size_t length = at ? (size_t)(at - repo) : strlen(repo);
    const char *revision = at ? at + 1 : HUB_MAIN;
    (void)snprintf(name->repo, sizeof name->repo, "%.*s", (int)(length < LIMIT_ID ? length : LIMIT_ID), repo);
    if (length > LIMIT_ID || !is_repo(name->repo))
        return error_set(err, ERROR_USAGE, "'%s' names no repo of the Hub: write hf:ORG/MODEL[@REVISION]",
                         source);
    if (strlen(revision) > HUB_REVISION_MAX || !name_is_path(revision))
        return error_set(err, ERROR_USAGE,
                         "'%s' names no revision: write a branch, a tag, 'refs/pr/1' or a commit behind '@'",
                         source);
    (void)snprintf(name->revision, sizeof name->revision, "%s", revision);
    return 0;
}

bool hub_is_commit(const char *text)
{
    return strlen(text) == HUB_COMMIT_DIGITS && strspn(text, "0123456789abcdef") == HUB_COMMIT_DIGITS;
}

void hub_origin(char out[LIMIT_ORIGIN + 1], const char *repo, const char *commit)
{
    (void)snprintf(out, LIMIT_ORIGIN + 1, HUB_PREFIX "%s@%s", repo, commit);
}

bool hub_parse_origin(struct hub_name *name, const char *origin)
{
    struct error ignored;
    return hub_is_name(origin) && hub_parse(name, origin, &ignored) == 0 && hub_is_commit(name->revision);
}

static char *join(const char *folder, const char *below)
{
    char *path;
    if (asprintf(&path, "%s%s", folder, below) < 0)
        abort();
    return path;
}

/* Its value if it is set and not empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

char *hub_cache_folder(const char *given, struct error *err)
{
    const struct {
        const char *folder, *below;
    } places[] = {
        {given, ""},
        {variable("HF_HUB_CACHE"), ""},
        {variable("HF_HOME"), "/hub"},
        {variable("XDG_CACHE_HOME"), "/huggingface/hub"},
        {variable("HOME"), "/.cache/huggingface/hub"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (places[i].folder)
            return join(places[i].folder, places[i].below);
    error_set(err, ERROR_USAGE, "no folder for the Hugging Face cache: set HF_HUB_CACHE or HOME");
    return NULL;
}

char *hub_repo_folder(const char *cache, const char *repo)
{
    const char *slash = strchr(repo, '/');
    char *path;
    int length = slash ? asprintf(&path, "%s/models--%.*s--%s", cache, (int)(slash - repo), repo, slash + 1)
                       : asprintf(&path, "%s/models--%s", cache, repo);
    if (length < 0)
        abort();
    return path;
}
