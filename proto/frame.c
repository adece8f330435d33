/* Frame headers: a length that is refused before any memory is taken for it, and a check value. */
#include "proto/frame.h"

#include "proto/bytes.h"
#include "proto/limits.h"

#include <assert.h>

void frame_encode(const char *text, size_t length, uint8_t out[FRAME_HEADER_SIZE])
{
    assert(length >= 2 && length <= LIMIT_FRAME);
    put_le(out, length, 4);
    put_le(out + 4, fnv1a_32(text, length), 4);
}

int frame_decode(struct frame *frame, const uint8_t in[FRAME_HEADER_SIZE], struct error *err)
{
    frame->length = (uint32_t)get_le(in, 4);
    frame->check = (uint32_t)get_le(in + 4, 4);
    if (frame->length < 2 || frame->length > LIMIT_FRAME)
        return error_set(err, ERROR_PROTOCOL, "a control message of %u bytes is outside the limits",
                         frame->length);
    return 0;
}

int frame_check(const struct frame *frame, const char *text, struct error *err)
{
    if (fnv1a_32(text, frame->length) != frame->check)
        return error_set(err, ERROR_PROTOCOL, "a control message was damaged on the way");
    return 0;
}
