/* posix_fadvise(WILLNEED) alone would only ask, and be cut to the read-ahead of the device; reading through a
 * small buffer has the pages there for certain. */
#include "client/warm.h"

#include "client/interrupt.h"
#include "client/output.h"

#include "common/fdio.h"
#include "common/mount.h"
#include "common/page_cache.h"
#include "common/path.h"
#include "common/sysfile.h"
#include "common/units.h"
#include "common/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fits a processor's cache, so that the copy that nobody looks at costs least. */
#define PIECE ((size_t)256 << 10)

/* What is asked for at once: whether it is there, and that it be fetched. */
#define WINDOW ((uint64_t)32 << 20)

bool warm_is_network(const char *type)
{
    static const char *const types[] = {
        "nfs",  "nfs4",   "cifs",      "smb3",           "9p",         "ceph",    "lustre",
        "gpfs", "beegfs", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "virtiofs"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* What can be had without driving out what is in use; UINT64_MAX where the kernel does not tell. */
static uint64_t available_memory(void)
{
    uint64_t kib;
    char *text = sysfile_read("/proc/meminfo");
    bool is_known = text && sysfile_field(text, "MemAvailable", &kib) && kib <= UINT64_MAX / 1024;
    free(text);
    return is_known ? kib * 1024 : UINT64_MAX;
}

void warm_begin(struct warm *warm, int folder)
{
    struct mount mount;
    *warm = (struct warm){.available = available_memory(), .is_counted = true, .buffer = malloc(PIECE)};
    if (!warm->buffer)
        abort();
    warm->room = warm->available;
    if (mount_of_fd(folder, &mount)) {
        warm->is_network = warm_is_network(mount.type);
        mount_release(&mount);
    }
}

void warm_end(struct warm *warm)
{
    free(warm->buffer);
    warm->buffer = NULL;
}

/* 0 also where the kernel does not tell: then it is read. */
static uint64_t resident(int fd, uint64_t offset, uint64_t length)
{
    uint64_t bytes;
    return page_cache_resident(fd, offset, length, &bytes) == 0 ? bytes : 0;
}

static void read_range(struct warm *warm, int fd, uint64_t offset, uint64_t length)
{
    (void)posix_fadvise(fd, (off_t)offset, (off_t)length, POSIX_FADV_WILLNEED);
    for (uint64_t done = 0; done < length && !interrupt_is_set();) {
        size_t piece = length - done < PIECE ? (size_t)(length - done) : PIECE;
        ssize_t got = fdio_pread(fd, warm->buffer, piece, offset + done);
        if (got <= 0) /* a file that cannot be read is not resident: that is what is reported */
            return;
        done += (uint64_t)got;
    }
}

static void warm_open_file(struct warm *warm, int fd, uint64_t size)
{
    uint64_t there;
    for (uint64_t at = 0; at < size && !interrupt_is_set(); at += WINDOW) {
        uint64_t length = size - at < WINDOW ? size - at : WINDOW;
        uint64_t take = length < warm->room ? length : warm->room;
        warm->room -= take;
        if (take > 0 && resident(fd, at, take) < take)
            read_range(warm, fd, at, take);
    }
    warm->bytes += size;
    if (page_cache_resident(fd, 0, size, &there) == 0)
        warm->resident += there;
    else
        warm->is_counted = false;
}

void warm_file(struct warm *warm, int folder, const char *path)
{
    struct stat st;
    int fd = path_open(folder, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        warm_open_file(warm, fd, (uint64_t)st.st_size);
    fdio_drop(&fd);
}

struct warming {
    struct warm *warm;
    int folder;
};

static enum walk_step warm_entry(void *context, const struct walk_entry *entry, struct error *err)
{
    const struct warming *warming = context;
    (void)err;
    if (entry->kind == WALK_FILE)
        warm_file(warming->warm, warming->folder, entry->path);
    return interrupt_is_set() ? WALK_SKIP : WALK_ON;
}

void warm_path(struct warm *warm, const char *path, const struct options *options)
{
    char text[WARM_TEXT_MAX];
    struct error ignored;
    int folder = fdio_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    struct warming warming = {warm, folder};
    warm_begin(warm, folder);
    if (folder >= 0)
        (void)walk_tree(folder, false, warm_entry, &warming, &ignored);
    warm_end(warm);
    fdio_drop(&folder);
    output_note(options, "%s", warm_text(text, warm));
    if (warm_loader_hint(warm))
        output_note(options, "%s", warm_loader_hint(warm));
}

void warm_add_json(struct json *object, const struct warm *warm)
{
    struct json *result = json_add(object, "warm", json_object());
    json_add_size(result, "bytes", warm->bytes);
    if (warm->is_counted)
        json_add_size(result, "resident", warm->resident);
    else
        json_add_null(result, "resident");
    if (warm_loader_hint(warm))
        json_add_text(result, "loader", warm_loader_hint(warm));
}

char *warm_text(char text[WARM_TEXT_MAX], const struct warm *warm)
{
    char there[UNITS_TEXT_MAX], all[UNITS_TEXT_MAX], memory[UNITS_TEXT_MAX];
    (void)units_format_bytes(all, warm->bytes);
    if (!warm->is_counted)
        (void)snprintf(text, WARM_TEXT_MAX,
                       "%s were read; the kernel does not tell how much of it stays in the page cache", all);
    else if (warm->bytes > warm->available)
        (void)snprintf(text, WARM_TEXT_MAX,
                       "%s of %s are in the page cache; no more was read, for %s of memory are available",
                       units_format_bytes(there, warm->resident), all,
                       units_format_bytes(memory, warm->available));
    else
        (void)snprintf(text, WARM_TEXT_MAX, "%s of %s are in the page cache",
                       units_format_bytes(there, warm->resident), all);
    return text;
}

const char *warm_loader_hint(const struct warm *warm)
{
    return warm->is_network ? "on a network mount: give llama.cpp --load-mode none (older: --no-mmap), vLLM "
                              "--safetensors-load-strategy eager"
                            : NULL;
}
