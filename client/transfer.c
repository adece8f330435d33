/* The loop looks at the streams twice a second, or when one has ended, and decides when it is over. */
#include "client/transfer.h"

#include "client/interrupt.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "common/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define WATCH_MS 100
/* When all blocks are answered, a stream has this long to say good-bye. */
#define END_MS 2000

struct watched {
    struct client_stream stream; /* first: the mail is the stream */
    bool joined;
    uint64_t last_moved, last_moved_ms;
};

struct transfer {
    const struct transfer_setup *setup;
    struct watched *streams;
    unsigned count, active;
    struct mailbox *mailbox;
    uv_timer_t watch;
    uint64_t done_ms; /* when the queue was done, 0 before */
    uint64_t shown;   /* bytes, by the progress */
    bool stopping;
    struct error fatal;
};

static void stop_all(struct transfer *t)
{
    uint64_t one = 1;
    t->stopping = true;
    work_stop(t->setup->job->work);
    (void)fdio_write(t->setup->job->cancel_fd, &one, sizeof one);
    for (unsigned i = 0; i < t->count; i++)
        if (!t->streams[i].joined)
            stream_stop(&t->streams[i].stream.stream);
}

/* An error that no other stream can make good. */
static bool is_fatal(enum error_code code)
{
    return code != ERROR_NONE && code != ERROR_LOST && code != ERROR_CONNECT && code != ERROR_INTERRUPTED;
}

static void on_stream_mail(void *context, struct mail *mail)
{
    struct transfer *t = context;
    struct watched *ended = (struct watched *)mail;
    stream_join(&ended->stream.stream);
    ended->joined = true;
    t->active--;
    if (is_fatal(ended->stream.stream.error.code) && !t->stopping && !work_is_done(t->setup->job->work)) {
        t->fatal = ended->stream.stream.error;
        stop_all(t);
    }
}

/* A stream with blocks under way on which nothing moved for the time-out is cut; it connects again. */
static void watch_stream(struct transfer *t, struct watched *w, uint64_t now)
{
    uint64_t moved = client_stream_bytes(&w->stream) + atomic_load(&w->stream.moved);
    bool waits = work_under_way(t->setup->job->work, w->stream.stream.number) > 0;
    if (moved != w->last_moved || !waits) {
        if (moved != w->last_moved)
            control_note_life(t->setup->control);
        w->last_moved = moved;
        w->last_moved_ms = now;
    } else if (now - w->last_moved_ms >= (uint64_t)t->setup->control->timeout_s * 1000) {
        w->last_moved_ms = now;
        stream_cut(&w->stream.stream);
    }
}

/* All blocks are answered: streams that still have some under way are sick ones whose work others have done.
 */
static void finish_streams(struct transfer *t, uint64_t now)
{
    if (t->done_ms == 0)
        t->done_ms = now;
    for (unsigned i = 0; i < t->count; i++) {
        struct watched *w = &t->streams[i];
        if (!w->joined &&
            (now - t->done_ms >= END_MS || work_under_way(t->setup->job->work, w->stream.stream.number) > 0))
            stream_stop(&w->stream.stream);
    }
}

/* Bytes that have left this run's streams, or reached them: finer than blocks, for the eye. What counts is
 * the queue. */
static uint64_t moved_bytes(const struct transfer *t)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < t->count; i++) {
        struct watched *w = &t->streams[i];
        uint64_t moved = client_stream_bytes(&w->stream);
        uint64_t unsent = w->joined ? 0 : stream_unsent(&w->stream.stream);
        bytes += moved > unsent ? moved - unsent : 0;
    }
    return bytes;
}

/* Never goes back, and never says that all is there before it is. */
static void show(struct transfer *t)
{
    struct work_queue *work = t->setup->job->work;
    uint64_t done = work_bytes_done(work), left = work_bytes_left(work), moved = moved_bytes(t);
    uint64_t most = left > 0 ? done + left - 1 : done;
    if (moved < done)
        moved = done;
    t->shown = moved > t->shown ? moved : t->shown;
    if (t->shown > most)
        t->shown = most;
    struct progress_state state = {.bytes = t->setup->skipped_bytes + work_bytes_skipped(work) + t->shown,
                                   .total = t->setup->total_bytes,
                                   .moved = t->shown,
                                   .files = t->setup->skipped_files + work_files_done(work),
                                   .file_total = t->setup->total_files};
    progress_show(t->setup->progress, &state);
}

static void on_watch(uv_timer_t *timer)
{
    struct transfer *t = timer->data;
    uint64_t now = clock_ms();
    if (work_is_done(t->setup->job->work))
        finish_streams(t, now);
    for (unsigned i = 0; i < t->count; i++)
        if (!t->streams[i].joined)
            watch_stream(t, &t->streams[i], now);
    show(t);
}

static int start(struct transfer *t, struct error *err)
{
    uint64_t now = clock_ms();
    for (unsigned i = 0; i < t->count; i++) {
        struct watched *w = &t->streams[i];
        w->stream.job = t->setup->job;
        w->last_moved_ms = now;
        w->joined = true;
        if (stream_start(&w->stream.stream, i, -1, t->setup->run, t->mailbox, err) < 0)
            return i > 0 ? 0 : -1; /* fewer threads than wished for do the work too */
        w->joined = false;
        t->active++;
    }
    return 0;
}

/* Runs until no thread is left. What ends it early goes to *err. */
static int watch(struct transfer *t, struct error *err)
{
    int result = 0;
    while (t->active > 0) {
        if (t->stopping) {
            (void)uv_run(&t->setup->control->loop, UV_RUN_ONCE);
        } else if (control_wait(t->setup->control, err) < 0) {
            result = -1;
            stop_all(t);
        } else {
            struct message message;
            int there = control_poll(t->setup->control, &message, err);
            if (there > 0) {
                (void)control_unexpected(&message, err);
                message_release(&message);
            }
            if (there != 0) {
                result = -1;
                stop_all(t);
            }
        }
    }
    return result;
}

static void add_stream_report(const struct transfer *t, const struct client_stream *s, struct report *report)
{
    struct report_stream stream = {.number = s->stream.number,
                                   .own = s->activity,
                                   .bytes = work_stream_bytes(t->setup->job->work, s->stream.number),
                                   .rcvbuf = s->rcvbuf,
                                   .sndbuf = s->sndbuf,
                                   .seconds = (double)(s->stream.ended_ns - s->stream.started_ns) / 1e9,
                                   .sendfile =
                                       t->setup->pushing ? s->sender.sendfile_bytes > 0 : s->peer_sendfile};
    if (s->connected)
        report_stream(report, &stream);
}

/* Why it could not be finished although nothing was fatal: the first stream that says so. */
static int explain_end(const struct transfer *t, struct error *err)
{
    for (unsigned i = 0; i < t->count; i++)
        if (t->streams[i].stream.stream.error.code != ERROR_NONE) {
            *err = t->streams[i].stream.stream.error;
            return -1;
        }
    return error_set(err, ERROR_LOST, "the data connections ended early");
}

static int judge(const struct transfer *t, int result, struct error *err)
{
    if (interrupt_check(err) < 0)
        return -1;
    if (t->fatal.code != ERROR_NONE) {
        *err = t->fatal;
        return -1;
    }
    if (result < 0)
        return -1;
    return work_pieces(t->setup->job->work) == 0 ? 0 : explain_end(t, err);
}

int transfer_run(const struct transfer_setup *setup, struct report *report, struct error *err)
{
    struct transfer t = {.setup = setup};
    uint64_t pieces = work_pieces(setup->job->work), begun = clock_ns();
    t.count = setup->streams < pieces ? setup->streams : (unsigned)pieces;
    if (t.count == 0)
        return 0;
    t.streams = calloc(t.count, sizeof *t.streams);
    if (!t.streams)
        abort();
    setup->job->server = setup->control->server;
    memcpy(setup->job->session, setup->control->session, SESSION_ID_SIZE);
    setup->job->session_key = setup->control->has_session_key ? setup->control->session_key : NULL;
    setup->job->timeout_s = setup->control->timeout_s;
    setup->job->retries = setup->retries;
    setup->job->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct pacer pacer;
    pacer_init(&pacer, setup->bytes_per_s, setup->job->cancel_fd);
    setup->job->pacer = setup->bytes_per_s > 0 ? &pacer : NULL;
    t.mailbox = mailbox_open(&setup->control->loop, on_stream_mail, &t);
    (void)uv_timer_init(&setup->control->loop, &t.watch);
    t.watch.data = &t;
    (void)uv_timer_start(&t.watch, on_watch, WATCH_MS, WATCH_MS);
    work_begin(setup->job->work, t.count);
    int result = start(&t, err);
    if (watch(&t, err) < 0)
        result = -1;
    show(&t);
    report->seconds += (double)(clock_ns() - begun) / 1e9;
    report->bytes.sent += work_bytes_done(setup->job->work);
    for (unsigned i = 0; i < t.count; i++)
        add_stream_report(&t, &t.streams[i].stream, report);
    uv_close((uv_handle_t *)&t.watch, NULL);
    mailbox_close(&t.mailbox);
    (void)uv_run(&setup->control->loop, UV_RUN_NOWAIT); /* lets the closed handles go */
    result = judge(&t, result, err);
    pacer_release(&pacer);
    fdio_drop(&setup->job->cancel_fd);
    free(t.streams);
    return result;
}

static int take_activity(const struct message *message, struct report *report, struct error *err)
{
    if (message->u.activity.stream >= LIMIT_STREAMS)
        return control_unexpected(message, err);
    struct activity activity = {.bytes = message->u.activity.bytes,
                                .wall_ns = message->u.activity.wall,
                                .file_ns = message->u.activity.file,
                                .socket_ns = message->u.activity.socket,
                                .cpu_ns = message->u.activity.cpu,
                                .queued_ns = message->u.activity.queued,
                                .busy_ns = message->u.activity.busy,
                                .window_ns = message->u.activity.window,
                                .source_bytes = message->u.activity.source,
                                .cached_bytes = message->u.activity.cached};
    report_peer(report, (unsigned)message->u.activity.stream, &activity);
    return 0;
}

int transfer_read_last(struct control *control, enum message_type type, struct message *message,
                       struct report *report, struct error *err)
{
    for (;;) {
        if (control_next(control, message, err) < 0)
            return -1;
        int result = message->type == MESSAGE_ACTIVITY ? take_activity(message, report, err)
                     : message->type == type           ? 0
                                                       : control_unexpected(message, err);
        if (result == 0 && message->type == type)
            return 0;
        message_release(message);
        if (result < 0)
            return -1;
    }
}
