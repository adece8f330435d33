/* Every part gets the name of its set, and sorting by that puts sets together. */
#include "common/model_parts.h"

#include "common/path.h"
#include "common/printable.h"
#include "proto/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for an index in a sentence. */
#define SHOWN_MAX 128

/* What the allocator adds to a short string, at most. */
#define ALLOCATION_COST 32

static void *grown(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : 64;
    items = realloc(items, *capacity * size);
    if (!items)
        abort();
    return items;
}

/* The first `length` bytes of a path, then more. */
static char *joined(const char *path, size_t length, const char *more)
{
    size_t rest = strlen(more) + 1;
    char *text = malloc(length + rest);
    if (!text)
        abort();
    memcpy(text, path, length);
    memcpy(text + length, more, rest);
    return text;
}

/* -- adding -- */

bool model_parts_add_index(struct model_parts *parts, const char *path, const struct model_index *index)
{
    size_t folder = path_folder_length(path);
    size_t bytes = index->name_bytes + index->count * (folder + sizeof *parts->indexed + ALLOCATION_COST);
    if (parts->index_count == MODEL_PARTS_INDEXES_MAX ||
        bytes > MODEL_PARTS_INDEXED_MAX - parts->indexed_bytes)
        return false;
    parts->indexes[parts->index_count++] = path;
    parts->indexed_bytes += bytes;
    for (size_t i = 0; i < index->count; i++) {
        parts->indexed =
            grown(parts->indexed, parts->indexed_count, &parts->indexed_capacity, sizeof *parts->indexed);
        parts->indexed[parts->indexed_count++] =
            (struct indexed_file){joined(path, folder, index->shards[i]), path};
    }
    return true;
}

void model_parts_add_file(struct model_parts *parts, const struct file_entry *file)
{
    parts->items = grown(parts->items, parts->count, &parts->capacity, sizeof *parts->items);
    struct part *part = &parts->items[parts->count++];
    *part = (struct part){.file = file};
    part->has_name = part_name_parse(file->path, &part->name);
    if (!part->has_name)
        part->name = (struct part_name){0};
}

static int compare_indexed(const void *left, const void *right)
{
    const struct indexed_file *a = left, *b = right;
    int order = strcmp(a->path, b->path);
    return order ? order : strcmp(a->index, b->index);
}

static int compare_path(const void *path, const void *indexed)
{
    return strcmp(path, ((const struct indexed_file *)indexed)->path);
}

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    int order = strcmp(a->set, b->set);
    if (order)
        return order;
    if (a->name.number != b->name.number)
        return a->name.number < b->name.number ? -1 : 1;
    return strcmp(a->file->path, b->file->path);
}

static void name_set(struct part *part)
{
    const char *path = part->file->path;
    if (part->index)
        part->set = joined(part->index, strlen(part->index), "");
    else if (part->has_name)
        part->set = joined(path, part->name.stem, path + part->name.total_at - strlen("-of-"));
    else
        part->set = joined(path, strlen(path), "");
}

void model_parts_arrange(struct model_parts *parts)
{
    if (parts->indexed_count > 0)
        qsort(parts->indexed, parts->indexed_count, sizeof *parts->indexed, compare_indexed);
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        const struct indexed_file *named = NULL;
        if (parts->indexed_count > 0)
            named = bsearch(part->file->path, parts->indexed, parts->indexed_count, sizeof *parts->indexed,
                            compare_path);
        part->index = named ? named->index : NULL;
        name_set(part);
    }
    if (parts->count > 0)
        qsort(parts->items, parts->count, sizeof *parts->items, compare_parts);
}

size_t model_parts_next_set(const struct model_parts *parts, size_t at)
{
    size_t next = at + 1;
    while (next < parts->count && strcmp(parts->items[next].set, parts->items[at].set) == 0)
        next++;
    return next;
}

/* -- a series -- */

static void report_missing(const struct part *like, size_t digits, uint64_t number, size_t there,
                           struct finding_list *findings)
{
    char path[LIMIT_PATH + 32];
    struct finding why;
    const char *text = like->file->path;
    (void)snprintf(path, sizeof path, "%.*s-%0*" PRIu64 "-of-%s", (int)like->name.stem, text, (int)digits,
                   number, text + like->name.total_at);
    (void)finding_set(&why, FINDING_MISSING_SHARD, "is missing: %zu of %" PRIu64 " parts are there", there,
                      like->name.total);
    finding_list_add(findings, path, &why);
}

/* The fewest digits that a number has: all have as many, or are not padded. */
static size_t fewest_digits(const struct part *set, size_t count)
{
    size_t digits = set[0].name.digits;
    for (size_t i = 1; i < count; i++)
        if (set[i].name.digits < digits)
            digits = set[i].name.digits;
    return digits;
}

bool model_parts_check_series(const struct part *set, size_t count, struct finding_list *findings)
{
    if (set[0].index || !set[0].has_name)
        return true;
    bool from_zero = set[0].name.number == 0;
    uint64_t end = from_zero ? set[0].name.total : set[0].name.total + 1;
    size_t digits = fewest_digits(set, count), at = 0;
    bool is_whole = true;
    for (uint64_t number = !from_zero; number < end; number++) {
        while (at < count && set[at].name.number < number)
            at++;
        if (at < count && set[at].name.number == number)
            continue;
        if (!is_whole && findings->count == FINDINGS_MAX) {
            findings->omitted += at < count ? set[at].name.number - number : end - number;
            number = at < count ? set[at].name.number : end;
            continue;
        }
        is_whole = false;
        report_missing(&set[0], digits, number, count, findings);
    }
    return is_whole;
}

/* -- indexes -- */

static bool has_other_weights(const struct model_parts *parts, const char *index)
{
    size_t folder = path_folder_length(index);
    for (size_t i = 0; i < parts->count; i++) {
        const char *path = parts->items[i].file->path;
        if (path_folder_length(path) == folder && memcmp(path, index, folder) == 0)
            return true;
    }
    return false;
}

/* How many files of this index the listing has, and how many there are. */
static void count_files(const struct model_parts *parts, const bool *is_there, const char *index,
                        size_t *there, size_t *all)
{
    *there = *all = 0;
    for (size_t i = 0; i < parts->indexed_count; i++)
        if (parts->indexed[i].index == index) {
            ++*all;
            *there += is_there[i];
        }
}

static void check_index(const struct model_parts *parts, const bool *is_there, const char *index,
                        struct finding_list *findings)
{
    struct finding why;
    char shown[SHOWN_MAX];
    size_t there, all;
    count_files(parts, is_there, index, &there, &all);
    if (all == 0)
        return;
    if (there == 0 && has_other_weights(parts, index)) {
        (void)finding_set(&why, FINDING_NOT_CHECKED,
                          "names %zu files of which none is here; other weights are", all);
        finding_list_add(findings, index, &why);
        return;
    }
    (void)finding_set(&why, FINDING_MISSING_SHARD,
                      "is missing: '%s' names it and %zu other files, %zu are there",
                      printable(path_name(index), shown, sizeof shown), all - 1, there);
    for (size_t i = 0; i < parts->indexed_count; i++)
        if (parts->indexed[i].index == index && !is_there[i])
            finding_list_add(findings, parts->indexed[i].path, &why);
}

void model_parts_check_indexes(const struct model_parts *parts, const struct listing *listing,
                               struct finding_list *findings)
{
    const char *clash;
    uint32_t *index = listing_index(listing, &clash);
    bool *is_there = calloc(parts->indexed_count + 1, sizeof *is_there);
    if (!is_there)
        abort();
    for (size_t i = 0; index && i < parts->indexed_count; i++)
        is_there[i] = listing_find(listing, index, parts->indexed[i].path) >= 0;
    for (size_t i = 0; index && i < parts->index_count; i++)
        check_index(parts, is_there, parts->indexes[i], findings);
    free(is_there);
    free(index);
}

void model_parts_release(struct model_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->items[i].set);
    free(parts->items);
    for (size_t i = 0; i < parts->indexed_count; i++)
        free(parts->indexed[i].path);
    free(parts->indexed);
    *parts = (struct model_parts){0};
}
