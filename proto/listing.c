/* Listings are plain arrays in the order in which they travelled; a sorted index beside them answers by path.
 */
#include "proto/listing.h"

#include <stdlib.h>
#include <string.h>

struct file_entry *listing_add(struct listing *listing, const struct file_entry *entry)
{
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
        struct file_entry *files = realloc(listing->files, capacity * sizeof *files);
        if (!files)
            abort();
        listing->files = files;
        listing->capacity = capacity;
    }
    struct file_entry *added = &listing->files[listing->count++];
    *added = *entry;
    added->path = strdup(entry->path);
    if (!added->path)
        abort();
    listing->path_bytes += strlen(added->path);
    return added;
}

void file_entry_learn(struct file_entry *entry, const struct file_entry *known)
{
    if (!entry->has_sha256 && known->has_sha256)
        memcpy(entry->sha256, known->sha256, SHA256_SIZE);
    if (!entry->has_git_blob && known->has_git_blob)
        memcpy(entry->git_blob, known->git_blob, GIT_BLOB_SIZE);
    entry->has_sha256 = entry->has_sha256 || known->has_sha256;
    entry->has_git_blob = entry->has_git_blob || known->has_git_blob;
}

bool listing_add_batch(struct listing *listing, const struct listing *batch)
{
    if (listing->count + batch->count > LIMIT_FILES || listing->path_bytes + batch->path_bytes > LIMIT_PATHS)
        return false;
    for (size_t i = 0; i < batch->count; i++)
        listing_add(listing, &batch->files[i]);
    return true;
}

void listing_filter(struct listing *listing, bool (*keep)(void *context, struct file_entry *entry),
                    void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < listing->count; i++) {
        struct file_entry *entry = &listing->files[i];
        if (keep(context, entry)) {
            listing->files[kept++] = *entry;
            continue;
        }
        listing->path_bytes -= strlen(entry->path);
        free(entry->path);
    }
    listing->count = kept;
}

void listing_release(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->files[i].path);
    free(listing->files);
    memset(listing, 0, sizeof *listing);
}

uint64_t listing_bytes(const struct listing *listing)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < listing->count; i++)
        bytes = listing->files[i].size > UINT64_MAX - bytes ? UINT64_MAX : bytes + listing->files[i].size;
    return bytes;
}

/* JSON text of a file without its path; the path's bytes may double when they are written in hexadecimal. */
#define ENTRY_TEXT 300

size_t listing_batch(const struct listing *listing, size_t at)
{
    size_t count = 0, bytes = 0;
    while (at + count < listing->count && count < LIMIT_BATCH_FILES && bytes < LIMIT_BATCH_BYTES)
        bytes += 2 * strlen(listing->files[at + count++].path) + ENTRY_TEXT;
    return count;
}

static int compare_paths(const void *a, const void *b, void *files)
{
    const struct file_entry *list = files;
    return strcmp(list[*(const uint32_t *)a].path, list[*(const uint32_t *)b].path);
}

/* Whether some folder of `path` is itself a file of the listing. */
static bool is_below_a_file(const struct listing *listing, const uint32_t *index, const char *path)
{
    char folder[LIMIT_PATH + 1];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - path);
        if (length > LIMIT_PATH)
            return false;
        memcpy(folder, path, length);
        folder[length] = '\0';
        if (listing_find(listing, index, folder) >= 0)
            return true;
    }
    return false;
}

uint32_t *listing_index(const struct listing *listing, const char **clash)
{
    uint32_t *index = malloc((listing->count + 1) * sizeof *index);
    if (!index)
        abort();
    for (size_t i = 0; i < listing->count; i++)
        index[i] = (uint32_t)i;
    qsort_r(index, listing->count, sizeof *index, compare_paths, listing->files);
    for (size_t i = 0; i < listing->count; i++) {
        const char *path = listing->files[index[i]].path;
        bool twice = i > 0 && strcmp(path, listing->files[index[i - 1]].path) == 0;
        if (twice || is_below_a_file(listing, index, path)) {
            *clash = path;
            free(index);
            return NULL;
        }
    }
    return index;
}

int64_t listing_find(const struct listing *listing, const uint32_t *index, const char *path)
{
    size_t low = 0, high = listing->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, listing->files[index[middle]].path);
        if (order == 0)
            return index[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static const char *const from_names[] = {"", "send", "staged", "live"};

const char *file_from_name(enum file_from from)
{
    return from_names[from];
}

enum file_from file_from_parse(const char *name)
{
    for (int i = FROM_SEND; i <= FROM_LIVE; i++)
        if (strcmp(from_names[i], name) == 0)
            return (enum file_from)i;
    return FROM_NONE;
}
