/* The two functions in which hashing spends its time, compiled once for any processor and once for those with
 * AVX2. For digest*.c only. `state` is an XXH3_state_t; all are built from the same header, so it is the same
 * one. */
#ifndef COMMON_DIGEST_CODE_H
#define COMMON_DIGEST_CODE_H

#include <stddef.h>

struct digest_code {
    void (*update)(void *state, const void *bytes, size_t length);
    void (*block)(const void *bytes, size_t length, void *hash); /* an XXH128_hash_t */
};

#ifdef DIGEST_HAS_AVX2
extern const struct digest_code digest_code_avx2;
#endif

#endif
