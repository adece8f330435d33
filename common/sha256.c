/* A door to libsodium that shows nothing of it. */
#include "common/sha256.h"

#include <sodium.h>

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(struct sha256) &&
                   _Alignof(crypto_hash_sha256_state) <= _Alignof(struct sha256),
               "the state fits");
_Static_assert(crypto_hash_sha256_BYTES == SHA256_SIZE, "the hash fits");

static crypto_hash_sha256_state *state_of(struct sha256 *hash)
{
    return (crypto_hash_sha256_state *)(void *)hash->state;
}

/* These calls cannot fail (libsodium's documentation). */
void sha256_begin(struct sha256 *hash)
{
    (void)crypto_hash_sha256_init(state_of(hash));
}

void sha256_update(struct sha256 *hash, const void *bytes, size_t length)
{
    (void)crypto_hash_sha256_update(state_of(hash), bytes, length);
}

void sha256_finish(struct sha256 *hash, uint8_t out[SHA256_SIZE])
{
    (void)crypto_hash_sha256_final(state_of(hash), out);
}
