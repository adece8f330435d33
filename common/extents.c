/* Writers list tensors in the order of their offsets or of their names; only the latter have to be sorted. */
#include "common/extents.h"

#include <stdlib.h>

bool extents_add(struct extents *extents, struct extent extent)
{
    if (extents->count == EXTENTS_MAX)
        return false;
    if (extents->count == extents->capacity) {
        size_t capacity = extents->capacity ? 2 * extents->capacity : 256;
        struct extent *items = realloc(extents->items, capacity * sizeof *items);
        if (!items)
            abort();
        extents->items = items;
        extents->capacity = capacity;
    }
    extents->items[extents->count++] = extent;
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end == b->end ? 0 : a->end < b->end ? -1 : 1;
}

void extents_sort(struct extents *extents)
{
    for (size_t i = 1; i < extents->count; i++)
        if (compare(&extents->items[i - 1], &extents->items[i]) > 0) {
            qsort(extents->items, extents->count, sizeof *extents->items, compare);
            return;
        }
}

enum extents_order extents_check(const struct extents *extents, uint64_t *at)
{
    enum extents_order order = EXTENTS_CONTIGUOUS;
    uint64_t end = 0;
    for (size_t i = 0; i < extents->count; i++) {
        const struct extent *extent = &extents->items[i];
        if (extent->begin < end) {
            *at = extent->begin;
            return EXTENTS_OVERLAPPING;
        }
        if (extent->begin > end && order == EXTENTS_CONTIGUOUS) {
            *at = end;
            order = EXTENTS_WITH_GAPS;
        }
        end = extent->end;
    }
    return order;
}

uint64_t extents_end(const struct extents *extents)
{
    uint64_t end = 0;
    for (size_t i = 0; i < extents->count; i++)
        if (extents->items[i].end > end)
            end = extents->items[i].end;
    return end;
}

void extents_release(struct extents *extents)
{
    free(extents->items);
    *extents = (struct extents){0};
}
