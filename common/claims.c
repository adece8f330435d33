/* An unordered array. */
#include "common/claims.h"

#include <assert.h>

struct claim claims_add(struct claim_list *list, uint32_t file, uint64_t block)
{
    assert(list->count < sizeof list->items / sizeof *list->items);
    struct claim claim = {file, block, ++list->last_serial};
    list->items[list->count++] = (struct active_claim){claim, false};
    return claim;
}

struct active_claim *claims_find(struct claim_list *list, const struct claim *claim)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].claim.serial == claim->serial)
            return &list->items[i];
    return NULL;
}

struct active_claim *claims_holder(struct claim_list *list, uint32_t file, uint64_t block)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].claim.file == file && list->items[i].claim.block == block)
            return &list->items[i];
    return NULL;
}

void claims_drop(struct claim_list *list, struct active_claim *claim)
{
    *claim = list->items[--list->count];
}
