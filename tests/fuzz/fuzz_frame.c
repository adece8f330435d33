/* A stream of control frames, read as the programs do: header, length, text, check value, message. A frame
 * with a wrong check value is tried with the right one, too. */
#include "message_check.h"

#include "proto/bytes.h"
#include "proto/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error err;
    struct frame frame;
    while (length >= FRAME_HEADER_SIZE && frame_decode(&frame, bytes, &err) == 0) {
        must_hold(frame.length >= 2 && frame.length <= LIMIT_FRAME);
        bytes += FRAME_HEADER_SIZE;
        length -= FRAME_HEADER_SIZE;
        if (length < frame.length)
            return 0;
        const char *text = (const char *)bytes;
        if (frame_check(&frame, text, &err) < 0)
            frame.check = fnv1a_32(text, frame.length);
        must_hold(frame_check(&frame, text, &err) == 0);
        try_message(text, frame.length);
        bytes += frame.length;
        length -= frame.length;
    }
    return 0;
}
