/* A pass over the blocks of a file for their hashes. Blocking; it reads each block once, front to back, into
 * a buffer of its own of at most BLOCK_SIZE. Thread-safe. */
#ifndef COMMON_BLOCK_PASS_H
#define COMMON_BLOCK_PASS_H

#include "proto/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* Called with each block and its hash, or with NULL where it could not be read whole. False ends the pass. */
typedef bool block_visitor(void *context, uint64_t block, const uint8_t *hash);

/* The first `count` blocks of the open file of `size` bytes, at most block_count(size); with `wanted`, of
 * them those for which it has not 0. Nothing can be read from an `fd` below 0. False if the visitor ended it.
 */
bool block_pass(int fd, uint64_t size, uint64_t count, const uint8_t *wanted, block_visitor *visit,
                void *context);

#endif
