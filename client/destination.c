/* Files wait in DST/.mstore, on the same file system, so that showing them is a rename each. */
#include "client/destination.h"

#include "common/disk.h"
#include "common/fdio.h"
#include "common/junk.h"
#include "common/path.h"
#include "common/staging.h"
#include "common/units.h"
#include "common/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_FOLDER ".mstore"
#define LOCK_NAME  "lock"

static int dst_error(struct error *err, const char *what, const char *path)
{
    return error_set_sys(err, ERROR_FAILED, errno, "cannot %s '%s'", what, path);
}

int destination_make_folders(const char *path, struct error *err)
{
    return path_make_folders(path, 0777) < 0 ? dst_error(err, "make the folder", path) : 0;
}

static int lock_whole(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

/* The lock file goes with DST/.mstore when a pull has finished, so after locking it must still be the one
 * under its name. */
static int take_lock(struct destination *d, struct error *err)
{
    struct stat held, named;
    for (int attempt = 0; attempt < 100; attempt++) {
        fdio_drop(&d->own);
        fdio_drop(&d->lock);
        d->own = path_make_dir(d->folder, OWN_FOLDER);
        if (d->own < 0)
            return dst_error(err, "make the folder '" OWN_FOLDER "' in", d->path);
        d->lock = fdio_openat(d->own, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (d->lock < 0 && errno == ENOENT)
            continue;
        if (d->lock < 0)
            return dst_error(err, "make the lock in", d->path);
        if (lock_whole(d->lock) < 0) {
            if (errno == EAGAIN || errno == EACCES)
                return error_set(err, ERROR_BUSY, "another pull is running in '%s'", d->path);
            return dst_error(err, "lock", d->path);
        }
        if (fstat(d->lock, &held) == 0 &&
            fstatat(d->folder, OWN_FOLDER "/" LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            held.st_ino == named.st_ino && held.st_dev == named.st_dev)
            return 0;
    }
    return error_set(err, ERROR_BUSY, "other pulls are running in '%s'", d->path);
}

int destination_peek(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int destination_open(struct destination *d, const char *path, const char *model, struct error *err)
{
    *d = (struct destination){path, -1, -1, -1, NULL};
    if (destination_make_folders(path, err) < 0)
        return -1;
    d->folder = destination_peek(path);
    if (d->folder < 0)
        return dst_error(err, "open the folder", path);
    const char *slash = strchr(model, '/');
    if (asprintf(&d->staging_name, "%.*s--%s", (int)(slash - model), model, slash + 1) < 0)
        abort();
    if (take_lock(d, err) < 0) {
        destination_close(d, false);
        return -1;
    }
    return 0;
}

int destination_staging_folder(const struct destination *d, struct error *err)
{
    int fd = path_make_dir(d->own, d->staging_name);
    return fd < 0 ? dst_error(err, "make the staging folder in", d->path) : fd;
}

int destination_could_hold(const struct destination *d, uint64_t bytes, struct error *err)
{
    struct disk_space space;
    char need[UNITS_TEXT_MAX], all[UNITS_TEXT_MAX];
    if (!disk_space(d->folder, &space) || bytes <= space.total)
        return 0;
    return error_set(err, ERROR_NO_SPACE, "no space in '%s': %s are needed, all of its file system has %s",
                     d->path, units_format_bytes(need, bytes), units_format_bytes(all, space.total));
}

int destination_check(const struct destination *d, const struct listing *plan, uint64_t bytes,
                      struct error *err)
{
    struct disk_space space;
    struct stat st;
    char need[UNITS_TEXT_MAX], have[UNITS_TEXT_MAX];
    for (size_t i = 0; i < plan->count; i++) {
        const char *path = plan->files[i].path;
        if (path_stat(d->folder, path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                return error_set(err, ERROR_FILE,
                                 "'%s' is a folder in '%s'; the model has a file of that name", path,
                                 d->path);
        } else if (errno == ELOOP || errno == ENOTDIR) {
            return error_set_sys(err, ERROR_FILE, errno, "a link or file stands in the way of '%s' in '%s'",
                                 path, d->path);
        }
    }
    if (!disk_space(d->folder, &space) || bytes <= space.available)
        return 0;
    return error_set(err, ERROR_NO_SPACE, "no space in '%s': %s more are needed, %s are free", d->path,
                     units_format_bytes(need, bytes), units_format_bytes(have, space.available));
}

static int show_one(const struct destination *d, int tree, const char *path)
{
    const char *name;
    if (path_make_parents(d->folder, path) < 0)
        return -1;
    int from = path_open_parent(tree, path, &name);
    int to = from < 0 ? -1 : path_open_parent(d->folder, path, &name);
    int result = to < 0 ? -1 : renameat(from, name, to, name);
    int saved = errno;
    fdio_drop(&from);
    fdio_drop(&to);
    errno = saved;
    return result;
}

int destination_show(const struct destination *d, int tree, const struct listing *plan, struct error *err)
{
    for (size_t i = 0; i < plan->count; i++)
        if (show_one(d, tree, plan->files[i].path) < 0)
            return error_set_sys(err, ERROR_FILE, errno, "cannot move '%s' into '%s'", plan->files[i].path,
                                 d->path);
    if (fdio_syncfs(d->folder) < 0)
        return dst_error(err, "flush", d->path);
    return 0;
}

struct others {
    const struct listing *listing;
    uint32_t *index;
    struct report *report;
};

static enum walk_step name_other(void *context, const struct walk_entry *entry, struct error *err)
{
    struct others *others = context;
    (void)err;
    if (junk_is(entry->name, entry->path))
        return WALK_SKIP;
    if (entry->kind != WALK_FOLDER && listing_find(others->listing, others->index, entry->path) < 0)
        report_leave_alone(others->report, entry->path);
    return WALK_ON;
}

void destination_name_others(const struct destination *d, const struct listing *listing,
                             struct report *report)
{
    struct error ignored;
    const char *clash;
    struct others others = {listing, listing_index(listing, &clash), report};
    if (others.index)
        (void)walk_tree(d->folder, false, name_other, &others, &ignored);
    free(others.index);
}

void destination_close(struct destination *d, bool finished)
{
    if (finished) {
        (void)path_remove_tree(d->own, d->staging_name);
        /* Only what is empty but for the lock goes: another model's staging stays, and the lock with it. */
        (void)unlinkat(d->own, LOCK_NAME, 0);
        (void)unlinkat(d->folder, OWN_FOLDER, AT_REMOVEDIR);
    }
    fdio_drop(&d->lock);
    fdio_drop(&d->own);
    fdio_drop(&d->folder);
    free(d->staging_name);
    d->staging_name = NULL;
}
