/* What a hash is held against, and what follows from it, is the visitor's. */
#include "common/block_pass.h"

#include "common/digest.h"
#include "common/fdio.h"
#include "common/sender.h"

#include <assert.h>
#include <stdlib.h>

bool block_pass(int fd, uint64_t size, uint64_t count, const uint8_t *wanted, block_visitor *visit,
                void *context)
{
    uint8_t hash[HASH_SIZE], *buffer = malloc(size < BLOCK_SIZE ? size + 1 : BLOCK_SIZE);
    bool goes_on = true;
    assert(count <= block_count(size));
    if (!buffer)
        abort();
    sender_advise(fd, size);
    for (uint64_t b = 0; goes_on && b < count; b++) {
        if (wanted && !wanted[b])
            continue;
        size_t length = (size_t)block_length(size, b);
        bool whole = fdio_pread(fd, buffer, length, b * BLOCK_SIZE) == (ssize_t)length;
        if (whole)
            digest_block(buffer, length, hash);
        goes_on = visit(context, b, whole ? hash : NULL);
    }
    free(buffer);
    return goes_on;
}
