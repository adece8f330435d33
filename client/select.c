/* fnmatch(3), twice. */
#include "client/select.h"

#include "common/path.h"

#include <fnmatch.h>
#include <string.h>

static bool matches_any(const struct optparse_list *patterns, const char *path)
{
    const char *name = path_name(path);
    for (size_t i = 0; i < patterns->count; i++)
        if (fnmatch(patterns->items[i], path, 0) == 0 || fnmatch(patterns->items[i], name, 0) == 0)
            return true;
    return false;
}

bool select_is_in(const struct options *options, const char *path)
{
    if (options->include.count > 0 && !matches_any(&options->include, path))
        return false;
    return !matches_any(&options->exclude, path);
}
