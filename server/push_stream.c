/* A stream of a push: blocks come, are stored and acknowledged. */
#include "server/transfer_stream.h"

#include "common/clock.h"
#include "common/receiver.h"

/* How often a block that arrives slowly is spoken of; the page says at least every 2 s. */
#define ACK_EVERY_MS 1000

struct push_stream {
    struct receiver receiver; /* first: on_piece() gets it */
    struct transfer_stream *own;
    struct wire wire;
    uint64_t dealt_with, acknowledged, acknowledged_ms;
};

static int send_ack(struct push_stream *p, uint64_t arrived, struct error *err)
{
    struct chunk ack = {.type = CHUNK_ACK, .offset = p->dealt_with, .length = arrived};
    p->acknowledged = p->dealt_with;
    p->acknowledged_ms = clock_ms();
    return wire_put_chunk(&p->wire, &ack, err) < 0 ? -1 : wire_flush(&p->wire, false, err);
}

static int acknowledge(struct push_stream *p, struct error *err)
{
    return p->dealt_with == p->acknowledged ? 0 : send_ack(p, 0, err);
}

static void count_bytes(struct push_stream *p)
{
    atomic_store_explicit(&p->own->payload_bytes, p->receiver.payload_bytes, memory_order_relaxed);
    atomic_store_explicit(&p->own->hashed_bytes, p->receiver.hashed_bytes, memory_order_relaxed);
}

static int on_piece(struct receiver *receiver, uint64_t arrived, struct error *err)
{
    struct push_stream *p = (struct push_stream *)receiver;
    count_bytes(p);
    return clock_ms() - p->acknowledged_ms < ACK_EVERY_MS ? 0 : send_ack(p, arrived, err);
}

static int take_block(struct push_stream *p, const struct chunk *chunk, struct error *err)
{
    const struct listing *plan = p->own->job->plan;
    enum receiver_answer answer;
    uint8_t hash[HASH_SIZE];
    struct error trouble = {0};
    if (chunk->file >= plan->count || plan->files[chunk->file].from == FROM_LIVE ||
        !chunk_is_block_of(chunk, plan->files[chunk->file].size))
        return error_set(err, ERROR_PROTOCOL, "the client sent a block that is not in its plan");
    if (receiver_block(&p->receiver, chunk, &answer, hash, &trouble, err) < 0)
        return -1;
    p->dealt_with++;
    if (answer == RECEIVER_BAD) {
        struct chunk bad = *chunk;
        bad.type = CHUNK_BAD;
        return wire_put_chunk(&p->wire, &bad, err);
    }
    return answer == RECEIVER_FAILED ? transfer_stream_fail(&p->wire, chunk, &trouble, err) : 0;
}

/* What was received is acknowledged when nothing more lies ready, so that small files share an ACK. */
static int push_stream_loop(struct push_stream *p, struct error *err)
{
    struct chunk chunk;
    for (;;) {
        if (wire_buffered(&p->wire) < CHUNK_HEADER_SIZE && acknowledge(p, err) < 0)
            return -1;
        if (wire_read_chunk(&p->wire, &chunk, err) < 0)
            return -1;
        if (chunk.type == CHUNK_END)
            return acknowledge(p, err) < 0
                       ? -1
                       : transfer_stream_answer_end(&p->wire, p->receiver.payload_bytes, false, err);
        if (chunk.type != CHUNK_DATA)
            return error_set(err, ERROR_PROTOCOL, "the client sent a header of type %d in a push",
                             chunk.type);
        if (take_block(p, &chunk, err) < 0)
            return -1;
        count_bytes(p);
    }
}

void push_stream_run(struct stream *stream)
{
    struct push_stream p = {.own = (struct transfer_stream *)stream, .acknowledged_ms = clock_ms()};
    transfer_stream_begin(p.own, &p.wire);
    receiver_init(&p.receiver, &p.wire, p.own->job->staging);
    p.receiver.on_piece = on_piece;
    (void)push_stream_loop(&p, &stream->error);
    receiver_release(&p.receiver);
    transfer_stream_end(p.own, &p.wire);
}
