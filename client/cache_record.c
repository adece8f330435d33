/* Small JSON files, written beside and renamed. */
#include "client/cache_record.h"

#include "common/fdio.h"
#include "proto/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A state takes 200 bytes; what is longer is none. */
#define TEXT_MAX 4096
#define DEPTH    3

#define FORMAT 1

bool cache_version_is_same(const struct cache_version *a, const struct cache_version *b)
{
    return a->bytes == b->bytes && a->files == b->files && a->number == b->number && a->mtime == b->mtime &&
           a->nsec == b->nsec;
}

/* -- text -- */

char *cache_record_print(const struct cache_record *record)
{
    struct json *object = json_object();
    json_add_size(object, "mstore_cache", FORMAT);
    json_add_size(object, "folder", record->folder);
    json_add_size(object, "bytes", record->version.bytes);
    json_add_size(object, "files", record->version.files);
    json_add_number(object, "mtime", (double)record->version.mtime);
    json_add_size(object, "nsec", record->version.nsec);
    json_add_size(object, "version", record->version.number);
    json_add_size(object, "fingerprint", record->fingerprint);
    json_add_bool(object, "pinned", record->pinned);
    char *text = json_print(object);
    json_free(object);
    return text;
}

static bool get_size(const struct json *object, const char *key, uint64_t max, uint64_t *out)
{
    return json_as_size(json_get(object, key), out) && *out <= max;
}

bool cache_record_parse(struct cache_record *record, const char *text, size_t length)
{
    struct json *object = json_parse(text, length, DEPTH);
    uint64_t format = 0, nsec = 0;
    *record = (struct cache_record){0};
    bool good = json_is_object(object) && get_size(object, "mstore_cache", FORMAT, &format) &&
                format == FORMAT && get_size(object, "folder", CACHE_FOLDER_MAX, &record->folder) &&
                get_size(object, "bytes", LIMIT_SIZE, &record->version.bytes) &&
                get_size(object, "files", LIMIT_FILES, &record->version.files) &&
                get_size(object, "nsec", 999999999, &nsec) &&
                json_as_whole(json_get(object, "mtime"), &record->version.mtime) &&
                get_size(object, "version", LIMIT_SIZE, &record->version.number) &&
                get_size(object, "fingerprint", LIMIT_SIZE, &record->fingerprint) &&
                json_as_bool(json_get(object, "pinned"), &record->pinned) && record->folder > 0 &&
                record->fingerprint > 0;
    record->version.nsec = (uint32_t)nsec;
    json_free(object);
    return good;
}

uint64_t cache_record_parse_reserved(const char *text, size_t length)
{
    uint64_t bytes;
    struct json *object = json_parse(text, length, DEPTH);
    if (!json_is_object(object) || !get_size(object, "reserved", LIMIT_SIZE, &bytes))
        bytes = 0;
    json_free(object);
    return bytes;
}

/* -- files -- */

/* O_NOFOLLOW meets a link with ELOOP, and open() a socket with ENXIO. */
static int open_small(int folder, const char *name)
{
    int fd = fdio_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0 && (errno == ELOOP || errno == ENXIO))
        errno = ENOENT;
    return fd;
}

/* The text of a small regular file and when it was written; free() it. NULL with errno, ENOENT for anything
 * else that has the name. */
static char *read_small(int folder, const char *name, size_t *length, int64_t *mtime_ns)
{
    struct stat st;
    ssize_t got = -1;
    int fd = open_small(folder, name);
    char *text = malloc(TEXT_MAX);
    if (!text)
        abort();
    if (fd >= 0 && fstat(fd, &st) == 0) {
        bool is_small = S_ISREG(st.st_mode) && st.st_size <= TEXT_MAX;
        errno = ENOENT;
        got = is_small ? fdio_read(fd, text, TEXT_MAX) : -1;
    }
    int sys = errno;
    fdio_drop(&fd);
    if (got >= 0) {
        *length = (size_t)got;
        *mtime_ns = cache_time_ns(&st.st_mtim);
        return text;
    }
    free(text);
    errno = sys;
    return NULL;
}

static struct timespec time_of(int64_t ns)
{
    return ns == 0 ? (struct timespec){.tv_nsec = UTIME_NOW}
                   : (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static int write_all(int folder, const char *name, const char *text, int64_t mtime_ns)
{
    int fd = fdio_openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    const struct timespec times[2] = {time_of(0), time_of(mtime_ns)};
    int result =
        fdio_write(fd, text, strlen(text)) < 0 || futimens(fd, times) < 0 || fdio_fsync(fd) < 0 ? -1 : 0;
    int saved = errno;
    if (fdio_close(&fd) < 0 && result == 0)
        return -1;
    errno = saved;
    return result;
}

static int replace(const struct cache *cache, const char *model, const char *suffix, const char *text,
                   int64_t mtime_ns, struct error *err)
{
    char name[CACHE_NAME_MAX], beside[CACHE_NAME_MAX + 1];
    (void)snprintf(beside, sizeof beside, ".%s", cache_flat_name(name, model, suffix));
    if (write_all(cache->state, beside, text, mtime_ns) < 0 ||
        renameat(cache->state, beside, cache->state, name) < 0 || fdio_fsync(cache->state) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot write '%s/state/%s'", cache->path, name);
    return 0;
}

int cache_record_load(const struct cache *cache, const char *model, struct cache_record *record,
                      struct error *err)
{
    char name[CACHE_NAME_MAX];
    size_t length;
    int64_t used_ns;
    char *text = read_small(cache->state, cache_flat_name(name, model, ".json"), &length, &used_ns);
    if (!text && errno != ENOENT)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot read '%s/state/%s'", cache->path, name);
    bool good = text && cache_record_parse(record, text, length);
    free(text);
    if (good)
        record->used_ns = used_ns > 0 ? used_ns : 1; /* whatever somebody made of the time */
    else
        *record = (struct cache_record){0};
    return good;
}

int cache_record_save(const struct cache *cache, const char *model, const struct cache_record *record,
                      struct error *err)
{
    char *text = cache_record_print(record);
    int result = replace(cache, model, ".json", text, record->used_ns, err);
    free(text);
    return result;
}

void cache_record_touch(const struct cache *cache, const char *model)
{
    char name[CACHE_NAME_MAX];
    (void)utimensat(cache->state, cache_flat_name(name, model, ".json"), NULL, AT_SYMLINK_NOFOLLOW);
}

static int remove_file(const struct cache *cache, const char *model, const char *suffix)
{
    char name[CACHE_NAME_MAX];
    return unlinkat(cache->state, cache_flat_name(name, model, suffix), 0) == 0 || errno == ENOENT ? 0 : -1;
}

int cache_record_remove(const struct cache *cache, const char *model)
{
    return remove_file(cache, model, ".json");
}

/* -- reservations -- */

int cache_record_reserve(const struct cache *cache, const char *model, uint64_t bytes, struct error *err)
{
    struct json *object = json_object();
    json_add_size(object, "reserved", bytes);
    char *text = json_print(object);
    int result = replace(cache, model, ".room", text, 0, err);
    free(text);
    json_free(object);
    return result;
}

uint64_t cache_record_reserved(const struct cache *cache, const char *model)
{
    char name[CACHE_NAME_MAX];
    size_t length = 0;
    int64_t unused;
    char *text = read_small(cache->state, cache_flat_name(name, model, ".room"), &length, &unused);
    uint64_t bytes = text ? cache_record_parse_reserved(text, length) : 0;
    free(text);
    return bytes;
}

void cache_record_unreserve(const struct cache *cache, const char *model)
{
    (void)remove_file(cache, model, ".room");
}
