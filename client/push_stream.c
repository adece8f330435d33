/* Sends block after block and reads acknowledgements in between; it never waits for one while it has
 * something to send. */
#include "client/stream_moves.h"

#include "common/clock.h"
#include "common/fdio.h"

#include <errno.h>
#include <fcntl.h>

/* How long a stream without work looks for an answer before it asks the queue again. */
#define LOOK_MS 100

static int open_source(struct client_stream *s, uint32_t file, struct error *trouble)
{
    const struct file_entry *entry = &s->job->plan->files[file];
    if (s->fd >= 0 && s->file == file)
        return 0;
    fdio_drop(&s->fd);
    s->file = file;
    s->fd = fdio_openat(s->job->folder, entry->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (s->fd < 0)
        return error_set_sys(trouble, ERROR_FILE, errno, "cannot open '%s'", entry->path);
    sender_advise(s->fd, entry->size);
    return 0;
}

/* Sends a block; what is wrong with the source is noted for when the block is answered. */
static int send_block(struct client_stream *s, const struct work_item *item, struct error *err)
{
    struct error trouble = {0};
    uint8_t hash[HASH_SIZE];
    if (open_source(s, item->file, &trouble) < 0)
        fdio_drop(&s->fd);
    int result = sender_block(&s->sender, s->fd, &s->job->plan->files[item->file], item->file, item->block,
                              NULL, hash, &trouble, err);
    if (trouble.code != ERROR_NONE)
        work_note(s->job->work, s->stream.number, item, &trouble);
    atomic_fetch_add_explicit(&s->moved, 1, memory_order_relaxed);
    return result;
}

/* More blocks, or more of the block after them: both are signs of life. */
static int take_ack(struct client_stream *s, const struct chunk *ack, struct error *err)
{
    uint64_t blocks = ack->offset - s->acknowledged;
    bool says_more = ack->offset > s->acknowledged || (blocks == 0 && ack->length > s->arrived);
    if (!says_more || (blocks > 0 && !work_answer(s->job->work, s->stream.number, blocks)))
        return error_set(err, ERROR_PROTOCOL, "the server acknowledged what was not sent");
    s->answered += blocks;
    s->acknowledged = ack->offset;
    s->arrived = ack->length;
    atomic_fetch_add_explicit(&s->moved, 1, memory_order_relaxed);
    return 0;
}

static int take_bad(struct client_stream *s, const struct chunk *bad)
{
    struct work_item item = {bad->file, bad->offset / BLOCK_SIZE};
    struct error error;
    if (bad->file >= s->job->plan->count)
        return 0;
    error_set(&error, ERROR_CORRUPT, "block %llu of '%s' arrived damaged twice",
              (unsigned long long)item.block, s->job->plan->files[item.file].path);
    work_note(s->job->work, s->stream.number, &item, &error);
    return 0;
}

static int take_failure(struct client_stream *s, const struct chunk *fail, struct error *err)
{
    struct work_item item = {fail->file, fail->offset / BLOCK_SIZE};
    struct error failure;
    if (client_stream_read_failure(s, fail, &failure, err) < 0)
        return -1;
    if (failure.code == ERROR_NO_SPACE || failure.code == ERROR_UNAVAILABLE)
        return error_set(err, failure.code, "the server: %s", failure.text);
    struct error error;
    error_set(&error, ERROR_FILE, "the server: %s", failure.text);
    work_note(s->job->work, s->stream.number, &item, &error);
    return 0;
}

/* Takes what the server has said; waits up to wait_ms for the first of it. */
static int take_answers(struct client_stream *s, int wait_ms, struct error *err)
{
    int there;
    while ((there = wire_is_readable(&s->wire, wait_ms, err)) > 0) {
        struct chunk chunk;
        int result = wire_read_chunk(&s->wire, &chunk, err);
        wait_ms = 0;
        if (result == 0 && chunk.type == CHUNK_ACK)
            result = take_ack(s, &chunk, err);
        else if (result == 0 && chunk.type == CHUNK_BAD)
            result = take_bad(s, &chunk);
        else if (result == 0 && chunk.type == CHUNK_FAIL)
            result = take_failure(s, &chunk, err);
        else if (result == 0)
            result =
                error_set(err, ERROR_PROTOCOL, "the server sent a header of type %d in a push", chunk.type);
        if (result < 0)
            return -1;
    }
    return there;
}

int push_stream_move(struct client_stream *s, struct error *err)
{
    s->acknowledged = s->arrived = 0;
    for (;;) {
        struct work_item item;
        bool waits = work_under_way(s->job->work, s->stream.number) > 0;
        uint64_t lap = clock_ns();
        enum work_state state = work_take(s->job->work, s->stream.number, &item, waits ? 0 : LOOK_MS);
        if (state == WORK_ITEM) {
            if (send_block(s, &item, err) < 0 || take_answers(s, 0, err) < 0)
                return -1;
            continue;
        }
        if (stream_is_stopped(&s->stream))
            return error_set(err, ERROR_INTERRUPTED, "stopped");
        if (state == WORK_DONE && !waits)
            return client_stream_end(s, err);
        if (wire_flush(&s->wire, false, err) < 0 || take_answers(s, LOOK_MS, err) < 0)
            return -1;
        s->activity.idle_ns += waits ? 0 : clock_lap(&lap);
    }
}
