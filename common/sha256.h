/* SHA-256, the name that others have for a file's bytes; what mstore itself relies on is common/digest.h.
 *
 * sha256_begin(), sha256_update() …, sha256_finish(); then it can begin again. One thread at a time.
 * Measured: 3.6 CPU-seconds per 10^9 bytes in libsodium's portable code, a hundred times the block hash. */
#ifndef COMMON_SHA256_H
#define COMMON_SHA256_H

#include "proto/limits.h"

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint64_t state[16]; /* libsodium's; the .c asserts that it fits */
};

void sha256_begin(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *bytes, size_t length);
void sha256_finish(struct sha256 *hash, uint8_t out[SHA256_SIZE]);

#endif
