/* Everything that may be half done lives under a temporary name, and there is one function that ends that. */
#include "common/partfile.h"

#include "common/disk.h"
#include "common/fdio.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reserving is for large files: below this it costs more than it saves (measured on ext4). */
#define RESERVE_MIN ((uint64_t)1 << 20)

static int file_error(struct error *err, const char *what, const struct file_entry *entry)
{
    return error_set_sys(err, ERROR_FILE, errno, "cannot %s '%s'", what, entry->path);
}

static void begin(struct partfile *part)
{
    *part = (struct partfile){.folder = -1, .fd = -1, .direct_fd = -1};
    pthread_mutex_init(&part->turn, NULL);
}

static char *temporary_name(const char *name)
{
    uint64_t random = 0;
    char text[NAME_MAX + 1];
    (void)getrandom(&random, sizeof random, 0);
    bool fits = strlen(name) + 2 + 16 <= NAME_MAX;
    (void)snprintf(text, sizeof text, ".%s.%016llx", fits ? name : "mstore", (unsigned long long)random);
    char *copy = strdup(text);
    if (!copy)
        abort();
    return copy;
}

static void release(struct partfile *part)
{
    fdio_drop(&part->fd);
    fdio_drop(&part->direct_fd);
    fdio_drop(&part->folder);
    free(part->name);
    part->name = NULL;
    pthread_mutex_destroy(&part->turn);
}

/* The folder of the final name, made if it is missing; once more if someone pruned it in between. */
static int open_folder(int root, const char *path, const char **name)
{
    int folder = path_open_parent(root, path, name);
    for (int attempt = 0; folder < 0 && errno == ENOENT && attempt < 3; attempt++) {
        if (path_make_parents(root, path) < 0 && errno != ENOENT)
            return -1;
        folder = path_open_parent(root, path, name);
    }
    return folder;
}

/* EOPNOTSUPP, EINVAL and ENOSYS say that the file system cannot reserve; it is then written without. tmpfs
 * can, by filling the pages with zeros: measured, as dear as writing them. */
static int reserve(const struct partfile *part, const struct file_entry *entry, struct error *err)
{
    if (entry->size < RESERVE_MIN || disk_is_memory(part->fd))
        return 0;
    int result;
    do
        result = fallocate(part->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)entry->size);
    while (result < 0 && errno == EINTR);
    if (result < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
        return file_error(err, "reserve space for", entry);
    return 0;
}

static void open_direct(struct partfile *part, bool direct)
{
    if (direct)
        part->direct_fd =
            fdio_openat(part->folder, part->name, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC, 0);
}

int partfile_create(struct partfile *part, int root, const struct file_entry *entry, bool direct,
                    struct error *err)
{
    const char *name;
    begin(part);
    part->folder = open_folder(root, entry->path, &name);
    if (part->folder < 0) {
        file_error(err, "make the folder of", entry);
        release(part);
        return -1;
    }
    part->name = temporary_name(name);
    part->fd =
        fdio_openat(part->folder, part->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (part->fd < 0) {
        file_error(err, "create", entry);
        release(part);
        return -1;
    }
    open_direct(part, direct);
    if (reserve(part, entry, err) < 0) {
        partfile_discard(part);
        return -1;
    }
    return 0;
}

int partfile_reopen(struct partfile *part, int root, const struct file_entry *entry, const char *path,
                    bool direct, struct error *err)
{
    const char *name;
    begin(part);
    part->folder = path_open_parent(root, path, &name);
    if (part->folder < 0) {
        file_error(err, "open the partial copy of", entry);
        release(part);
        return -1;
    }
    part->name = strdup(name);
    part->fd = fdio_openat(part->folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    if (part->fd < 0 || !part->name) {
        file_error(err, "open the partial copy of", entry);
        release(part);
        return -1;
    }
    open_direct(part, direct);
    return 0;
}

char *partfile_path(const struct partfile *part, const struct file_entry *entry)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s%s", (int)path_folder_length(entry->path), entry->path, part->name) < 0)
        abort();
    return path;
}

static ssize_t write_cached(struct partfile *part, const void *bytes, size_t length, uint64_t offset)
{
    pthread_mutex_lock(&part->turn);
    ssize_t n = fdio_pwrite(part->fd, bytes, length, offset);
    pthread_mutex_unlock(&part->turn);
    return n;
}

int partfile_write(struct partfile *part, const struct file_entry *entry, const void *bytes, size_t length,
                   uint64_t offset, struct error *err)
{
    bool aligned = (uintptr_t)bytes % PARTFILE_ALIGN == 0 && offset % PARTFILE_ALIGN == 0;
    size_t direct = part->direct_fd >= 0 && aligned ? length / PARTFILE_ALIGN * PARTFILE_ALIGN : 0;
    if (direct > 0 && fdio_pwrite(part->direct_fd, bytes, direct, offset) < 0) {
        if (errno != EINVAL) /* EINVAL: this file system wants another alignment */
            return file_error(err, "write", entry);
        direct = 0;
    }
    if (length > direct &&
        write_cached(part, (const char *)bytes + direct, length - direct, offset + direct) < 0)
        return file_error(err, "write", entry);
    return 0;
}

static int write_back(struct partfile *part, const struct file_entry *entry, uint64_t offset, uint64_t length,
                      unsigned flags, struct error *err)
{
    if (part->direct_fd < 0 && fdio_sync_range(part->fd, offset, length, flags) < 0)
        return file_error(err, "write back", entry);
    return 0;
}

int partfile_start_writeback(struct partfile *part, const struct file_entry *entry, uint64_t offset,
                             uint64_t length, struct error *err)
{
    return write_back(part, entry, offset, length, SYNC_FILE_RANGE_WRITE, err);
}

int partfile_finish_writeback(struct partfile *part, const struct file_entry *entry, uint64_t offset,
                              uint64_t length, bool drop, struct error *err)
{
    if (write_back(part, entry, offset, length,
                   SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER, err) < 0)
        return -1;
    if (drop && part->direct_fd < 0)
        (void)posix_fadvise(part->fd, (off_t)offset, (off_t)length, POSIX_FADV_DONTNEED);
    return 0;
}

/* RENAME_NOREPLACE where the file system knows it, else a look before the rename. */
static int rename_to(int folder, const char *from, const char *to)
{
    struct stat st;
    if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (fstatat(folder, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, from, folder, to);
}

/* The mtime is a help for later comparisons; a file system that refuses it (EPERM on some shares) does not
 * stop us. */
static void set_mtime(const struct partfile *part, const struct file_entry *entry)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = entry->mtime, .tv_nsec = entry->nsec}};
    (void)futimens(part->fd, times);
}

int partfile_publish(struct partfile *part, const struct file_entry *entry, bool durable, struct error *err)
{
    const char *name = path_name(entry->path);
    int result = 0;
    if (fdio_ftruncate(part->fd, entry->size) < 0)
        result = file_error(err, "set the size of", entry);
    set_mtime(part, entry);
    if (result == 0 && durable && fdio_fdatasync(part->fd) < 0)
        result = file_error(err, "flush", entry);
    if (fdio_close(&part->direct_fd) < 0 && result == 0)
        result = file_error(err, "close", entry);
    if (fdio_close(&part->fd) < 0 && result == 0)
        result = file_error(err, "close", entry);
    if (result == 0 && rename_to(part->folder, part->name, name) < 0)
        result = errno == EEXIST
                     ? error_set(err, ERROR_FILE,
                                 "'%s' is the same name as another file of the model on this file system",
                                 entry->path)
                     : file_error(err, "rename the temporary file of", entry);
    if (result < 0)
        partfile_discard(part);
    else
        release(part);
    return result;
}

void partfile_discard(struct partfile *part)
{
    if (part->name)
        (void)unlinkat(part->folder, part->name, 0);
    release(part);
}

void partfile_leave(struct partfile *part)
{
    release(part);
}
