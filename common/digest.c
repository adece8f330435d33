/* XXH3-128 with seed 0, in canonical byte order. xxHash is compiled in, so that its vectors are those of the
 * processor: with AVX2 a third of the time of SSE2 (measured: 0.04 for 0.13 s/GB), and no shared library has
 * to have been built for it. */
#include "common/digest.h"

#include "common/digest_code.h"
#include "proto/bytes.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct digest {
    XXH3_state_t *state;
};

static void update(void *state, const void *bytes, size_t length)
{
    (void)XXH3_128bits_update(state, bytes, length);
}

static void block(const void *bytes, size_t length, void *hash)
{
    *(XXH128_hash_t *)hash = XXH3_128bits(bytes, length);
}

static const struct digest_code *code(void)
{
    static const struct digest_code any = {update, block};
#ifdef DIGEST_HAS_AVX2
    if (__builtin_cpu_supports("avx2"))
        return &digest_code_avx2;
#endif
    return &any;
}

static void store(XXH128_hash_t value, uint8_t hash[HASH_SIZE])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, value);
    for (int i = 0; i < HASH_SIZE; i++)
        hash[i] = canonical.digest[i];
}

struct digest *digest_create(void)
{
    struct digest *digest = malloc(sizeof *digest);
    if (!digest || !(digest->state = XXH3_createState()))
        abort();
    return digest;
}

void digest_destroy(struct digest **digest)
{
    if (*digest)
        XXH3_freeState((*digest)->state);
    free(*digest);
    *digest = NULL;
}

void digest_begin(struct digest *digest)
{
    (void)XXH3_128bits_reset(digest->state);
}

void digest_update(struct digest *digest, const void *bytes, size_t length)
{
    code()->update(digest->state, bytes, length);
}

void digest_finish(struct digest *digest, uint8_t hash[HASH_SIZE])
{
    store(XXH3_128bits_digest(digest->state), hash);
}

void digest_block(const void *bytes, size_t length, uint8_t hash[HASH_SIZE])
{
    XXH128_hash_t value;
    code()->block(bytes, length, &value);
    store(value, hash);
}

void digest_file(const uint8_t *hashes, uint64_t count, uint64_t size, uint8_t hash[HASH_SIZE])
{
    struct digest *digest = digest_create();
    uint8_t tail[8];
    put_le(tail, size, sizeof tail);
    digest_begin(digest);
    digest_update(digest, hashes, count * HASH_SIZE);
    digest_update(digest, tail, sizeof tail);
    digest_finish(digest, hash);
    digest_destroy(&digest);
}
