/* One buffer grows until it is handed over; then it belongs to its write. */
#include "server/outbox.h"

#include "proto/frame.h"

#include <stdlib.h>
#include <string.h>

/* Frames that leave with one write. */
struct outbox_batch {
    uv_write_t write;
    struct outbox *outbox;
    char *bytes;
    size_t used, capacity;
};

static void batch_free(struct outbox_batch *batch)
{
    if (batch)
        free(batch->bytes);
    free(batch);
}

void outbox_init(struct outbox *outbox, uv_stream_t *stream, void (*on_written)(void *context, int status),
                 void *context)
{
    *outbox = (struct outbox){stream, on_written, context, NULL};
}

void outbox_release(struct outbox *outbox)
{
    batch_free(outbox->batch);
    outbox->batch = NULL;
}

static void append(struct outbox_batch *batch, const void *bytes, size_t length)
{
    if (batch->capacity - batch->used < length) {
        batch->capacity = 2 * batch->used + length;
        batch->bytes = realloc(batch->bytes, batch->capacity);
        if (!batch->bytes)
            abort();
    }
    memcpy(batch->bytes + batch->used, bytes, length);
    batch->used += length;
}

size_t outbox_add(struct outbox *outbox, const struct message *message)
{
    size_t length;
    uint8_t header[FRAME_HEADER_SIZE];
    if (!outbox->batch && !(outbox->batch = calloc(1, sizeof *outbox->batch)))
        abort();
    char *text = message_encode(message, &length);
    frame_encode(text, length, header);
    append(outbox->batch, header, sizeof header);
    append(outbox->batch, text, length);
    free(text);
    return outbox->batch->used;
}

static void on_write_done(uv_write_t *write, int status)
{
    struct outbox_batch *batch = write->data;
    struct outbox *outbox = batch->outbox;
    batch_free(batch);
    outbox->on_written(outbox->context, status);
}

int outbox_flush(struct outbox *outbox)
{
    struct outbox_batch *batch = outbox->batch;
    if (!batch)
        return 0;
    outbox->batch = NULL;
    batch->outbox = outbox;
    batch->write.data = batch;
    uv_buf_t buffer = uv_buf_init(batch->bytes, (unsigned)batch->used);
    if (uv_write(&batch->write, outbox->stream, &buffer, 1, on_write_done) == 0)
        return 0;
    batch_free(batch);
    return -1;
}

size_t outbox_queued(const struct outbox *outbox)
{
    return uv_stream_get_write_queue_size(outbox->stream);
}
