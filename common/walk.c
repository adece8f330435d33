/* Depth first; the names of a folder are read whole and sorted first, so that no change under the walk makes
 * it see an entry twice. */
#include "common/walk.h"

#include "common/fdio.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct walk {
    int top;
    bool follow_links;
    walk_visitor *visit;
    void *context;
};

struct names {
    char **list;
    size_t count, capacity;
};

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
}

static void names_add(struct names *names, const char *name)
{
    if (names->count == names->capacity) {
        names->capacity = names->capacity ? 2 * names->capacity : 32;
        names->list = realloc(names->list, names->capacity * sizeof *names->list);
    }
    if (!names->list || !(names->list[names->count++] = strdup(name)))
        abort();
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the names in `dir` (taken, also on failure). 0 or an errno. */
static int read_names(int dir, struct names *names)
{
    DIR *stream = fdopendir(dir);
    if (!stream) {
        int saved = errno;
        (void)close(dir);
        return saved;
    }
    struct dirent *entry;
    while ((errno = 0, entry = readdir(stream)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            names_add(names, entry->d_name);
    int saved = errno;
    (void)closedir(stream);
    if (names->count > 0)
        qsort(names->list, names->count, sizeof *names->list, compare_names);
    return saved;
}

static char *join(const char *prefix, const char *name)
{
    size_t a = strlen(prefix), b = strlen(name);
    char *path = malloc(a + b + 2);
    if (!path)
        abort();
    memcpy(path, prefix, a);
    if (a > 0)
        path[a++] = '/';
    memcpy(path + a, name, b + 1);
    return path;
}

static void classify(const struct walk *walk, int dir, struct walk_entry *entry)
{
    if (fstatat(dir, entry->name, &entry->st, AT_SYMLINK_NOFOLLOW) < 0) {
        entry->kind = WALK_FAILED;
        entry->sys = errno;
        return;
    }
    bool is_link = S_ISLNK(entry->st.st_mode);
    if (is_link && walk->follow_links && fstatat(dir, entry->name, &entry->st, 0) < 0) {
        entry->kind = WALK_DANGLING; /* to nothing, or in a circle */
        entry->sys = errno;
        return;
    }
    if (S_ISREG(entry->st.st_mode))
        entry->kind = WALK_FILE;
    else if (is_link)
        entry->kind = WALK_LINK;
    else
        entry->kind = S_ISDIR(entry->st.st_mode) ? WALK_FOLDER : WALK_SPECIAL;
}

/* A folder below the top; "" is the top itself. Paths, not descriptors, lead down, so depth costs none. */
static int open_folder(const struct walk *walk, const char *path)
{
    return path[0] ? path_open(walk->top, path, O_RDONLY | O_DIRECTORY, 0)
                   : fdio_openat(walk->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

static int walk_folder(const struct walk *walk, const char *prefix, int *failed, struct error *err);

static int enter(const struct walk *walk, struct walk_entry *entry, struct error *err)
{
    int failed = 0;
    int result = walk_folder(walk, entry->path, &failed, err);
    if (failed == 0)
        return result;
    entry->kind = WALK_FAILED;
    entry->sys = failed;
    return walk->visit(walk->context, entry, err) == WALK_STOP ? -1 : 0;
}

/* One name in `*dir`, which is closed before the walk goes deeper, and opened again for the next name. */
static int walk_one(const struct walk *walk, int *dir, const char *prefix, const char *name,
                    struct error *err)
{
    char *path = join(prefix, name);
    struct walk_entry entry = {.path = path, .name = name};
    if (*dir < 0)
        *dir = open_folder(walk, prefix);
    classify(walk, *dir, &entry);
    enum walk_step step = walk->visit(walk->context, &entry, err);
    int result = step == WALK_STOP ? -1 : 0;
    if (entry.kind == WALK_FOLDER && step == WALK_ON) {
        fdio_drop(dir);
        result = enter(walk, &entry, err);
    }
    free(path);
    return result;
}

/* *failed says why the folder cannot be read, 0 if it can. */
static int walk_folder(const struct walk *walk, const char *prefix, int *failed, struct error *err)
{
    struct names names = {0};
    int result = 0;
    int dir = open_folder(walk, prefix);
    int copy = dir < 0 ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 0);
    *failed = copy < 0 ? errno : read_names(copy, &names);
    for (size_t i = 0; *failed == 0 && result == 0 && i < names.count; i++)
        result = walk_one(walk, &dir, prefix, names.list[i], err);
    names_release(&names);
    fdio_drop(&dir);
    return result;
}

int walk_tree(int top, bool follow_links, walk_visitor *visit, void *context, struct error *err)
{
    struct walk walk = {top, follow_links, visit, context};
    int failed = 0;
    int result = walk_folder(&walk, "", &failed, err);
    if (failed != 0)
        return error_set_sys(err, ERROR_FAILED, failed, "cannot read the folder");
    return result;
}
