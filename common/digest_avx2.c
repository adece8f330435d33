/* XXH3 with 256-bit vectors; compiled with -mavx2 and called only where the processor has it. */
#include "common/digest_code.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static void update(void *state, const void *bytes, size_t length)
{
    (void)XXH3_128bits_update(state, bytes, length);
}

static void block(const void *bytes, size_t length, void *hash)
{
    *(XXH128_hash_t *)hash = XXH3_128bits(bytes, length);
}

const struct digest_code digest_code_avx2 = {update, block};
