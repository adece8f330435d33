/* A table of kinds, and a list that does not grow without bound. */
#include "common/model_finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool stops;
} kinds[FINDING_KIND_COUNT] = {
    [FINDING_NONE] = {"none", false},
    [FINDING_MISSING_SHARD] = {"missing-shard", true},
    [FINDING_CUT_FILE] = {"cut-file", true},
    [FINDING_LFS_POINTER] = {"lfs-pointer", true},
    [FINDING_ZERO_HEADER] = {"zero-header", true},
    [FINDING_UNFINISHED] = {"unfinished", true},
    [FINDING_OVERSIZED_HEADER] = {"oversized-header", true},
    [FINDING_BAD_HEADER] = {"bad-header", true},
    [FINDING_OVERLAP] = {"overlap", true},
    [FINDING_GAP] = {"gap", true},
    [FINDING_EXTRA_BYTES] = {"extra-bytes", true},
    [FINDING_NOT_CHECKED] = {"not-checked", false},
    [FINDING_UNREADABLE] = {"unreadable", false},
};

int finding_set(struct finding *finding, enum finding_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    finding->kind = kind;
    return -1;
}

const char *finding_name(enum finding_kind kind)
{
    return kinds[kind].name;
}

bool finding_stops(enum finding_kind kind)
{
    return kinds[kind].stops;
}

static bool is_listed(const struct finding_list *list, const char *path, enum finding_kind kind)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].finding.kind == kind && strcmp(list->items[i].path, path) == 0)
            return true;
    return false;
}

void finding_list_add(struct finding_list *list, const char *path, const struct finding *finding)
{
    list->stops |= finding_stops(finding->kind);
    if (list->count == FINDINGS_MAX) {
        list->omitted++;
        return;
    }
    if (is_listed(list, path, finding->kind))
        return;
    if ((list->count & (list->count - 1)) == 0) {
        size_t capacity = list->count ? 2 * list->count : 1;
        struct model_finding *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            abort();
        list->items = items;
    }
    struct model_finding *added = &list->items[list->count++];
    added->finding = *finding;
    added->path = strdup(path);
    if (!added->path)
        abort();
}

void finding_list_release(struct finding_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
    *list = (struct finding_list){0};
}
