/* A walk, then once over the list to find what was reached twice. */
#include "client/bench_files.h"

#include "client/interrupt.h"
#include "common/fdio.h"
#include "common/junk.h"
#include "common/mount.h"
#include "common/page_cache.h"
#include "common/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STAT_BLOCK 512 /* unit of st_blocks (stat(2)) */

struct collecting {
    struct bench_files *files;
    const char *top;
};

/* Takes `path`. */
static void add_file(struct bench_files *files, char *path, const struct stat *st)
{
    if ((files->count & (files->count - 1)) == 0) { /* full at each power of two */
        size_t room = files->count ? 2 * files->count : 1;
        files->files = realloc(files->files, room * sizeof *files->files);
        if (!files->files)
            abort();
    }
    uint64_t size = (uint64_t)st->st_size, allocated = (uint64_t)st->st_blocks * STAT_BLOCK;
    files->files[files->count] = (struct bench_file){.path = path,
                                                     .size = size,
                                                     .allocated = allocated < size ? allocated : size,
                                                     .device = st->st_dev,
                                                     .inode = st->st_ino,
                                                     .place = files->count};
    files->count++;
}

static char *join(const char *folder, const char *path)
{
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/')
        length--;
    size_t size = length + strlen(path) + 2;
    char *joined = malloc(size);
    if (!joined)
        abort();
    memcpy(joined, folder, length);
    joined[length] = '/';
    memcpy(joined + length + 1, path, size - length - 1);
    return joined;
}

static enum walk_step refuse(const struct collecting *c, const struct walk_entry *entry, struct error *err)
{
    char *path = join(c->top, entry->path);
    error_set_sys(err, ERROR_FILE, entry->sys, "cannot read '%s'", path);
    free(path);
    return WALK_STOP;
}

static enum walk_step take_entry(void *context, const struct walk_entry *entry, struct error *err)
{
    struct collecting *c = context;
    if (interrupt_check(err) < 0)
        return WALK_STOP;
    if (junk_is(entry->name, entry->path))
        return WALK_SKIP;
    if (entry->kind == WALK_FAILED || entry->kind == WALK_DANGLING)
        return refuse(c, entry, err);
    if (entry->kind == WALK_FILE)
        add_file(c->files, join(c->top, entry->path), &entry->st);
    return WALK_ON;
}

static int collect_folder(struct bench_files *files, const char *path, struct error *err)
{
    struct collecting c = {files, path};
    int fd = fdio_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot read '%s'", path);
    int result = walk_tree(fd, true, take_entry, &c, err);
    fdio_drop(&fd);
    return result;
}

static int collect_path(struct bench_files *files, const char *path, struct error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot read '%s'", path);
    if (S_ISDIR(st.st_mode))
        return collect_folder(files, path, err);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_USAGE, "'%s' is neither a folder nor a regular file", path);
    char *copy = strdup(path);
    if (!copy)
        abort();
    add_file(files, copy, &st);
    return 0;
}

/* ---- once each ---- */

static int by_identity(const void *a, const void *b)
{
    const struct bench_file *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const struct bench_file *x = a, *y = b;
    return x->place < y->place ? -1 : 1;
}

static void drop_repeated(struct bench_files *files)
{
    size_t kept = 0;
    if (files->count == 0)
        return;
    qsort(files->files, files->count, sizeof *files->files, by_identity);
    for (size_t i = 0; i < files->count; i++) {
        const struct bench_file *before = kept > 0 ? &files->files[kept - 1] : NULL;
        struct bench_file *file = &files->files[i];
        if (before && before->device == file->device && before->inode == file->inode)
            free(file->path);
        else
            files->files[kept++] = *file;
    }
    files->count = kept;
    qsort(files->files, files->count, sizeof *files->files, by_place);
}

/* Not by the device number: files of one overlay or btrfs may have several. */
static bool mount_id(const struct bench_file *file, unsigned *id)
{
    int fd = fdio_openat(AT_FDCWD, file->path, O_RDONLY | O_CLOEXEC, 0);
    bool found = fd >= 0 && mount_id_of_fd(fd, id);
    fdio_drop(&fd);
    return found;
}

static bool is_elsewhere(const struct bench_file *file, const struct bench_file *first)
{
    unsigned id, first_id;
    return file->device != first->device && mount_id(file, &id) && mount_id(first, &first_id) &&
           id != first_id;
}

static int check(struct bench_files *files, const char *first_path, struct error *err)
{
    for (size_t i = 0; i < files->count; i++) {
        files->bytes += files->files[i].size;
        files->allocated += files->files[i].allocated;
        if (is_elsewhere(&files->files[i], &files->files[0]))
            return error_set(err, ERROR_USAGE,
                             "'%s' and '%s' lie in different file systems: measure each by itself",
                             files->files[0].path, files->files[i].path);
    }
    if (files->bytes == 0)
        return error_set(err, ERROR_FAILED, "there is nothing to read in '%s'", first_path);
    return 0;
}

int bench_files_collect(struct bench_files *files, const struct optparse_list *paths, struct error *err)
{
    memset(files, 0, sizeof *files);
    int result = 0;
    for (size_t i = 0; result == 0 && i < paths->count; i++)
        result = collect_path(files, paths->items[i], err);
    drop_repeated(files);
    if (result == 0)
        result = check(files, paths->items[0], err);
    if (result < 0)
        bench_files_release(files);
    return result;
}

void bench_files_release(struct bench_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->files[i].path);
    free(files->files);
    memset(files, 0, sizeof *files);
}

/* ---- the cache ---- */

int bench_files_open(const struct bench_file *file, struct error *err)
{
    struct stat st;
    int fd = fdio_openat(AT_FDCWD, file->path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot read '%s'", file->path);
    int result = fstat(fd, &st);
    if (result < 0)
        error_set_sys(err, ERROR_FILE, errno, "cannot read '%s'", file->path);
    else if ((uint64_t)st.st_size != file->size)
        result = error_set(err, ERROR_CHANGED, "the size of '%s' changed between rounds", file->path);
    if (result < 0)
        fdio_drop(&fd);
    return fd;
}

static int resident(const struct bench_file *file, bool *known, uint64_t *cached, struct error *err)
{
    uint64_t bytes = 0;
    int fd = bench_files_open(file, err);
    if (fd < 0)
        return -1;
    int result = page_cache_resident(fd, 0, file->size, &bytes);
    if (result < 0 && errno == EPERM) {
        *known = false;
        result = 0;
    } else if (result < 0) {
        error_set_sys(err, ERROR_FILE, errno, "cannot tell what of '%s' is cached", file->path);
    }
    *cached += bytes;
    fdio_drop(&fd);
    return result;
}

int bench_files_resident(const struct bench_files *files, bool *known, uint64_t *cached, struct error *err)
{
    *known = true;
    *cached = 0;
    for (size_t i = 0; i < files->count; i++)
        if (interrupt_check(err) < 0 || resident(&files->files[i], known, cached, err) < 0)
            return -1;
    return 0;
}

int bench_files_drop(const struct bench_files *files, struct error *err)
{
    for (size_t i = 0; i < files->count; i++) {
        int fd = interrupt_check(err) < 0 ? -1 : bench_files_open(&files->files[i], err);
        if (fd < 0)
            return -1;
        int result = page_cache_drop(fd);
        if (result < 0)
            error_set_sys(err, ERROR_FILE, errno, "cannot drop '%s' from the page cache",
                          files->files[i].path);
        fdio_drop(&fd);
        if (result < 0)
            return -1;
    }
    return 0;
}
