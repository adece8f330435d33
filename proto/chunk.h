/* Headers and trailers of data connections (docs/protocol.md, section 6). Pure: no sockets, any thread. */
#ifndef PROTO_CHUNK_H
#define PROTO_CHUNK_H

#include "proto/error.h"
#include "proto/limits.h"

#include <stdint.h>

#define CHUNK_HEADER_SIZE  32
#define CHUNK_TRAILER_SIZE 24

enum chunk_type { CHUNK_DATA = 1, CHUNK_WANT, CHUNK_ACK, CHUNK_BAD, CHUNK_FAIL, CHUNK_END };

#define CHUNK_END_SENDFILE 1 /* flag of END: its bytes went through sendfile */

struct chunk {
    enum chunk_type type;
    uint8_t flags;
    uint32_t file;
    uint64_t offset;
    uint64_t length;
};

void chunk_encode(const struct chunk *chunk, uint8_t out[CHUNK_HEADER_SIZE]);

/* Checks the check value, the type, the zero bytes, the flags, and the bounds that hold without knowing the
 * plan: DATA, WANT and BAD start on a block border, they and ACK are no longer than a block, FAIL's text is
 * at most LIMIT_TEXT bytes. ERROR_PROTOCOL. */
int chunk_decode(struct chunk *chunk, const uint8_t in[CHUNK_HEADER_SIZE], struct error *err);

/* Whether `chunk` is exactly one block of a file of `size` bytes. */
int chunk_is_block_of(const struct chunk *chunk, uint64_t size);

/* The trailer of DATA: the hash, and ERROR_NONE or why the payload is void. */
void chunk_trailer_encode(const uint8_t hash[HASH_SIZE], enum error_code status,
                          uint8_t out[CHUNK_TRAILER_SIZE]);
int chunk_trailer_decode(uint8_t hash[HASH_SIZE], enum error_code *status,
                         const uint8_t in[CHUNK_TRAILER_SIZE], struct error *err);

#endif
