/* Keeps some blocks asked for ahead, so that the server never waits for a question, and takes the answers in
 * order. */
#include "client/stream_moves.h"

#include "common/clock.h"

#include <string.h>

/* Asked for and not answered: enough to bridge a round trip, little enough that a slow stream does not hold
 * much back. */
#define AHEAD_BYTES  (2 * BLOCK_SIZE)
#define AHEAD_BLOCKS 1024
#define LOOK_MS      100

static uint64_t length_of(const struct client_stream *s, const struct work_item *item)
{
    return block_length(s->job->plan->files[item->file].size, item->block);
}

static int ask(struct client_stream *s, const struct work_item *item, struct error *err)
{
    struct chunk want = {.type = CHUNK_WANT,
                         .file = s->job->numbers[item->file],
                         .offset = item->block * BLOCK_SIZE,
                         .length = length_of(s, item)};
    s->wanted_bytes += want.length;
    return wire_put_chunk(&s->wire, &want, err);
}

/* Asks for as much as may be under way. *state is that of the queue at the end. */
static int ask_ahead(struct client_stream *s, enum work_state *state, struct error *err)
{
    for (;;) {
        struct work_item item;
        size_t asked = work_under_way(s->job->work, s->stream.number);
        if (asked > 0 && (s->wanted_bytes >= AHEAD_BYTES || asked >= AHEAD_BLOCKS)) {
            *state = WORK_ITEM;
            return 0;
        }
        uint64_t lap = clock_ns();
        *state = work_take(s->job->work, s->stream.number, &item, asked > 0 ? 0 : LOOK_MS);
        s->activity.idle_ns += asked > 0 ? 0 : clock_lap(&lap);
        if (*state != WORK_ITEM)
            return 0;
        if (ask(s, &item, err) < 0)
            return -1;
    }
}

static void note(struct client_stream *s, const struct work_item *item, enum error_code code,
                 const char *what)
{
    struct error error;
    error_set(&error, code, "block %llu of '%s' %s", (unsigned long long)item->block,
              s->job->plan->files[item->file].path, what);
    work_note(s->job->work, s->stream.number, item, &error);
}

static int take_data(struct client_stream *s, const struct chunk *chunk, const struct work_item *item,
                     struct error *err)
{
    struct chunk local = *chunk;
    struct error trouble = {0};
    enum receiver_answer answer;
    uint8_t hash[HASH_SIZE];
    local.file = item->file;
    if (receiver_block(&s->receiver, &local, &answer, hash, &trouble, err) < 0)
        return -1;
    switch (answer) {
    case RECEIVER_STORED:
        break;
    case RECEIVER_BAD:
        note(s, item, ERROR_CORRUPT, "does not match its hash: it is damaged on the server");
        break;
    case RECEIVER_VOID:
        note(s, item, ERROR_FILE,
             trouble.code == ERROR_CHANGED ? "cannot be had: the file changed on the server"
                                           : "cannot be read on the server");
        break;
    case RECEIVER_FAILED:
        if (trouble.code == ERROR_NO_SPACE) {
            *err = trouble;
            return -1;
        }
        work_note(s->job->work, s->stream.number, item, &trouble);
        break;
    }
    return 0;
}

static int take_failure(struct client_stream *s, const struct chunk *fail, const struct work_item *item,
                        struct error *err)
{
    struct error failure;
    if (client_stream_read_failure(s, fail, &failure, err) < 0)
        return -1;
    struct error error;
    error_set(&error, ERROR_FILE, "the server: %s", failure.text);
    work_note(s->job->work, s->stream.number, item, &error);
    return 0;
}

/* Reads the answer to the oldest question. */
static int take_answer(struct client_stream *s, struct error *err)
{
    struct chunk chunk;
    struct work_item item;
    if (wire_read_chunk(&s->wire, &chunk, err) < 0)
        return -1;
    bool answers = work_oldest(s->job->work, s->stream.number, &item) &&
                   chunk.file == s->job->numbers[item.file] && chunk.offset == item.block * BLOCK_SIZE;
    if (!answers || (chunk.type == CHUNK_DATA && chunk.length != length_of(s, &item)))
        return error_set(err, ERROR_PROTOCOL, "the server sent a block that was not asked for");
    int result = -1;
    if (chunk.type == CHUNK_DATA)
        result = take_data(s, &chunk, &item, err);
    else if (chunk.type == CHUNK_FAIL)
        result = take_failure(s, &chunk, &item, err);
    else
        error_set(err, ERROR_PROTOCOL, "the server sent a header of type %d in a pull", chunk.type);
    if (result < 0)
        return -1;
    s->wanted_bytes -= length_of(s, &item);
    (void)work_answer(s->job->work, s->stream.number, 1);
    s->answered++;
    atomic_fetch_add_explicit(&s->moved, 1, memory_order_relaxed);
    return 0;
}

int pull_stream_move(struct client_stream *s, struct error *err)
{
    s->wanted_bytes = 0;
    for (;;) {
        enum work_state state;
        if (ask_ahead(s, &state, err) < 0)
            return -1;
        if (stream_is_stopped(&s->stream))
            return error_set(err, ERROR_INTERRUPTED, "stopped");
        if (work_under_way(s->job->work, s->stream.number) > 0) {
            if (wire_flush(&s->wire, false, err) < 0 || take_answer(s, err) < 0)
                return -1;
        } else if (state == WORK_DONE) {
            return client_stream_end(s, err);
        }
    }
}
