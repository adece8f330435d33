/* One end of a data connection: buffered reading, batched writing, on a blocking socket.
 *
 * Headers, trailers and small payloads are collected and leave together; a large payload goes around the
 * buffers (its sender flushes with `more`, so that header and data share packets). One thread uses a wire;
 * another may end it with shutdown() on the descriptor, upon which every call here fails.
 *
 * Errors are ERROR_LOST; a regular end of the stream too, with the text "the connection was closed". */
#ifndef COMMON_WIRE_H
#define COMMON_WIRE_H

#include "common/activity.h"
#include "proto/chunk.h"
#include "proto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reading ahead catches many small blocks with one call; larger payloads are read straight into place. */
#define WIRE_IN_SIZE ((size_t)64 << 10)
/* Writing: room for two of the largest payloads that are copied instead of sent by sendfile. */
#define WIRE_OUT_SIZE ((size_t)256 << 10)

struct wire {
    int fd; /* borrowed */
    uint8_t *in, *out;
    size_t in_start, in_end, out_used;
    struct activity activity; /* of this connection: time in its calls, to which others add theirs */
};

/* Over a connected, blocking socket. */
void wire_init(struct wire *wire, int fd);
void wire_release(struct wire *wire);

int wire_read(struct wire *wire, void *buffer, size_t length, struct error *err);

/* Whether a read of a header would not block. `wait_ms` > 0 waits that long for it. -1 when the connection is
 * gone. */
int wire_is_readable(struct wire *wire, int wait_ms, struct error *err);

/* Bytes that were read ahead. */
static inline size_t wire_buffered(const struct wire *wire)
{
    return wire->in_end - wire->in_start;
}

int wire_read_chunk(struct wire *wire, struct chunk *chunk, struct error *err);

/* Appends to the batch; flushes first if it does not fit. `length` is at most WIRE_OUT_SIZE. */
int wire_put(struct wire *wire, const void *bytes, size_t length, struct error *err);
int wire_put_chunk(struct wire *wire, const struct chunk *chunk, struct error *err);
/* Room of `length` bytes in the batch to be filled by the caller, flushed before if needed. wire_took() adds
 * what was filled. */
uint8_t *wire_room(struct wire *wire, size_t length, struct error *err);
void wire_took(struct wire *wire, size_t length);
int wire_flush(struct wire *wire, bool more, struct error *err);
/* Sends around the batch, which has to be flushed. */
int wire_send(struct wire *wire, const void *bytes, size_t length, bool more, struct error *err);

#endif
