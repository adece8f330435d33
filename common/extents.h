/* Where the tensors of a file lie: pairs of offsets, 16 bytes each, to find overlaps and gaps once all are
 * known. */
#ifndef COMMON_EXTENTS_H
#define COMMON_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest models have some 10^5 tensors in all of their files. 16 MiB of memory, as much again to sort
 * them. */
#define EXTENTS_MAX ((size_t)1 << 20)

struct extent {
    uint64_t begin, end; /* begin <= end */
};

struct extents {
    struct extent *items;
    size_t count, capacity;
};

/* False if there are EXTENTS_MAX already. Out of memory ends the program. */
bool extents_add(struct extents *extents, struct extent extent);

/* Sorts by begin, then by end. */
void extents_sort(struct extents *extents);

enum extents_order { EXTENTS_CONTIGUOUS, EXTENTS_WITH_GAPS, EXTENTS_OVERLAPPING };

/* Of sorted extents, from offset 0 on: overlapping if any do, else with gaps if any are. *at is the offset
 * where the first of these is. */
enum extents_order extents_check(const struct extents *extents, uint64_t *at);

/* Where the last one ends; 0 without any. */
uint64_t extents_end(const struct extents *extents);

void extents_release(struct extents *extents);

#endif
