/* Which data types the tensors of a file or model have: how many tensors, elements and bytes of each.
 *
 * Sums that would not fit stay at UINT64_MAX. Plain values, no ownership: names are literals of the tables of
 * formats. Any thread. */
#ifndef COMMON_DTYPE_MIX_H
#define COMMON_DTYPE_MIX_H

#include <stddef.h>
#include <stdint.h>

/* The tables of safetensors and GGUF have 22 and 34 names, some in common. What comes beyond is counted under
 * the last. */
#define DTYPE_MIX_MAX 64

struct dtype_use {
    const char *name;
    uint64_t tensors, elements, bytes;
};

struct dtype_mix {
    struct dtype_use uses[DTYPE_MIX_MAX]; /* in the order of appearance */
    size_t count;
};

void dtype_mix_add(struct dtype_mix *mix, const char *name, uint64_t tensors, uint64_t elements,
                   uint64_t bytes);
void dtype_mix_merge(struct dtype_mix *mix, const struct dtype_mix *from);

/* Of all types together; the name is NULL. */
struct dtype_use dtype_mix_total(const struct dtype_mix *mix);

/* The name of the type that takes most bytes; NULL if there is none. */
const char *dtype_mix_largest(const struct dtype_mix *mix);

uint64_t saturating_add(uint64_t a, uint64_t b);

#endif
