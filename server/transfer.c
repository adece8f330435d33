/* Streams of a transfer, from the loop's side: started, joined, counted; and what their threads have in
 * common. */
#include "server/transfer.h"

#include "common/log.h"
#include "server/transfer_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct transfer {
    struct transfer_owner owner;
    struct transfer_job job;
    struct transfer_stream *streams;
    unsigned active;
    bool stopping;
    struct activity ended[LIMIT_STREAMS]; /* of streams that are gone, by number */
    uint64_t ended_hashed;                /* by them */
};

/* -- in the threads -- */

void transfer_stream_begin(struct transfer_stream *stream, struct wire *wire)
{
    activity_begin(&stream->activity);
    wire_init(wire, stream->stream.fd);
}

void transfer_stream_end(struct transfer_stream *stream, struct wire *wire)
{
    activity_add(&stream->activity, &wire->activity);
    activity_add_socket(&stream->activity, wire->fd);
    stream->activity.bytes = stream->payload_bytes;
    wire_release(wire);
    activity_end(&stream->activity);
}

int transfer_stream_fail(struct wire *wire, const struct chunk *chunk, const struct error *trouble,
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

int transfer_stream_answer_end(struct wire *wire, uint64_t bytes, bool sendfile, struct error *err)
{
    struct chunk end = {.type = CHUNK_END, .flags = sendfile ? CHUNK_END_SENDFILE : 0, .offset = bytes};
    return wire_put_chunk(wire, &end, err) < 0 ? -1 : wire_flush(wire, false, err);
}

/* -- on the loop -- */

static struct transfer *create(const struct transfer_owner *owner, const struct transfer_job *job)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer)
        abort();
    transfer->owner = *owner;
    transfer->job = *job;
    return transfer;
}

struct transfer *transfer_create_push(struct staging *staging, const struct listing *plan,
                                      const struct transfer_owner *owner)
{
    struct transfer_job job = {.run = push_stream_run, .staging = staging, .plan = plan};
    return create(owner, &job);
}

struct transfer *transfer_create_pull(struct version *version, struct disk *disk,
                                      const struct transfer_owner *owner)
{
    struct transfer_job job = {.run = pull_stream_run, .version = version, .disk = disk};
    return create(owner, &job);
}

struct transfer *transfer_create_link(const struct transfer_owner *owner)
{
    struct transfer_job job = {.run = link_stream_run};
    return create(owner, &job);
}

int transfer_add(struct transfer *transfer, unsigned number, int fd, struct mailbox *mailbox,
                 struct error *err)
{
    struct transfer_stream *added = calloc(1, sizeof *added);
    if (!added)
        abort();
    added->transfer = transfer;
    added->job = &transfer->job;
    if (stream_start(&added->stream, number, fd, transfer->job.run, mailbox, err) < 0) {
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

unsigned transfer_active(const struct transfer *transfer)
{
    return transfer->active;
}

uint64_t transfer_bytes(struct transfer *transfer)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < LIMIT_STREAMS; i++)
        bytes += transfer->ended[i].bytes;
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
