/* As cp(1) takes its last argument. */
#include "client/single_file.h"

#include "common/optparse.h"
#include "common/path.h"
#include "proto/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *copy(const char *text, size_t length)
{
    char *copied = strndup(text, length);
    if (!copied)
        abort();
    return copied;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

int single_file_place(struct single_file *one, const char *model, const char *file, const char *dst,
                      struct error *err)
{
    bool below = is_folder(dst);
    const char *name = path_name(below ? file : dst);
    if (!name_is_path(name))
        return error_set(err, ERROR_USAGE, "'%s' cannot be the name of a file", name);
    if (below)
        one->folder = copy(dst, strlen(dst));
    else if (name == dst)
        one->folder = copy(".", 1);
    else
        one->folder = copy(dst, name == dst + 1 ? 1 : (size_t)(name - dst - 1));
    one->name = copy(name, strlen(name));
    if (asprintf(&one->staging, "%s--file", model) < 0)
        abort();
    return 0;
}

void single_file_release(struct single_file *one)
{
    free(one->folder);
    free(one->name);
    free(one->staging);
    memset(one, 0, sizeof *one);
}

const char *single_file_nearest(const struct listing *listing, const char *file)
{
    const char **names = malloc((listing->count + 1) * sizeof *names);
    const char *nearest = NULL;
    if (!names)
        abort();
    for (size_t i = 0; i < listing->count; i++) {
        names[i] = listing->files[i].path;
        if (strcmp(path_name(names[i]), path_name(file)) == 0 && !nearest)
            nearest = names[i];
    }
    names[listing->count] = NULL;
    if (!nearest)
        nearest = optparse_nearest(file, names);
    free(names);
    return nearest;
}
