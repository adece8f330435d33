/* Which stream writes which block of a staging: a short list, for there are never more claims than streams.
 * Threads: none here; the staging calls it under its lock. */
#ifndef COMMON_CLAIMS_H
#define COMMON_CLAIMS_H

#include "proto/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct claim {
    uint32_t file;
    uint64_t block;
    uint64_t serial; /* never used twice */
};

struct active_claim {
    struct claim claim;
    bool writing; /* its stream is inside a call that uses the file */
};

struct claim_list {
    struct active_claim items[2 * LIMIT_STREAMS]; /* a block may have a former and a new holder */
    size_t count;
    uint64_t last_serial;
};

struct claim claims_add(struct claim_list *list, uint32_t file, uint64_t block);

/* NULL if it is gone: its stream was through, or another has taken the block over. */
struct active_claim *claims_find(struct claim_list *list, const struct claim *claim);

/* Who holds the block, or NULL. */
struct active_claim *claims_holder(struct claim_list *list, uint32_t file, uint64_t block);

void claims_drop(struct claim_list *list, struct active_claim *claim);

#endif
