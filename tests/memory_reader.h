/* Bytes in memory as a struct model_reader, for unit tests and fuzz targets. It counts what is read of them.
 */
#ifndef TESTS_MEMORY_READER_H
#define TESTS_MEMORY_READER_H

#include "common/model_reader.h"

#include <string.h>

struct memory {
    const uint8_t *bytes;
    size_t length;
    uint64_t read_bytes, read_end; /* how many were read, and where the furthest ended */
};

static inline ssize_t memory_read(void *context, void *buffer, size_t length, uint64_t offset)
{
    struct memory *memory = context;
    size_t there = offset < memory->length ? memory->length - (size_t)offset : 0;
    size_t n = length < there ? length : there;
    if (n > 0)
        memcpy(buffer, memory->bytes + offset, n);
    memory->read_bytes += n;
    if (offset + n > memory->read_end)
        memory->read_end = offset + n;
    return (ssize_t)n;
}

/* A reader of `size` bytes, of which only those in memory can be read: for headers of files that would be
 * huge. */
static inline struct model_reader memory_reader(struct memory *memory, uint64_t size)
{
    return (struct model_reader){size, memory_read, memory};
}

#endif
