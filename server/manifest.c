/* JSON lines, so that neither writer nor reader holds a tree of 200 000 objects, and raw hashes beside them.
 */
#include "server/manifest.h"

#include "common/digest.h"
#include "common/fdio.h"
#include "proto/json.h"
#include "proto/name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME_MAX 64
#define LINE_DEPTH    2
/* More than a first line has: two names, six numbers and a flag. */
#define FIRST_LINE_MAX 1024

static void *grow(void *memory, size_t count, size_t size)
{
    void *grown = realloc(memory, count * size);
    if (!grown)
        abort();
    return grown;
}

void manifest_add(struct manifest *m, const struct file_entry *entry, int64_t disk_mtime, uint32_t disk_nsec,
                  const uint8_t *hashes)
{
    struct file_entry *added = listing_add(&m->listing, entry);
    size_t count = m->listing.count, capacity = m->listing.capacity;
    if (count == 1 || (count & (count - 1)) == 0 || !m->disk_mtime) {
        m->disk_mtime = grow(m->disk_mtime, capacity * 2, sizeof *m->disk_mtime);
        m->disk_nsec = grow(m->disk_nsec, capacity * 2, sizeof *m->disk_nsec);
        m->first_block = grow(m->first_block, capacity * 2, sizeof *m->first_block);
    }
    uint64_t blocks = block_count(entry->size);
    m->disk_mtime[count - 1] = disk_mtime;
    m->disk_nsec[count - 1] = disk_nsec;
    m->first_block[count - 1] = MANIFEST_NO_HASHES;
    added->has_hash = hashes != NULL;
    added->from = FROM_NONE;
    if (hashes) {
        m->blocks = grow(m->blocks, m->block_total + blocks, HASH_SIZE);
        memcpy(m->blocks + m->block_total * HASH_SIZE, hashes, blocks * HASH_SIZE);
        m->first_block[count - 1] = m->block_total;
        m->block_total += blocks;
        digest_file(hashes, blocks, entry->size, added->hash);
    }
    m->summary.files++;
    m->summary.bytes += entry->size;
}

void manifest_release(struct manifest *m)
{
    listing_release(&m->listing);
    free(m->disk_mtime);
    free(m->disk_nsec);
    free(m->first_block);
    free(m->blocks);
    memset(m, 0, sizeof *m);
}

const uint8_t *manifest_hashes(const struct manifest *m, uint64_t file)
{
    return m->first_block[file] == MANIFEST_NO_HASHES ? NULL : m->blocks + m->first_block[file] * HASH_SIZE;
}

/* -- saving -- */

static int print_line(FILE *out, struct json *line)
{
    char *text = json_print(line);
    json_free(line);
    int result = fprintf(out, "%s\n", text);
    free(text);
    return result < 0 ? -1 : 0;
}

static struct json *summary_line(const struct manifest_summary *summary)
{
    struct json *line = json_object();
    json_add_size(line, "mstore", 1);
    json_add_size(line, "files", summary->files);
    json_add_size(line, "bytes", summary->bytes);
    json_add_number(line, "mtime", (double)summary->mtime);
    json_add_size(line, "nsec", summary->nsec);
    json_add_size(line, "folder", summary->folder & LIMIT_SIZE);
    if (summary->model[0])
        json_add_text(line, "model", summary->model);
    if (summary->origin[0])
        json_add_text(line, "origin", summary->origin);
    if (summary->flawed)
        json_add_bool(line, "flawed", true);
    return line;
}

static struct json *file_line(const struct manifest *m, size_t i)
{
    const struct file_entry *file = &m->listing.files[i];
    struct json *line = json_object();
    json_add_path(line, "path", file->path, false);
    json_add_size(line, "size", file->size);
    json_add_number(line, "mtime", (double)file->mtime);
    json_add_size(line, "nsec", file->nsec);
    if (file->source != 0)
        json_add_size(line, "source", file->source);
    if (file->has_hash)
        json_add_hex(line, "hash", file->hash, HASH_SIZE);
    if (file->has_sha256)
        json_add_hex(line, "sha256", file->sha256, SHA256_SIZE);
    if (file->has_git_blob)
        json_add_hex(line, "git_blob", file->git_blob, GIT_BLOB_SIZE);
    if (m->disk_mtime[i] != file->mtime || m->disk_nsec[i] != file->nsec) {
        json_add_number(line, "disk_mtime", (double)m->disk_mtime[i]);
        json_add_size(line, "disk_nsec", m->disk_nsec[i]);
    }
    return line;
}

static int print_lines(const struct manifest *m, FILE *out)
{
    int result = print_line(out, summary_line(&m->summary));
    for (size_t i = 0; result == 0 && i < m->listing.count; i++)
        result = print_line(out, file_line(m, i));
    return result;
}

static int print_blocks(const struct manifest *m, FILE *out)
{
    if (m->block_total == 0)
        return 0;
    return fwrite(m->blocks, HASH_SIZE, m->block_total, out) == m->block_total ? 0 : -1;
}

/* Writes `name` under a temporary name, flushes it and renames it. */
static int save(const struct manifest *m, int folder, const char *name,
                int (*print)(const struct manifest *, FILE *))
{
    char temporary[FILE_NAME_MAX + 8];
    (void)snprintf(temporary, sizeof temporary, ".%s.new", name);
    (void)unlinkat(folder, temporary, 0);
    int fd = fdio_openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) {
        fdio_drop(&fd);
        return -1;
    }
    bool good = print(m, out) == 0 && fflush(out) == 0 && fdio_fdatasync(fd) == 0;
    int saved = errno;
    if (fclose(out) != 0 && good) {
        good = false;
        saved = errno;
    }
    if (good && renameat(folder, temporary, folder, name) == 0)
        return 0;
    if (good)
        saved = errno;
    (void)unlinkat(folder, temporary, 0);
    errno = saved;
    return -1;
}

static const char *file_name(char out[FILE_NAME_MAX], uint64_t generation, const char *ending)
{
    (void)snprintf(out, FILE_NAME_MAX, "%" PRIu64 ".%s", generation, ending);
    return out;
}

int manifest_save(const struct manifest *m, int folder, uint64_t generation, struct error *err)
{
    char name[FILE_NAME_MAX];
    if (save(m, folder, file_name(name, generation, "blocks"), print_blocks) < 0 ||
        save(m, folder, file_name(name, generation, "json"), print_lines) < 0 || fdio_fsync(folder) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot write the manifest '%s'", name);
    return 0;
}

/* -- loading -- */

static int damaged(struct error *err)
{
    return error_set(err, ERROR_FAILED, "a manifest is damaged");
}

static bool take_time(const struct json *line, const char *seconds, const char *part, int64_t *mtime,
                      uint32_t *nsec)
{
    uint64_t ns;
    if (!json_as_whole(json_get(line, seconds), mtime) || !json_as_size(json_get(line, part), &ns) ||
        ns > 999999999)
        return false;
    *nsec = (uint32_t)ns;
    return true;
}

static int parse_summary(struct manifest_summary *summary, const char *text, size_t length, struct error *err)
{
    struct json *line = json_parse(text, length, LINE_DEPTH);
    const char *model = json_as_text(json_get(line, "model"));
    const char *origin = json_as_text(json_get(line, "origin"));
    uint64_t version = 0;
    bool good = json_as_size(json_get(line, "mstore"), &version) && version == 1 &&
                json_as_size(json_get(line, "files"), &summary->files) &&
                json_as_size(json_get(line, "bytes"), &summary->bytes) &&
                take_time(line, "mtime", "nsec", &summary->mtime, &summary->nsec);
    summary->folder = 0;
    summary->flawed = false;
    if (good && json_get(line, "folder"))
        good = json_as_size(json_get(line, "folder"), &summary->folder);
    if (good && json_get(line, "flawed"))
        good = json_as_bool(json_get(line, "flawed"), &summary->flawed);
    (void)snprintf(summary->model, sizeof summary->model, "%s",
                   good && model && name_is_model_id(model) ? model : "");
    (void)snprintf(summary->origin, sizeof summary->origin, "%s",
                   good && origin && name_is_origin(origin) ? origin : "");
    json_free(line);
    return good ? 0 : damaged(err);
}

static bool parse_file(struct manifest *m, const struct json *line)
{
    struct file_entry entry = {.path = json_get_path(line, "path")};
    int64_t disk_mtime = 0;
    uint32_t disk_nsec = 0;
    bool good = entry.path && name_is_path(entry.path) && json_as_size(json_get(line, "size"), &entry.size) &&
                take_time(line, "mtime", "nsec", &entry.mtime, &entry.nsec);
    if (good && json_get(line, "disk_mtime"))
        good = take_time(line, "disk_mtime", "disk_nsec", &disk_mtime, &disk_nsec);
    else if (good) {
        disk_mtime = entry.mtime;
        disk_nsec = entry.nsec;
    }
    if (good && json_get(line, "source"))
        good = json_as_size(json_get(line, "source"), &entry.source);
    bool has_hash = false;
    good = good && json_get_hex(line, "hash", &has_hash, entry.hash, HASH_SIZE) &&
           json_get_hex(line, "sha256", &entry.has_sha256, entry.sha256, SHA256_SIZE) &&
           json_get_hex(line, "git_blob", &entry.has_git_blob, entry.git_blob, GIT_BLOB_SIZE);
    if (good) {
        uint64_t blocks = block_count(entry.size);
        manifest_add(m, &entry, disk_mtime, disk_nsec, NULL);
        struct file_entry *added = &m->listing.files[m->listing.count - 1];
        if (has_hash) {
            memcpy(added->hash, entry.hash, HASH_SIZE);
            added->has_hash = true;
            m->first_block[m->listing.count - 1] = m->block_total;
            m->block_total += blocks;
        }
    }
    free(entry.path);
    return good;
}

int manifest_parse(struct manifest *m, const char *text, size_t length, struct error *err)
{
    struct manifest_summary announced;
    memset(m, 0, sizeof *m);
    const char *end = memchr(text, '\n', length);
    if (!end || parse_summary(&announced, text, (size_t)(end - text), err) < 0)
        return damaged(err);
    int result = 0;
    const char *at = end + 1, *stop = text + length;
    while (result == 0 && at < stop && (end = memchr(at, '\n', (size_t)(stop - at))) != NULL) {
        struct json *line = json_parse(at, (size_t)(end - at), LINE_DEPTH);
        if (!parse_file(m, line))
            result = damaged(err);
        json_free(line);
        at = end + 1;
    }
    if (result == 0 && (m->summary.files != announced.files || m->summary.bytes != announced.bytes))
        result = damaged(err);
    if (result < 0)
        manifest_release(m);
    else
        m->summary = announced;
    return result;
}

/* The whole file, at most `most` bytes of it; free() it. NULL with errno. */
static char *read_file(int folder, const char *name, size_t most, size_t *length)
{
    struct stat st;
    int fd = fdio_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    size_t size = fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
    char *text = malloc((size < most ? size : most) + 1);
    ssize_t n = text ? fdio_read(fd, text, size < most ? size : most) : -1;
    int saved = errno;
    fdio_drop(&fd);
    errno = saved;
    if (n < 0) {
        free(text);
        return NULL;
    }
    *length = (size_t)n;
    return text;
}

static int read_error(struct error *err, const char *name)
{
    return error_set_sys(err, ERROR_FAILED, errno, "cannot read the manifest '%s'", name);
}

/* The first line. */
static int load_summary(struct manifest_summary *summary, int folder, uint64_t generation, struct error *err)
{
    char name[FILE_NAME_MAX];
    size_t length;
    char *text = read_file(folder, file_name(name, generation, "json"), FIRST_LINE_MAX, &length);
    if (!text)
        return read_error(err, name);
    const char *end = memchr(text, '\n', length);
    int result = end ? parse_summary(summary, text, (size_t)(end - text), err) : damaged(err);
    free(text);
    return result;
}

/* The block hashes make the file hashes: damage to either is found here, and not blamed on the model's bytes.
 */
static bool hashes_agree(const struct manifest *m)
{
    for (size_t i = 0; i < m->listing.count; i++) {
        const struct file_entry *file = &m->listing.files[i];
        const uint8_t *hashes = manifest_hashes(m, i);
        uint8_t hash[HASH_SIZE];
        if (!hashes)
            continue;
        digest_file(hashes, block_count(file->size), file->size, hash);
        if (memcmp(hash, file->hash, HASH_SIZE) != 0)
            return false;
    }
    return true;
}

int manifest_load(struct manifest *m, int folder, uint64_t generation, struct error *err)
{
    char name[FILE_NAME_MAX];
    size_t length;
    char *text = read_file(folder, file_name(name, generation, "json"), SIZE_MAX - 1, &length);
    if (!text)
        return read_error(err, name);
    int result = manifest_parse(m, text, length, err);
    free(text);
    if (result < 0)
        return -1;
    m->blocks = (uint8_t *)read_file(folder, file_name(name, generation, "blocks"), SIZE_MAX - 1, &length);
    if (m->blocks && length == m->block_total * HASH_SIZE && hashes_agree(m))
        return 0;
    result = m->blocks ? damaged(err) : read_error(err, name);
    manifest_release(m);
    return result;
}

/* -- generations -- */

static bool parse_generation(const char *name, uint64_t *generation)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(name, &end, 10);
    *generation = value;
    return name[0] >= '0' && name[0] <= '9' && errno == 0 && strcmp(end, ".json") == 0;
}

/* Keeps the list sorted, highest first, and no longer than `most`. */
static size_t insert_generation(uint64_t *generations, size_t count, size_t most, uint64_t generation)
{
    size_t at = count < most ? count++ : most;
    for (; at > 0 && generations[at - 1] < generation; at--)
        if (at < most)
            generations[at] = generations[at - 1];
    if (at < most)
        generations[at] = generation;
    return count;
}

/* getdents64() on the descriptor that is open anyway: opendir() would be half of all calls that listing a
 * model takes. */
size_t manifest_generations(int folder, uint64_t *generations, size_t most)
{
    _Alignas(struct dirent64) char entries[4096];
    size_t count = 0;
    ssize_t n;
    (void)lseek(folder, 0, SEEK_SET);
    while ((n = getdents64(folder, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            uint64_t generation;
            if (parse_generation(entry->d_name, &generation))
                count = insert_generation(generations, count, most, generation);
            at += entry->d_reclen;
        }
    return count;
}

int manifest_choose(int folder, uint64_t inode, uint64_t *generation, struct manifest_summary *summary)
{
    uint64_t generations[MANIFEST_MOST_GENERATIONS];
    size_t count = manifest_generations(folder, generations, MANIFEST_MOST_GENERATIONS);
    struct error ignored;
    for (size_t i = 0; i < count; i++) {
        *generation = generations[i];
        if (load_summary(summary, folder, *generation, &ignored) == 0 &&
            summary->folder == (inode & LIMIT_SIZE))
            return 1;
    }
    if (count == 0)
        return 0;
    *generation = generations[0];
    return load_summary(summary, folder, *generation, &ignored) == 0 ? 1 : -1;
}

void manifest_remove(int folder, uint64_t generation)
{
    char name[FILE_NAME_MAX];
    /* Blocks first: as long as the lines are there, the next publishing tries again. */
    if (unlinkat(folder, file_name(name, generation, "blocks"), 0) == 0 || errno == ENOENT)
        (void)unlinkat(folder, file_name(name, generation, "json"), 0);
}
