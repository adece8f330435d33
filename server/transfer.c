/* A stream thread is a loop over chunk headers. In a push it receives and acknowledges; in a pull it sends
 * what was asked for. */
#include "server/transfer.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/receiver.h"
#include "common/sender.h"
#include "common/socket.h"
#include "common/stream.h"
#include "common/wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct transfer_stream {
    struct stream stream; /* first: the mail is the stream */
    struct transfer *transfer;
    struct transfer_stream *next;
    _Atomic uint64_t payload_bytes, hashed_bytes;
    struct activity activity;
};

struct transfer {
    struct transfer_owner owner;
    void (*run)(struct stream *stream);
    struct staging *staging;
    const struct listing *plan;
    struct version *version;
    struct disk *disk; /* that the version is on */
    struct transfer_stream *streams;
    unsigned active;
    bool stopping;
    uint64_t ended_payload, ended_hashed; /* of streams that are gone */
    struct activity ended[LIMIT_STREAMS]; /* by number */
};

/* -- push: receive -- */

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

static int report_failure(struct wire *wire, const struct chunk *chunk, const struct error *trouble,
                          struct error *err)
{
    struct chunk fail = {.type = CHUNK_FAIL,
                         .flags = (uint8_t)trouble->code,
                         .file = chunk->file,
                         .offset = chunk->offset,
                         .length = strnlen(trouble->text, LIMIT_TEXT)};
    if (wire_put_chunk(wire, &fail, err) < 0)
        return -1;
    return wire_put(wire, trouble->text, (size_t)fail.length, err);
}

static int take_block(struct push_stream *p, const struct chunk *chunk, struct error *err)
{
    const struct listing *plan = p->own->transfer->plan;
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
    return answer == RECEIVER_FAILED ? report_failure(&p->wire, chunk, &trouble, err) : 0;
}

static int answer_end(struct wire *wire, uint64_t bytes, bool sendfile, struct error *err)
{
    struct chunk end = {.type = CHUNK_END, .flags = sendfile ? CHUNK_END_SENDFILE : 0, .offset = bytes};
    return wire_put_chunk(wire, &end, err) < 0 ? -1 : wire_flush(wire, false, err);
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
            return acknowledge(p, err) < 0 ? -1 : answer_end(&p->wire, p->receiver.payload_bytes, false, err);
        if (chunk.type != CHUNK_DATA)
            return error_set(err, ERROR_PROTOCOL, "the client sent a header of type %d in a push",
                             chunk.type);
        if (take_block(p, &chunk, err) < 0)
            return -1;
        count_bytes(p);
    }
}

/* The last of a stream: what its connection did becomes what the stream did. */
static void end_wire(struct transfer_stream *own, struct wire *wire)
{
    activity_add(&own->activity, &wire->activity);
    activity_add_socket(&own->activity, wire->fd);
    own->activity.bytes = own->payload_bytes;
    wire_release(wire);
    activity_end(&own->activity);
}

static void push_stream_run(struct stream *stream)
{
    struct push_stream p = {.own = (struct transfer_stream *)stream, .acknowledged_ms = clock_ms()};
    activity_begin(&p.own->activity);
    wire_init(&p.wire, stream->fd);
    receiver_init(&p.receiver, &p.wire, p.own->transfer->staging);
    p.receiver.on_piece = on_piece;
    (void)push_stream_loop(&p, &stream->error);
    receiver_release(&p.receiver);
    end_wire(p.own, &p.wire);
}

/* -- pull: send -- */

struct pull_stream {
    struct transfer_stream *own;
    struct version *version;
    struct wire wire;
    struct sender sender;
    int fd; /* of `file` */
    uint32_t file;
};

static int open_wanted(struct pull_stream *p, uint32_t file, struct error *trouble)
{
    if (p->fd >= 0 && p->file == file)
        return 0;
    fdio_drop(&p->fd);
    p->file = file;
    p->fd = version_open_file(p->version, file);
    if (p->fd < 0)
        return error_set_sys(trouble, ERROR_FILE, errno, "cannot open '%s' on the server",
                             p->version->manifest.listing.files[file].path);
    return 0;
}

static int give_block(struct pull_stream *p, const struct chunk *want, struct error *err)
{
    const struct listing *files = &p->version->manifest.listing;
    struct error trouble = {0};
    uint8_t hash[HASH_SIZE];
    uint64_t block = want->offset / BLOCK_SIZE;
    if (want->file >= files->count || !chunk_is_block_of(want, files->files[want->file].size))
        return error_set(err, ERROR_PROTOCOL, "the client asked for a block that is not in the listing");
    if (open_wanted(p, want->file, &trouble) < 0)
        return report_failure(&p->wire, want, &trouble, err);
    struct file_entry entry = version_disk_entry(p->version, want->file);
    const uint8_t *known = version_hash(p->version, want->file, block);
    if (sender_block(&p->sender, p->fd, &entry, want->file, block, known, hash, &trouble, err) < 0)
        return -1;
    if (trouble.code != ERROR_NONE)
        log_warn("%s: %s", p->version->id, trouble.text);
    else if (!known)
        version_learn(p->version, want->file, block, hash);
    return 0;
}

static int pull_stream_loop(struct pull_stream *p, struct error *err)
{
    struct chunk chunk;
    for (;;) {
        if (wire_buffered(&p->wire) < CHUNK_HEADER_SIZE && wire_flush(&p->wire, false, err) < 0)
            return -1;
        if (wire_read_chunk(&p->wire, &chunk, err) < 0)
            return -1;
        if (chunk.type == CHUNK_END)
            return answer_end(&p->wire, p->sender.payload_bytes, p->sender.sendfile_bytes > 0, err);
        if (chunk.type != CHUNK_WANT)
            return error_set(err, ERROR_PROTOCOL, "the client sent a header of type %d in a pull",
                             chunk.type);
        if (give_block(p, &chunk, err) < 0)
            return -1;
        atomic_store_explicit(&p->own->payload_bytes, p->sender.payload_bytes, memory_order_relaxed);
        atomic_store_explicit(&p->own->hashed_bytes, p->sender.hashed_bytes, memory_order_relaxed);
    }
}

static void pull_stream_run(struct stream *stream)
{
    struct pull_stream p = {.own = (struct transfer_stream *)stream, .fd = -1};
    p.version = p.own->transfer->version;
    activity_begin(&p.own->activity);
    wire_init(&p.wire, stream->fd);
    sender_init(&p.sender, &p.wire);
    p.sender.disk = p.own->transfer->disk;
    (void)pull_stream_loop(&p, &stream->error);
    fdio_drop(&p.fd);
    sender_release(&p.sender);
    end_wire(p.own, &p.wire);
}

/* -- the loop's side -- */

static struct transfer *create(const struct transfer_owner *owner, void (*run)(struct stream *))
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer)
        abort();
    transfer->owner = *owner;
    transfer->run = run;
    return transfer;
}

struct transfer *transfer_create_push(struct staging *staging, const struct listing *plan,
                                      const struct transfer_owner *owner)
{
    struct transfer *transfer = create(owner, push_stream_run);
    transfer->staging = staging;
    transfer->plan = plan;
    return transfer;
}

struct transfer *transfer_create_pull(struct version *version, struct disk *disk,
                                      const struct transfer_owner *owner)
{
    struct transfer *transfer = create(owner, pull_stream_run);
    transfer->version = version;
    transfer->disk = disk;
    return transfer;
}

int transfer_add(struct transfer *transfer, unsigned number, int fd, struct mailbox *mailbox,
                 struct error *err)
{
    struct transfer_stream *added = calloc(1, sizeof *added);
    if (!added)
        abort();
    added->transfer = transfer;
    if (stream_start(&added->stream, number, fd, transfer->run, mailbox, err) < 0) {
        free(added);
        return -1;
    }
    added->next = transfer->streams;
    transfer->streams = added;
    transfer->active++;
    return 0;
}

static void unlink_stream(struct transfer *transfer, struct transfer_stream *ended)
{
    struct transfer_stream **at = &transfer->streams;
    while (*at != ended)
        at = &(*at)->next;
    *at = ended->next;
    transfer->active--;
}

void transfer_on_mail(struct mail *mail)
{
    struct transfer_stream *ended = (struct transfer_stream *)mail;
    struct transfer *transfer = ended->transfer;
    stream_join(&ended->stream);
    unlink_stream(transfer, ended);
    transfer->ended_payload += ended->payload_bytes;
    transfer->ended_hashed += ended->hashed_bytes;
    activity_add(&transfer->ended[ended->stream.number], &ended->activity);
    if (ended->stream.error.code == ERROR_PROTOCOL)
        log_warn("data stream %u: %s", ended->stream.number, ended->stream.error.text);
    else
        log_debug("data stream %u ended after %llu bytes: %s", ended->stream.number,
                  (unsigned long long)ended->payload_bytes,
                  ended->stream.error.code == ERROR_NONE ? "done" : ended->stream.error.text);
    free(ended);
    transfer->owner.on_stream_ended(transfer->owner.context);
    if (transfer->stopping && transfer->active == 0)
        transfer->owner.on_idle(transfer->owner.context);
}

void transfer_stop(struct transfer *transfer)
{
    if (transfer->stopping)
        return;
    transfer->stopping = true;
    for (struct transfer_stream *s = transfer->streams; s; s = s->next)
        stream_stop(&s->stream);
    if (transfer->active == 0)
        transfer->owner.on_idle(transfer->owner.context);
}

void transfer_destroy(struct transfer **transfer)
{
    assert(!*transfer || (*transfer)->active == 0);
    free(*transfer);
    *transfer = NULL;
}

const struct activity *transfer_activity(const struct transfer *transfer, unsigned number)
{
    return transfer->ended[number].wall_ns > 0 ? &transfer->ended[number] : NULL;
}

uint64_t transfer_bytes(struct transfer *transfer)
{
    uint64_t bytes = transfer->ended_payload;
    for (struct transfer_stream *s = transfer->streams; s; s = s->next)
        bytes += atomic_load_explicit(&s->payload_bytes, memory_order_relaxed);
    return bytes;
}

uint64_t transfer_hashed_bytes(struct transfer *transfer)
{
    uint64_t bytes = transfer->ended_hashed;
    for (struct transfer_stream *s = transfer->streams; s; s = s->next)
        bytes += atomic_load_explicit(&s->hashed_bytes, memory_order_relaxed);
    return bytes;
}
