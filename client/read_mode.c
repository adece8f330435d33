/* The names stand in the order of their enums. */
#include "client/read_mode.h"

#include <stddef.h>

const char *const read_mode_names[] = {[READ_MODE_READ] = "read", [READ_MODE_MMAP] = "mmap", NULL};

const char *const cache_wish_names[] = {[CACHE_WISH_COLD] = "cold", [CACHE_WISH_WARM] = "warm", NULL};

const char *const cache_state_names[] = {
    [CACHE_COLD] = "cold", [CACHE_WARM] = "warm", [CACHE_MIXED] = "mixed", NULL};

enum cache_state cache_state_of(double cached_share)
{
    if (cached_share <= CACHE_COLD_MAX)
        return CACHE_COLD;
    return cached_share >= CACHE_WARM_MIN ? CACHE_WARM : CACHE_MIXED;
}
