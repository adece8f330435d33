/* Forms of arguments that need a look at what they say. */
#include "client/arguments.h"

#include "client/hub.h"
#include "proto/name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROGRAM OPTIONS_PROGRAM

static char *copy(const char *text)
{
    char *copied = strdup(text);
    if (!copied)
        abort();
    return copied;
}

/* Whether the one argument says it all: a source that brings its own model id. */
static bool is_whole_alone(const struct options *options)
{
    const struct optparse_list *arguments = &options->arguments;
    return arguments->count == 1 && options->command == COMMAND_PUSH && hub_is_name(arguments->items[0]);
}

/* A model that comes from the Hub is called as it is there, unless it is given another name. */
static int name_after_source(struct options *options, struct error *err)
{
    struct hub_name name;
    if (hub_parse(&name, options->arguments.items[0], err) < 0)
        return -1;
    if (!name_is_model_id(name.repo))
        return error_set(err, ERROR_USAGE, "'%s' has no namespace: write NS/MODEL behind it", name.repo);
    optparse_list_add(&options->arguments, name.repo);
    return 0;
}

/* NS/MODEL/path/of/file names one file of a model. */
static void split_file(struct options *options)
{
    char *model = options->arguments.items[0];
    char *slash = strchr(model, '/'), *second = slash ? strchr(slash + 1, '/') : NULL;
    if (!second || !name_is_path(second + 1))
        return;
    *second = '\0';
    if (name_is_model_id(model))
        options->file = copy(second + 1);
    else
        *second = '/';
}

/* What the arguments say beyond their number and order. */
int arguments_complete(struct options *options, struct error *err)
{
    if (is_whole_alone(options))
        return name_after_source(options, err);
    if (options->command == COMMAND_PULL && options->arguments.count > 0)
        split_file(options);
    return 0;
}

int arguments_check(const struct options *options, struct error *err)
{
    bool in_cache = options->layout == LAYOUT_HF_CACHE;
    if (options->cache_dir && !in_cache)
        return error_set(err, ERROR_USAGE, "option '--cache-dir' goes with '--layout hf-cache' only");
    if (in_cache && options->file)
        return error_set(
            err, ERROR_USAGE,
            "'%s' is one file; for '--layout hf-cache' name the model, and the file with '--include'",
            options->file);
    if (in_cache && options->arguments.count > 1)
        return error_set(err, ERROR_USAGE,
                         "'%s' is one argument too many: with '--layout hf-cache' the folder is given by "
                         "'--cache-dir' or the environment",
                         options->arguments.items[1]);
    if (options->file && (options->include.count > 0 || options->exclude.count > 0))
        return error_set(err, ERROR_USAGE, "'%s' is one file: leave '--include' and '--exclude' out",
                         options->file);
    return 0;
}

static bool is_existing_path(const char *path)
{
    struct stat unused;
    return stat(path, &unused) == 0;
}

int arguments_check_order(const struct options *options, struct error *err)
{
    bool has_both = options->command == COMMAND_PUSH || options->command == COMMAND_PULL;
    if (!has_both || options->arguments.count < 2)
        return 0;
    const char *first = options->arguments.items[0];
    const char *second = options->arguments.items[1];
    if (options->command == COMMAND_PUSH && name_is_model_id(first) && !is_existing_path(first) &&
        is_existing_path(second))
        return error_set(err, ERROR_USAGE,
                         "'%s' is not a file or folder; did you mean: " PROGRAM " push '%s' '%s'?", first,
                         second, first);
    if (options->command == COMMAND_PULL && !name_is_model_id(first) && name_is_model_id(second))
        return error_set(err, ERROR_USAGE,
                         "'%s' is not a model id; did you mean: " PROGRAM " pull '%s' '%s'?", first, second,
                         first);
    return 0;
}
