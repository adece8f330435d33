/* Framing of control messages: 8 bytes of header, then JSON text (docs/protocol.md, section 4).
 *
 * Reading: collect FRAME_HEADER_SIZE bytes, frame_decode() them to learn the length (already checked against
 * LIMIT_FRAME, so it is safe to allocate), collect that many bytes, frame_check() them. Pure, any thread. */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include "proto/error.h"

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_SIZE 8

struct frame {
    uint32_t length;
    uint32_t check;
};

/* Fills the header for `length` bytes of text; length must be 2 to LIMIT_FRAME. */
void frame_encode(const char *text, size_t length, uint8_t out[FRAME_HEADER_SIZE]);

int frame_decode(struct frame *frame, const uint8_t in[FRAME_HEADER_SIZE], struct error *err);

/* Whether `text` (frame->length bytes) has the check value. */
int frame_check(const struct frame *frame, const char *text, struct error *err);

#endif
