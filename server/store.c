/* Places and locks of the store. What decides lies in the root, so several daemons may serve one. */
#include "server/store.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/path.h"
#include "proto/json.h"
#include "proto/name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BYTE_PUSH = 0, BYTE_SWITCH = 1, BYTE_PINS = 16 };

#define OWNER_MAX 256

/* How long a push or removal waits for a push to let go of the model, and how often it looks. */
#define LOCK_PATIENCE_MS 1500
#define LOCK_LOOK_MS     50

static int open_part(int parent, const char *name, const char *root, struct error *err)
{
    int fd = path_make_dir(parent, name);
    if (fd < 0)
        error_set_sys(err, ERROR_FAILED, errno, "cannot make or open the folder '%s' in '%s'", name, root);
    return fd;
}

int store_open(struct store *store, const char *root, struct error *err)
{
    *store = (struct store){-1, -1, -1, -1, -1};
    store->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* may be a link */
    if (store->root < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot open the root '%s'", root);
    int own = open_part(store->root, ".mstore", root, err);
    if (own < 0 || (store->meta = open_part(own, "meta", root, err)) < 0 ||
        (store->staging = open_part(own, "staging", root, err)) < 0 ||
        (store->trash = open_part(own, "trash", root, err)) < 0 ||
        (store->lock = open_part(own, "lock", root, err)) < 0) {
        fdio_drop(&own);
        store_close(store);
        return -1;
    }
    fdio_drop(&own);
    return 0;
}

void store_close(struct store *store)
{
    fdio_drop(&store->root);
    fdio_drop(&store->meta);
    fdio_drop(&store->staging);
    fdio_drop(&store->trash);
    fdio_drop(&store->lock);
}

/* -- locks -- */

int store_lock_file(const struct store *store, const char *id, struct error *err)
{
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < 2; attempt++) {
        if (path_make_parents(store->lock, id) < 0)
            break;
        fd = path_open(store->lock, id, O_RDWR | O_CREAT, 0666);
        if (fd < 0 && errno != ENOENT)
            break;
    }
    if (fd < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot open the lock of '%s'", id);
    return fd;
}

static int lock_byte(int fd, short type, off_t byte, bool wait)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;
    do
        result = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
    while (result < 0 && errno == EINTR);
    return result;
}

static int busy(int lock_file, const char *id, struct error *err)
{
    char owner[OWNER_MAX + 1];
    ssize_t n = fdio_pread(lock_file, owner, OWNER_MAX, 0);
    owner[n > 0 ? n : 0] = '\0';
    owner[strcspn(owner, "\n")] = '\0';
    return error_set(err, ERROR_BUSY, "another push to '%s' is running: %s; try again when it has ended", id,
                     owner[0] ? owner : "by an unknown client");
}

int store_lock_push(int lock_file, const char *id, const char *owner, struct error *err)
{
    char text[OWNER_MAX + 1], when[32] = "";
    struct tm parts;
    time_t now = time(NULL);
    if (lock_byte(lock_file, F_WRLCK, BYTE_PUSH, false) < 0) {
        if (errno == EAGAIN || errno == EACCES)
            return busy(lock_file, id, err);
        return error_set_sys(err, ERROR_FAILED, errno, "cannot lock '%s'", id);
    }
    if (gmtime_r(&now, &parts))
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &parts);
    (void)snprintf(text, sizeof text, "by %.200s since %s\n", owner, when);
    if (fdio_ftruncate(lock_file, 0) < 0 || fdio_pwrite(lock_file, text, strlen(text), 0) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot write the lock of '%s'", id);
    return 0;
}

int store_lock_soon(int lock_file, const char *id, const char *owner, const atomic_bool *stop,
                    struct error *err)
{
    uint64_t end = clock_ms() + LOCK_PATIENCE_MS;
    for (;;) {
        if (store_lock_push(lock_file, id, owner, err) == 0) {
            err->code = ERROR_NONE; /* of an earlier try */
            return 0;
        }
        if (err->code != ERROR_BUSY || clock_ms() >= end || atomic_load(stop))
            return -1;
        (void)poll(NULL, 0, LOCK_LOOK_MS);
    }
}

static int lock_switch(int lock_file, short type, struct error *err)
{
    if (lock_byte(lock_file, type, BYTE_SWITCH, true) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot lock a model");
    return 0;
}

int store_lock_shared(int lock_file, struct error *err)
{
    return lock_switch(lock_file, F_RDLCK, err);
}

int store_lock_exclusive(int lock_file, struct error *err)
{
    return lock_switch(lock_file, F_WRLCK, err);
}

void store_unlock(int lock_file)
{
    (void)lock_byte(lock_file, F_UNLCK, BYTE_SWITCH, false);
}

static off_t pin_byte(uint64_t inode)
{
    return (off_t)(BYTE_PINS + (inode & (UINT64_MAX >> 2)));
}

int store_pin(int lock_file, uint64_t inode, struct error *err)
{
    if (lock_byte(lock_file, F_RDLCK, pin_byte(inode), true) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot lock a version");
    return 0;
}

bool store_is_pinned(int lock_file, uint64_t inode)
{
    if (lock_byte(lock_file, F_WRLCK, pin_byte(inode), false) < 0)
        return true;
    (void)lock_byte(lock_file, F_UNLCK, pin_byte(inode), false);
    return false;
}

/* -- places -- */

int store_open_live(const struct store *store, const char *id)
{
    return path_open(store->root, id, O_RDONLY | O_DIRECTORY, 0);
}

/* Whether `name` is there under just this spelling, or not at all. */
static bool is_exact(int folder, const char *name)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    int copy = fdio_openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    bool found = false;
    if (!stream) {
        fdio_drop(&copy);
        return true;
    }
    while (!found && (entry = readdir(stream)) != NULL)
        found = strcmp(entry->d_name, name) == 0;
    (void)closedir(stream);
    return found;
}

bool store_has_spelling(const struct store *store, const char *id)
{
    char namespace[LIMIT_ID_PART + 1];
    const char *slash = strchr(id, '/');
    (void)snprintf(namespace, sizeof namespace, "%.*s", (int)(slash - id), id);
    bool exact = is_exact(store->root, namespace);
    int folder =
        exact ? fdio_openat(store->root, namespace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0) : -1;
    if (folder >= 0)
        exact = is_exact(folder, slash + 1);
    fdio_drop(&folder);
    return exact;
}

static int open_model_dir(int base, const char *id, bool make)
{
    int fd = path_open(base, id, O_RDONLY | O_DIRECTORY, 0);
    for (int attempt = 0; fd < 0 && errno == ENOENT && make && attempt < 3; attempt++) {
        const char *name;
        if (path_make_parents(base, id) < 0 && errno != ENOENT)
            return -1;
        int parent = path_open_parent(base, id, &name);
        if (parent < 0)
            continue;
        fd = path_make_dir(parent, name);
        int saved = errno;
        fdio_drop(&parent);
        errno = saved;
    }
    return fd;
}

int store_open_meta(const struct store *store, const char *id, bool make)
{
    return open_model_dir(store->meta, id, make);
}

int store_open_staging(const struct store *store, const char *id, struct error *err)
{
    int fd = open_model_dir(store->staging, id, true);
    if (fd < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot make the staging folder of '%s'", id);
    return fd;
}

void store_drop_empty_staging(const struct store *store, const char *id)
{
    const char *name;
    int folder = path_open_parent(store->staging, id, &name);
    if (folder >= 0 && unlinkat(folder, name, AT_REMOVEDIR) == 0)
        path_prune_parents(store->staging, id);
    fdio_drop(&folder);
}

int store_save_plan(int staging_folder, const struct manifest_summary *summary, struct error *err)
{
    struct json *plan = json_object();
    json_add_size(plan, "files", summary->files);
    json_add_size(plan, "bytes", summary->bytes);
    json_add_number(plan, "mtime", (double)summary->mtime);
    char *text = json_print(plan);
    json_free(plan);
    int fd =
        fdio_openat(staging_folder, ".plan.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool good = fd >= 0 && fdio_write(fd, text, strlen(text)) >= 0;
    good = fdio_close(&fd) == 0 && good &&
           renameat(staging_folder, ".plan.new", staging_folder, "plan.json") == 0;
    free(text);
    return good ? 0 : error_set_sys(err, ERROR_FAILED, errno, "cannot write the plan of a push");
}
