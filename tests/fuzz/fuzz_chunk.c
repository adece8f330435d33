/* Data headers and trailers. The check value is made right first, so that what is behind it is reached. */
#include "target.h"

#include "proto/bytes.h"
#include "proto/chunk.h"

static void try_header(uint8_t header[CHUNK_HEADER_SIZE])
{
    uint8_t again[CHUNK_HEADER_SIZE];
    struct chunk chunk;
    struct error err;
    if (chunk_decode(&chunk, header, &err) < 0)
        return;
    must_hold(chunk.length <= BLOCK_SIZE);
    chunk_encode(&chunk, again);
    must_hold(memcmp(again, header, CHUNK_HEADER_SIZE) == 0);
    for (uint64_t size = 0; size < 4 * BLOCK_SIZE; size += BLOCK_SIZE - 1)
        if (chunk_is_block_of(&chunk, size))
            must_hold(chunk.offset <= size && chunk.length <= size - chunk.offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    uint8_t header[CHUNK_HEADER_SIZE], hash[HASH_SIZE];
    enum error_code status;
    struct error err;
    if (length < CHUNK_HEADER_SIZE)
        return 0;
    memcpy(header, bytes, sizeof header);
    try_header(header);
    put_le(header + 24, fnv1a_64(header, 24), 8);
    try_header(header);
    if (chunk_trailer_decode(hash, &status, bytes, &err) == 0)
        must_hold(status < ERROR_CODE_COUNT);
    return 0;
}
