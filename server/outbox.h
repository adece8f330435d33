/* Control messages on their way to a client: frames are collected and leave together with one write.
 *
 *   outbox_init() … outbox_add() … outbox_flush() …   outbox_release() when the stream is closed
 *
 * On the loop. Closing the stream ends writes that are under way, each still with a call of on_written(). */
#ifndef SERVER_OUTBOX_H
#define SERVER_OUTBOX_H

#include "proto/message.h"

#include <stddef.h>
#include <uv.h>

struct outbox_batch;

struct outbox {
    uv_stream_t *stream;
    void (*on_written)(void *context, int status); /* status as of uv_write_cb */
    void *context;
    struct outbox_batch *batch; /* not handed to the stream yet */
};

/* Stream and context are borrowed. */
void outbox_init(struct outbox *outbox, uv_stream_t *stream, void (*on_written)(void *context, int status),
                 void *context);
void outbox_release(struct outbox *outbox);

/* Encodes the message behind those that wait. Returns the bytes that are collected. */
size_t outbox_add(struct outbox *outbox, const struct message *message);

/* Hands what was collected to the stream; -1 if the stream takes nothing any more. */
int outbox_flush(struct outbox *outbox);

/* Bytes that the stream was handed and has not written. */
size_t outbox_queued(const struct outbox *outbox);

#endif
