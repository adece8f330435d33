/* A stream thread for each connection, as in a transfer; the loop keeps the session alive meanwhile, and ends
 * the streams when the server or the user is gone, or when one of them moves nothing for too long. */
#include "client/bench_link.h"

#include "client/control.h"
#include "client/stream_moves.h"
#include "client/transfer.h"
#include "common/clock.h"
#include "common/link_load.h"
#include "common/socket.h"
#include "common/stream.h"

#include <stdlib.h>
#include <string.h>

/* Blocks asked for and not come: as many as a pull keeps. */
#define AHEAD 2

#define WATCH_MS 100

struct lane {
    struct stream stream; /* first: the mail is the stream */
    struct bench *bench;
    bool joined;
    bool given_up; /* it waited for a slot when all others had ended */
    atomic_bool connected;
    struct wire wire;
    struct link_load load;
    uint64_t bytes, begun_ns, ended_ns; /* after the join; 0 where it never got a connection */
};

struct bench {
    struct control *control;
    bool up;
    uint64_t blocks;           /* for each lane */
    _Atomic uint64_t begun_ns; /* by the first lane; 0 before */
    _Atomic uint64_t moved;    /* bytes over all lanes */
    uint64_t seen, seen_ns;    /* of them at the last look, and when that was another number */
    unsigned count, active;
    struct lane *lanes;
    struct mailbox *mailbox;
    uv_timer_t watch;
};

/* -- in the threads -- */

static bool goes_on(const struct lane *lane, uint64_t blocks)
{
    const struct bench *b = lane->bench;
    return blocks < b->blocks && clock_ns() - b->begun_ns < BENCH_LINK_MS * UINT64_C(1000000) &&
           !stream_is_stopped(&lane->stream);
}

static int send_blocks(struct lane *lane, struct error *err)
{
    for (uint64_t sent = 0; goes_on(lane, sent); sent++) {
        if (link_load_send(&lane->load, err) < 0)
            return -1;
        lane->bench->moved += BLOCK_SIZE;
    }
    return 0;
}

static int receive_blocks(struct lane *lane, struct error *err)
{
    struct chunk want = {.type = CHUNK_WANT, .length = BLOCK_SIZE}, chunk;
    uint64_t asked = 0;
    for (uint64_t received = 0;; received++) {
        for (; asked - received < AHEAD && goes_on(lane, asked); asked++)
            if (wire_put_chunk(&lane->wire, &want, err) < 0)
                return -1;
        if (asked == received)
            return 0;
        if (wire_flush(&lane->wire, false, err) < 0 || wire_read_chunk(&lane->wire, &chunk, err) < 0 ||
            link_load_receive(&lane->load, &chunk, err) < 0)
            return -1;
        lane->bench->moved += chunk.length;
    }
}

/* What was sent counts when the server says that it has come. */
static int move(struct lane *lane, struct error *err)
{
    struct chunk end;
    if ((lane->bench->up ? send_blocks(lane, err) : receive_blocks(lane, err)) < 0 ||
        client_wire_end(&lane->wire, &end, err) < 0)
        return -1;
    lane->bytes = lane->bench->up ? end.offset : lane->load.bytes;
    lane->ended_ns = clock_ns();
    return 0;
}

static int open_connection(struct lane *lane, struct error *err)
{
    const struct control *control = lane->bench->control;
    int fd = socket_connect(&control->server, control->timeout_s, SOCKET_DATA, -1, err);
    if (fd < 0)
        return -1;
    stream_set_fd(&lane->stream, fd);
    return control_hello_stream(fd, control->session, control->has_session_key ? control->session_key : NULL,
                                lane->stream.number, err);
}

static void lane_run(struct stream *stream)
{
    struct lane *lane = (struct lane *)stream;
    uint64_t never = 0;
    if (open_connection(lane, &stream->error) < 0)
        return;
    lane->begun_ns = clock_ns();
    (void)atomic_compare_exchange_strong(&lane->bench->begun_ns, &never, lane->begun_ns);
    lane->connected = true;
    wire_init(&lane->wire, stream->fd);
    if (link_load_init(&lane->load, &lane->wire, &stream->error) == 0) {
        (void)move(lane, &stream->error);
        link_load_release(&lane->load);
    }
    wire_release(&lane->wire);
}

/* -- on the loop -- */

static void stop(struct bench *b)
{
    for (unsigned i = 0; i < b->count; i++)
        if (!b->lanes[i].joined)
            stream_stop(&b->lanes[i].stream);
}

static bool all_wait(const struct bench *b)
{
    for (unsigned i = 0; i < b->count; i++)
        if (!b->lanes[i].joined && b->lanes[i].connected)
            return false;
    return true;
}

/* Who still waits for a slot when the others have ended is not waited for: it carries nothing. */
static void on_lane_mail(void *context, struct mail *mail)
{
    struct bench *b = context;
    struct lane *ended = (struct lane *)mail;
    stream_join(&ended->stream);
    ended->joined = true;
    b->active--;
    if (ended->connected && all_wait(b)) {
        for (unsigned i = 0; i < b->count; i++)
            b->lanes[i].given_up |= !b->lanes[i].joined;
        stop(b);
    }
}

static void on_watch(uv_timer_t *timer)
{
    struct bench *b = timer->data;
    uint64_t moved = b->moved, now = clock_ns();
    if (moved != b->seen) {
        b->seen = moved;
        b->seen_ns = now;
        control_note_life(b->control);
    } else if (now - b->seen_ns >= b->control->timeout_s * UINT64_C(1000000000)) {
        stop(b);
    }
}

static int start(struct bench *b, struct error *err)
{
    for (unsigned i = 0; i < b->count; i++) {
        struct lane *lane = &b->lanes[i];
        lane->bench = b;
        lane->joined = true;
        if (stream_start(&lane->stream, i, -1, lane_run, b->mailbox, err) < 0)
            return -1;
        lane->joined = false;
        b->active++;
    }
    return 0;
}

/* Until no thread is left. A message is out of place while the link is measured. */
static int watch(struct bench *b, int result, struct error *err)
{
    if (result < 0)
        stop(b);
    while (b->active > 0) {
        struct message message;
        if (result < 0) {
            (void)uv_run(&b->control->loop, UV_RUN_ONCE);
            continue;
        }
        int there = control_wait(b->control, err) < 0 ? -1 : control_poll(b->control, &message, err);
        if (there > 0) {
            (void)control_unexpected(&message, err);
            message_release(&message);
        }
        if (there != 0) {
            result = -1;
            stop(b);
        }
    }
    return result;
}

/* The time runs from the first lane's first byte to the last one's last. */
static int collect(const struct bench *b, struct bench_rate *rate, struct error *err)
{
    uint64_t last = b->begun_ns;
    memset(rate, 0, sizeof *rate);
    for (unsigned i = 0; i < b->count; i++) {
        const struct lane *lane = &b->lanes[i];
        if (lane->stream.error.code != ERROR_NONE && !lane->given_up) {
            *err = lane->stream.error;
            return -1;
        }
        rate->bytes += lane->bytes;
        last = lane->ended_ns > last ? lane->ended_ns : last;
    }
    rate->ns = last - b->begun_ns;
    return 0;
}

/* In a session whose `link` request is ready. */
static int measure(struct bench *b, struct bench_rate *rate, struct error *err)
{
    b->lanes = calloc(b->count, sizeof *b->lanes);
    if (!b->lanes)
        abort();
    b->mailbox = mailbox_open(&b->control->loop, on_lane_mail, b);
    b->seen_ns = clock_ns();
    b->watch.data = b;
    (void)uv_timer_init(&b->control->loop, &b->watch);
    (void)uv_timer_start(&b->watch, on_watch, WATCH_MS, WATCH_MS);
    int result = watch(b, start(b, err), err);
    if (result == 0)
        result = collect(b, rate, err);
    uv_close((uv_handle_t *)&b->watch, NULL);
    mailbox_close(&b->mailbox);
    (void)uv_run(&b->control->loop, UV_RUN_NOWAIT); /* lets the closed handles go */
    free(b->lanes);
    return result;
}

static int say_done(struct control *control, struct error *err)
{
    struct report report = {0};
    struct message end;
    if (control_send_simple(control, MESSAGE_DONE, err) < 0 ||
        transfer_read_last(control, MESSAGE_END, &end, &report, err) < 0)
        return -1;
    message_release(&end);
    return 0;
}

int bench_link(const struct options *options, bool up, unsigned streams, uint64_t bytes,
               struct bench_rate *rate, struct error *err)
{
    struct control control;
    if (control_open(&control, options, err) < 0)
        return -1;
    struct bench b = {.control = &control,
                      .up = up,
                      .count = streams < control.max_streams ? streams : control.max_streams};
    b.blocks = bytes / BLOCK_SIZE / b.count + 1;
    int result = control_send_simple(&control, MESSAGE_LINK, err);
    if (result == 0)
        result = control_expect_simple(&control, MESSAGE_READY, err);
    if (result == 0)
        result = measure(&b, rate, err);
    if (result == 0)
        result = say_done(&control, err);
    control_close(&control);
    return result;
}
