/* Chunk headers carry their own check value, because a damaged file number would put good bytes into the
 * wrong place where no block hash sees it. */
#include "proto/chunk.h"

#include "proto/bytes.h"

#include <string.h>

void chunk_encode(const struct chunk *chunk, uint8_t out[CHUNK_HEADER_SIZE])
{
    out[0] = (uint8_t)chunk->type;
    out[1] = chunk->flags;
    out[2] = out[3] = 0;
    put_le(out + 4, chunk->file, 4);
    put_le(out + 8, chunk->offset, 8);
    put_le(out + 16, chunk->length, 8);
    put_le(out + 24, fnv1a_64(out, 24), 8);
}

static int is_well_formed(const struct chunk *chunk)
{
    switch (chunk->type) {
    case CHUNK_DATA:
    case CHUNK_WANT:
    case CHUNK_BAD:
        return chunk->flags == 0 && chunk->offset % BLOCK_SIZE == 0 && chunk->offset <= LIMIT_SIZE &&
               chunk->length <= BLOCK_SIZE;
    case CHUNK_ACK:
        return chunk->flags == 0 && chunk->file == 0 && chunk->length <= BLOCK_SIZE;
    case CHUNK_FAIL:
        return chunk->flags != 0 && chunk->offset % BLOCK_SIZE == 0 && chunk->length <= LIMIT_TEXT;
    case CHUNK_END:
        return chunk->flags <= CHUNK_END_SENDFILE && chunk->file == 0 && chunk->length == 0;
    }
    return 0;
}

int chunk_decode(struct chunk *chunk, const uint8_t in[CHUNK_HEADER_SIZE], struct error *err)
{
    if (get_le(in + 24, 8) != fnv1a_64(in, 24))
        return error_set(err, ERROR_PROTOCOL, "a data header was damaged on the way");
    chunk->type = (enum chunk_type)in[0];
    chunk->flags = in[1];
    chunk->file = (uint32_t)get_le(in + 4, 4);
    chunk->offset = get_le(in + 8, 8);
    chunk->length = get_le(in + 16, 8);
    if (!is_zero(in + 2, 2) || !is_well_formed(chunk))
        return error_set(err, ERROR_PROTOCOL, "a data header of type %u breaks the protocol", in[0]);
    return 0;
}

int chunk_is_block_of(const struct chunk *chunk, uint64_t size)
{
    uint64_t index = chunk->offset / BLOCK_SIZE;
    return chunk->offset % BLOCK_SIZE == 0 && index < block_count(size) &&
           chunk->length == block_length(size, index);
}

void chunk_trailer_encode(const uint8_t hash[HASH_SIZE], enum error_code status,
                          uint8_t out[CHUNK_TRAILER_SIZE])
{
    memcpy(out, hash, HASH_SIZE);
    put_le(out + HASH_SIZE, status, 4);
    put_le(out + HASH_SIZE + 4, 0, 4);
}

int chunk_trailer_decode(uint8_t hash[HASH_SIZE], enum error_code *status,
                         const uint8_t in[CHUNK_TRAILER_SIZE], struct error *err)
{
    memcpy(hash, in, HASH_SIZE);
    uint64_t code = get_le(in + HASH_SIZE, 4);
    *status = code < ERROR_CODE_COUNT ? (enum error_code)code : ERROR_FAILED;
    if (!is_zero(in + HASH_SIZE + 4, 4))
        return error_set(err, ERROR_PROTOCOL, "the trailer of a block breaks the protocol");
    return 0;
}
