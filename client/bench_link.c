/* Connections first, then a thread for each, all at once; the control connection lives on meanwhile. */
#include "client/bench_link.h"

#include "client/control.h"
#include "client/interrupt.h"
#include "client/stream_moves.h"
#include "client/transfer.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "common/link_load.h"
#include "common/socket.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Blocks asked for and not come: as many as a pull keeps. */
#define AHEAD 2

struct lane {
    struct bench *bench;
    pthread_t thread;
    bool started;
    struct wire wire;
    struct link_load load;
    uint64_t bytes, ended_ns;
    struct error error;
};

struct bench {
    bool up;
    uint64_t blocks; /* for each lane */
    uint64_t begun_ns, deadline_ns;
    unsigned count;
    struct lane *lanes;
};

/* -- in the threads -- */

static bool goes_on(const struct lane *lane, uint64_t blocks)
{
    return blocks < lane->bench->blocks && clock_ns() < lane->bench->deadline_ns && !interrupt_is_set();
}

static int send_blocks(struct lane *lane)
{
    for (uint64_t sent = 0; goes_on(lane, sent); sent++)
        if (link_load_send(&lane->load, &lane->error) < 0)
            return -1;
    return 0;
}

static int receive_blocks(struct lane *lane)
{
    struct chunk want = {.type = CHUNK_WANT, .length = BLOCK_SIZE}, chunk;
    uint64_t asked = 0;
    for (uint64_t received = 0;; received++) {
        for (; asked - received < AHEAD && goes_on(lane, asked); asked++)
            if (wire_put_chunk(&lane->wire, &want, &lane->error) < 0)
                return -1;
        if (asked == received)
            return 0;
        if (wire_flush(&lane->wire, false, &lane->error) < 0 ||
            wire_read_chunk(&lane->wire, &chunk, &lane->error) < 0 ||
            link_load_receive(&lane->load, &chunk, &lane->error) < 0)
            return -1;
    }
}

/* What was sent counts when the server says that it has come. */
static void *lane_thread_main(void *context)
{
    struct lane *lane = context;
    struct chunk end;
    if ((lane->bench->up ? send_blocks(lane) : receive_blocks(lane)) == 0 &&
        client_wire_end(&lane->wire, &end, &lane->error) == 0)
        lane->bytes = lane->bench->up ? end.offset : lane->load.bytes;
    lane->ended_ns = clock_ns();
    return NULL;
}

/* -- in a worker of the control connection -- */

static void run_lanes(void *context)
{
    struct bench *b = context;
    b->begun_ns = clock_ns();
    b->deadline_ns = b->begun_ns + BENCH_LINK_MS * UINT64_C(1000000);
    for (unsigned i = 0; i < b->count; i++) {
        struct lane *lane = &b->lanes[i];
        int result = pthread_create(&lane->thread, NULL, lane_thread_main, lane);
        lane->started = result == 0;
        if (result != 0)
            error_set_sys(&lane->error, ERROR_FAILED, result, "cannot start a thread");
    }
    for (unsigned i = 0; i < b->count; i++)
        if (b->lanes[i].started)
            pthread_join(b->lanes[i].thread, NULL);
}

/* -- around it -- */

static int open_lane(struct lane *lane, const struct control *control, unsigned number, struct error *err)
{
    int fd = socket_connect(&control->server, control->timeout_s, true, interrupt_fd(), err);
    if (fd < 0)
        return -1;
    wire_init(&lane->wire, fd);
    if (control_hello_stream(fd, control->session, control->has_session_key ? control->session_key : NULL,
                             number, err) == 0 &&
        link_load_init(&lane->load, &lane->wire, err) == 0)
        return 0;
    wire_release(&lane->wire);
    fdio_drop(&fd);
    return -1;
}

static void close_lanes(struct bench *b)
{
    for (unsigned i = 0; i < b->count; i++) {
        struct lane *lane = &b->lanes[i];
        int fd = lane->wire.fd;
        link_load_release(&lane->load);
        wire_release(&lane->wire);
        fdio_drop(&fd);
    }
    free(b->lanes);
}

static int collect(const struct bench *b, struct bench_rate *rate, struct error *err)
{
    uint64_t last = b->begun_ns;
    memset(rate, 0, sizeof *rate);
    for (unsigned i = 0; i < b->count; i++) {
        const struct lane *lane = &b->lanes[i];
        if (lane->error.code != ERROR_NONE) {
            *err = lane->error;
            return -1;
        }
        rate->bytes += lane->bytes;
        last = lane->ended_ns > last ? lane->ended_ns : last;
    }
    rate->ns = last - b->begun_ns;
    return interrupt_check(err);
}

/* In a session whose `link` request is ready. */
static int measure(struct control *control, struct bench *b, unsigned streams, struct bench_rate *rate,
                   struct error *err)
{
    int result = 0;
    b->lanes = calloc(streams, sizeof *b->lanes);
    if (!b->lanes)
        abort();
    while (result == 0 && b->count < streams) {
        b->lanes[b->count].bench = b;
        result = open_lane(&b->lanes[b->count], control, b->count, err);
        b->count += result == 0;
    }
    if (result == 0)
        result = control_work(control, run_lanes, b, err);
    if (result == 0)
        result = collect(b, rate, err);
    close_lanes(b);
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
    unsigned count = streams < control.max_streams ? streams : control.max_streams;
    struct bench b = {.up = up, .blocks = bytes / BLOCK_SIZE / count + 1};
    int result = control_send_simple(&control, MESSAGE_LINK, err);
    if (result == 0)
        result = control_expect_simple(&control, MESSAGE_READY, err);
    if (result == 0)
        result = measure(&control, &b, count, rate, err);
    if (result == 0)
        result = say_done(&control, err);
    control_close(&control);
    return result;
}
