/* The next one is looked for each time: a cache holds tens of models, not thousands. */
#include "client/cache_choice.h"

static bool goes_before(const struct cache_item *a, const struct cache_item *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->used_ns < b->used_ns;
}

static struct cache_item *next_to_go(struct cache_item *items, size_t count)
{
    struct cache_item *best = NULL;
    for (size_t i = 0; i < count; i++) {
        struct cache_item *item = &items[i];
        if (item->kept == CACHE_NOT_KEPT && !item->chosen && item->bytes > 0 &&
            (!best || goes_before(item, best)))
            best = item;
    }
    return best;
}

bool cache_choose(struct cache_item *items, size_t count, uint64_t excess)
{
    while (excess > 0) {
        struct cache_item *item = next_to_go(items, count);
        if (!item)
            return false;
        item->chosen = true;
        excess -= item->bytes < excess ? item->bytes : excess;
    }
    return true;
}
