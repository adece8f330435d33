/* How versions come and go: one exchange of folders brings a new one, one rename takes one away. What they
 * leave lies in the trash until nobody reads it. */
#include "common/fdio.h"
#include "common/log.h"
#include "common/path.h"
#include "common/staging.h"
#include "common/walk.h"
#include "proto/name.h"
#include "server/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void random_name(char out[20])
{
    uint64_t number = 0;
    (void)getrandom(&number, sizeof number, 0);
    (void)snprintf(out, 20, "%016llx", (unsigned long long)number);
}

/* Moves `name` in `from` to the trash of the model. What is not there is no error. */
static int to_trash(const struct store *store, const char *id, int from, const char *name)
{
    char random[20], place[LIMIT_PATH];
    random_name(random);
    (void)snprintf(place, sizeof place, "%s/%s", id, random);
    const char *last;
    int folder = -1;
    for (int attempt = 0; folder < 0 && attempt < 3; attempt++)
        if (path_make_parents(store->trash, place) == 0 || errno == ENOENT)
            folder = path_open_parent(store->trash, place, &last);
    if (folder < 0)
        return -1;
    int result = renameat(from, name, folder, last) < 0 && errno != ENOENT ? -1 : 0;
    int saved = errno;
    fdio_drop(&folder);
    errno = saved;
    return result;
}

/* Brings `tree` of `staging` to `name` of `folder`; a former version is at `tree` afterwards. */
static int switch_folders(int staging, int folder, const char *name)
{
    if (renameat2(staging, STAGING_TREE, folder, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EEXIST && renameat2(staging, STAGING_TREE, folder, name, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* A file system without RENAME_EXCHANGE: two renames. */
    if (renameat(folder, name, staging, "former") < 0 && errno != ENOENT)
        return -1;
    if (renameat(staging, STAGING_TREE, folder, name) < 0) {
        int saved = errno;
        (void)renameat(staging, "former", folder, name);
        errno = saved;
        return -1;
    }
    return renameat(staging, "former", staging, STAGING_TREE) < 0 && errno != ENOENT ? -1 : 0;
}

static int open_namespace(const struct store *store, const char *id, const char **name)
{
    int folder = -1;
    for (int attempt = 0; folder < 0 && attempt < 3; attempt++)
        if (path_make_parents(store->root, id) == 0 || errno == ENOENT)
            folder = path_open_parent(store->root, id, name);
    return folder;
}

static int switch_version(const struct store *store, const char *id, int staging, struct error *err)
{
    const char *name;
    int folder = open_namespace(store, id, &name);
    int result = 0;
    if (folder < 0)
        result = error_set_sys(err, ERROR_FAILED, errno, "cannot open the folder of '%s'", id);
    else if (switch_folders(staging, folder, name) < 0 || fdio_fsync(folder) < 0 ||
             fdio_fsync(store->root) < 0)
        result = error_set_sys(err, ERROR_FAILED, errno, "cannot publish '%s'", id);
    fdio_drop(&folder);
    return result;
}

/* Saves a manifest under the next number. Returns the number, 0 on failure. */
static uint64_t save_next(int meta, const struct manifest *manifest, struct error *err)
{
    uint64_t newest = 0;
    (void)manifest_generations(meta, &newest, 1);
    return manifest_save(manifest, meta, newest + 1, err) < 0 ? 0 : newest + 1;
}

static void remove_older(int meta, uint64_t newest)
{
    uint64_t generations[MANIFEST_MOST_GENERATIONS];
    size_t count = manifest_generations(meta, generations, MANIFEST_MOST_GENERATIONS);
    for (size_t i = 0; i < count; i++)
        if (generations[i] != newest)
            manifest_remove(meta, generations[i]);
}

static int open_meta(const struct store *store, const char *id, struct error *err)
{
    int meta = store_open_meta(store, id, true);
    if (meta < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot make the manifest folder of '%s'", id);
    return meta;
}

/* The staging folder holds the former version now, or nothing; either way it has done its work. */
static void clear_staging(const struct store *store, const char *id, int staging)
{
    const char *name;
    int folder = path_open_parent(store->staging, id, &name);
    if (to_trash(store, id, staging, STAGING_TREE) < 0 || folder < 0 || path_remove_tree(folder, name) < 0)
        log_warn("cannot clear the staging folder of '%s': %s", id, strerror(errno));
    fdio_drop(&folder);
    path_prune_parents(store->staging, id);
}

int store_publish(const struct store *store, const char *id, int lock_file, const struct manifest *manifest,
                  struct error *err)
{
    int staging = store_open_staging(store, id, err);
    int meta = staging < 0 ? -1 : open_meta(store, id, err);
    int result = -1;
    uint64_t generation = meta < 0 ? 0 : save_next(meta, manifest, err);
    if (generation == 0 || store_lock_exclusive(lock_file, err) < 0)
        goto out;
    result = switch_version(store, id, staging, err);
    if (result == 0)
        remove_older(meta, generation);
    else
        manifest_remove(meta, generation);
    store_unlock(lock_file);
    if (result == 0)
        clear_staging(store, id, staging);
out:
    fdio_drop(&meta);
    fdio_drop(&staging);
    return result;
}

int store_update_manifest(const struct store *store, const char *id, const struct manifest *manifest,
                          struct error *err)
{
    int meta = open_meta(store, id, err);
    uint64_t generation = meta < 0 ? 0 : save_next(meta, manifest, err);
    if (generation != 0)
        remove_older(meta, generation);
    fdio_drop(&meta);
    return generation == 0 ? -1 : 0;
}

/* Moves ns/model below `base` to the trash; *found if it was there. */
static int trash_model(const struct store *store, const char *id, int base, bool *found)
{
    const char *name;
    struct stat st;
    int folder = path_open_parent(base, id, &name);
    if (folder < 0)
        return errno == ENOENT ? 0 : -1;
    int result = 0;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
        result = to_trash(store, id, folder, name);
        *found = true;
    }
    if (result == 0)
        result = fdio_fsync(folder);
    int saved = errno;
    fdio_drop(&folder);
    path_prune_parents(base, id);
    errno = saved;
    return result;
}

int store_remove(const struct store *store, const char *id, int lock_file, struct error *err)
{
    bool found = false, ignored = false;
    if (store_lock_exclusive(lock_file, err) < 0)
        return -1;
    int result = trash_model(store, id, store->root, &found);
    if (result == 0)
        result = trash_model(store, id, store->meta, &ignored);
    if (result == 0)
        result = trash_model(store, id, store->staging, &found);
    int saved = errno;
    store_unlock(lock_file);
    if (result < 0)
        return error_set_sys(err, ERROR_FAILED, saved, "cannot remove '%s'", id);
    return found ? 0 : error_set(err, ERROR_NO_MODEL, "there is no model '%s'", id);
}

/* -- sweeping -- */

struct sweep {
    const struct store *store;
    const atomic_bool *stop;
    time_t oldest;
    int top; /* trash or staging */
    char **ids;
    size_t count;
};

/* Collects `<namespace>/<model>` folders; they are dealt with after the walk. */
static enum walk_step collect(void *context, const struct walk_entry *entry, struct error *err)
{
    (void)err;
    struct sweep *sweep = context;
    const char *slash = strchr(entry->path, '/');
    if (entry->kind != WALK_FOLDER)
        return WALK_ON;
    if (!slash)
        return WALK_ON;
    sweep->ids = realloc(sweep->ids, (sweep->count + 1) * sizeof *sweep->ids);
    if (!sweep->ids || !(sweep->ids[sweep->count++] = strdup(entry->path)))
        abort();
    return WALK_SKIP;
}

static void empty_trash_of(struct sweep *sweep, const char *id, int lock_file)
{
    int folder = path_open(sweep->top, id, O_RDONLY | O_DIRECTORY, 0);
    int copy = folder < 0 ? -1 : fdio_openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    struct stat st;
    while (stream && !atomic_load(sweep->stop) && (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] == '.' || fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            store_is_pinned(lock_file, st.st_ino))
            continue;
        if (path_remove_tree(folder, entry->d_name) < 0)
            log_warn("cannot empty the trash of '%s': %s", id, strerror(errno));
    }
    if (stream)
        (void)closedir(stream);
    fdio_drop(&folder);
    const char *name;
    int parent = path_open_parent(sweep->top, id, &name);
    if (parent >= 0 && unlinkat(parent, name, AT_REMOVEDIR) == 0)
        path_prune_parents(sweep->top, id);
    fdio_drop(&parent);
}

/* A staging belongs to nobody if its model can be locked; its age is that of its journal or plan. */
static void drop_old_staging(struct sweep *sweep, const char *id, int lock_file)
{
    struct stat st;
    struct error ignored;
    char place[LIMIT_PATH];
    bool found;
    (void)snprintf(place, sizeof place, "%s/%s", id, JOURNAL_NAME);
    if (path_stat(sweep->top, place, &st) < 0 && path_stat(sweep->top, id, &st) < 0)
        return;
    if (st.st_mtim.tv_sec > sweep->oldest || store_lock_push(lock_file, id, "the clean-up", &ignored) < 0)
        return;
    log_info("the unfinished push of '%s' is older than --staging-days and goes", id);
    (void)trash_model(sweep->store, id, sweep->top, &found);
}

static void sweep_below(struct sweep *sweep, void (*each)(struct sweep *, const char *, int))
{
    struct error err;
    sweep->ids = NULL;
    sweep->count = 0;
    (void)walk_tree(sweep->top, false, collect, sweep, &err);
    for (size_t i = 0; i < sweep->count; i++) {
        int lock_file = atomic_load(sweep->stop) || !name_is_model_id(sweep->ids[i])
                            ? -1
                            : store_lock_file(sweep->store, sweep->ids[i], &err);
        if (lock_file >= 0)
            each(sweep, sweep->ids[i], lock_file);
        fdio_drop(&lock_file);
        free(sweep->ids[i]);
    }
    free(sweep->ids);
}

static enum walk_step any_folder(void *context, const struct walk_entry *entry, struct error *err)
{
    (void)err;
    *(bool *)context |= entry->kind == WALK_FOLDER;
    return WALK_STOP;
}

bool store_sweep(const struct store *store, unsigned days, const atomic_bool *stop)
{
    struct sweep sweep = {.store = store, .stop = stop, .oldest = time(NULL) - (time_t)days * 86400};
    sweep.top = store->staging;
    sweep_below(&sweep, drop_old_staging);
    sweep.top = store->trash;
    sweep_below(&sweep, empty_trash_of);
    struct error ignored;
    bool left = false;
    (void)walk_tree(store->trash, false, any_folder, &left, &ignored);
    return !left;
}
