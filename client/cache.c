/* Names and folders of the local tier. */
#include "client/cache.h"

#include "client/destination.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Digits of the largest number and a NUL. */
#define NUMBER_MAX 21

/* How often somebody else may remove an empty folder between two steps. */
#define MAKE_ATTEMPTS 100

/* -- where -- */

/* The XDG specification: relative paths are to be ignored. */
static char *find_place(struct error *err)
{
    const char *own = getenv("MSTORE_CACHE"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int length;
    if (own && own[0] != '\0')
        length = asprintf(&path, "%s", own);
    else if (base && base[0] == '/')
        length = asprintf(&path, "%s/mstore", base);
    else if (home && home[0] != '\0')
        length = asprintf(&path, "%s/.cache/mstore", home);
    else
        return error_set(err, ERROR_FAILED, "there is no place for the cache: set MSTORE_CACHE or HOME"),
               NULL;
    if (length < 0)
        abort();
    return path;
}

static int open_folders(struct cache *cache, struct error *err)
{
    const struct {
        const char *name;
        int *fd;
    } folders[] = {{"models", &cache->models},
                   {"state", &cache->state},
                   {"lock", &cache->lock},
                   {"trash", &cache->trash}};
    int result = 0, root = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot open the cache '%s'", cache->path);
    for (size_t i = 0; result == 0 && i < sizeof folders / sizeof folders[0]; i++) {
        *folders[i].fd = path_make_dir(root, folders[i].name);
        if (*folders[i].fd < 0)
            result = error_set_sys(err, ERROR_FAILED, errno, "cannot open '%s' in the cache '%s'",
                                   folders[i].name, cache->path);
    }
    fdio_drop(&root);
    return result;
}

int cache_open(struct cache *cache, struct error *err)
{
    *cache = (struct cache){NULL, -1, -1, -1, -1};
    char *place = find_place(err);
    int result = place ? destination_make_folders(place, err) : -1;
    if (result == 0) {
        cache->path = realpath(place, NULL);
        result = cache->path ? open_folders(cache, err)
                             : error_set_sys(err, ERROR_FAILED, errno, "cannot open the cache '%s'", place);
    }
    free(place);
    if (result < 0)
        cache_close(cache);
    return result;
}

void cache_close(struct cache *cache)
{
    int *folders[] = {&cache->models, &cache->state, &cache->lock, &cache->trash};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        fdio_drop(folders[i]);
    free(cache->path);
    cache->path = NULL;
}

/* -- names -- */

char *cache_namespace(char name[LIMIT_ID_PART + 1], const char *model)
{
    (void)snprintf(name, LIMIT_ID_PART + 1, "%.*s", (int)strcspn(model, "/"), model);
    return name;
}

char *cache_flat_name(char name[CACHE_NAME_MAX], const char *model, const char *suffix)
{
    int space = (int)strcspn(model, "/");
    (void)snprintf(name, CACHE_NAME_MAX, "%.*s--%s%s", space, model, model + space + 1, suffix);
    return name;
}

uint64_t cache_folder_number(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 12 || name[digits] != '\0' || name[0] == '0')
        return 0;
    return strtoull(name, NULL, 10);
}

int64_t cache_time_ns(const struct timespec *time)
{
    const int64_t last = INT64_MAX / 1000000000 - 1;
    int64_t seconds = time->tv_sec > last ? last : time->tv_sec < -last ? -last : time->tv_sec;
    return seconds * 1000000000 + time->tv_nsec;
}

char *cache_version_path(const struct cache *cache, const char *model, uint64_t folder)
{
    char *path;
    if (asprintf(&path, "%s/models/%s/%" PRIu64, cache->path, model, folder) < 0)
        abort();
    return path;
}

static int make_model_folder(const struct cache *cache, const char *model)
{
    char space[LIMIT_ID_PART + 1];
    int fd = -1;
    (void)cache_namespace(space, model);
    for (int attempt = 0; fd < 0 && attempt < MAKE_ATTEMPTS; attempt++) {
        int outer = path_make_dir(cache->models, space);
        if (outer < 0)
            return -1;
        fd = path_make_dir(outer, model + strlen(space) + 1);
        int saved = errno;
        fdio_drop(&outer);
        errno = saved;
        if (fd < 0 && errno != ENOENT) /* that is: evicted and tidied away between the two */
            return -1;
    }
    return fd;
}

int cache_model_folder(const struct cache *cache, const char *model, bool make)
{
    return make ? make_model_folder(cache, model)
                : path_open(cache->models, model, O_RDONLY | O_DIRECTORY, 0);
}

int cache_version_open(const struct cache *cache, const char *model, uint64_t folder)
{
    char *path;
    if (asprintf(&path, "%s/%" PRIu64, model, folder) < 0)
        abort();
    int fd = path_open(cache->models, path, O_RDONLY | O_DIRECTORY, 0);
    int saved = errno;
    free(path);
    errno = saved;
    return fd;
}

/* -- removing -- */

int cache_discard(const struct cache *cache, const char *model, uint64_t folder)
{
    char number[NUMBER_MAX], name[CACHE_NAME_MAX], *target;
    int from = cache_model_folder(cache, model, false);
    if (from < 0)
        return errno == ENOENT ? 0 : -1;
    (void)snprintf(number, sizeof number, "%" PRIu64, folder);
    if (asprintf(&target, "%s.%s.%d.%" PRIx64, cache_flat_name(name, model, ""), number, (int)getpid(),
                 clock_ns()) < 0)
        abort();
    int result = renameat(from, number, cache->trash, target);
    if (result < 0 && errno == ENOENT)
        result = 0;
    int saved = errno;
    fdio_drop(&from);
    free(target);
    errno = saved;
    return result;
}

void cache_sweep(const struct cache *cache)
{
    int fd = fdio_openat(cache->trash, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        fdio_drop(&fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)path_remove_tree(cache->trash, entry->d_name);
    (void)closedir(stream);
}
