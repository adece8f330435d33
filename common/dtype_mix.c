/* A short list, searched from its start: files have one to five types. */
#include "common/dtype_mix.h"

#include <string.h>

uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_use(struct dtype_use *to, uint64_t tensors, uint64_t elements, uint64_t bytes)
{
    to->tensors = saturating_add(to->tensors, tensors);
    to->elements = saturating_add(to->elements, elements);
    to->bytes = saturating_add(to->bytes, bytes);
}

static struct dtype_use *find(struct dtype_mix *mix, const char *name)
{
    for (size_t i = 0; i < mix->count; i++)
        if (mix->uses[i].name == name || strcmp(mix->uses[i].name, name) == 0)
            return &mix->uses[i];
    if (mix->count == DTYPE_MIX_MAX)
        return &mix->uses[DTYPE_MIX_MAX - 1];
    mix->uses[mix->count] = (struct dtype_use){.name = name};
    return &mix->uses[mix->count++];
}

void dtype_mix_add(struct dtype_mix *mix, const char *name, uint64_t tensors, uint64_t elements,
                   uint64_t bytes)
{
    add_use(find(mix, name), tensors, elements, bytes);
}

void dtype_mix_merge(struct dtype_mix *mix, const struct dtype_mix *from)
{
    for (size_t i = 0; i < from->count; i++)
        add_use(find(mix, from->uses[i].name), from->uses[i].tensors, from->uses[i].elements,
                from->uses[i].bytes);
}

struct dtype_use dtype_mix_total(const struct dtype_mix *mix)
{
    struct dtype_use total = {0};
    for (size_t i = 0; i < mix->count; i++)
        add_use(&total, mix->uses[i].tensors, mix->uses[i].elements, mix->uses[i].bytes);
    return total;
}

const char *dtype_mix_largest(const struct dtype_mix *mix)
{
    const struct dtype_use *largest = NULL;
    for (size_t i = 0; i < mix->count; i++)
        if (!largest || mix->uses[i].bytes > largest->bytes)
            largest = &mix->uses[i];
    return largest ? largest->name : NULL;
}
