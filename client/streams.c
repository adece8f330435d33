/* A stream's life is the same in both directions: connect, move blocks, and on trouble give back and try
 * again. */
#include "client/streams.h"

#include "client/control.h"
#include "client/stream_moves.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "common/socket.h"

#include <poll.h>
#include <string.h>

/* Pauses between attempts: doubling from the first to the last. */
#define PAUSE_FIRST_MS 100
#define PAUSE_LAST_MS  5000

/* False when told to stop meanwhile. */
static bool pause_for(struct client_stream *s, int pause_ms)
{
    return socket_wait(s->job->cancel_fd, POLLIN, -1, pause_ms) == 0 && !stream_is_stopped(&s->stream);
}

static int open_connection(struct client_stream *s, struct error *err)
{
    int fd = socket_connect(&s->job->server, s->job->timeout_s, SOCKET_DATA, s->job->cancel_fd, err);
    if (fd < 0)
        return -1;
    stream_set_fd(&s->stream, fd);
    if (control_hello_stream(fd, s->job->session, s->job->session_key, s->stream.number, err) < 0)
        return -1;
    socket_granted(fd, &s->rcvbuf, &s->sndbuf);
    s->connected = true;
    return 0;
}

/* One connection from hello to its end. 0: the work is done. */
static int run_connection(struct client_stream *s, int (*move)(struct client_stream *, struct error *),
                          struct error *err)
{
    if (open_connection(s, err) < 0)
        return -1;
    wire_init(&s->wire, s->stream.fd);
    int result = move(s, err);
    activity_add(&s->activity, &s->wire.activity);
    activity_add_socket(&s->activity, s->stream.fd);
    wire_release(&s->wire);
    return result;
}

static void run(struct client_stream *s, int (*move)(struct client_stream *, struct error *))
{
    unsigned failures = 0;
    int pause_ms = PAUSE_FIRST_MS;
    for (;;) {
        struct error err = {0};
        uint64_t before = s->answered;
        if (run_connection(s, move, &err) == 0)
            return;
        work_give_back(s->job->work, s->stream.number);
        if (s->answered > before) {
            failures = 0;
            pause_ms = PAUSE_FIRST_MS;
        }
        bool final = err.code != ERROR_LOST && err.code != ERROR_CONNECT && err.code != ERROR_PROTOCOL;
        if (final || failures++ >= s->job->retries || work_is_done(s->job->work) || !pause_for(s, pause_ms)) {
            s->stream.error = err;
            return;
        }
        pause_ms = 2 * pause_ms < PAUSE_LAST_MS ? 2 * pause_ms : PAUSE_LAST_MS;
    }
}

uint64_t client_stream_bytes(const struct client_stream *s)
{
    return atomic_load_explicit(&s->sender.payload_bytes, memory_order_relaxed) +
           atomic_load_explicit(&s->receiver.payload_bytes, memory_order_relaxed);
}

int client_wire_end(struct wire *wire, struct chunk *answer, struct error *err)
{
    struct chunk end = {.type = CHUNK_END};
    if (wire_put_chunk(wire, &end, err) < 0 || wire_flush(wire, false, err) < 0 ||
        wire_read_chunk(wire, answer, err) < 0)
        return -1;
    return answer->type == CHUNK_END
               ? 0
               : error_set(err, ERROR_PROTOCOL, "the server did not answer the end of a stream");
}

int client_stream_end(struct client_stream *s, struct error *err)
{
    struct chunk answer;
    if (client_wire_end(&s->wire, &answer, err) < 0)
        return -1;
    s->peer_sendfile = (answer.flags & CHUNK_END_SENDFILE) != 0;
    return 0;
}

int client_stream_read_failure(struct client_stream *s, const struct chunk *fail, struct error *failure,
                               struct error *err)
{
    char text[LIMIT_TEXT + 1];
    if (wire_read(&s->wire, text, (size_t)fail->length, err) < 0)
        return -1;
    text[fail->length] = '\0';
    enum error_code code = fail->flags < ERROR_CODE_COUNT ? (enum error_code)fail->flags : ERROR_FAILED;
    error_set(failure, code, "%s", text);
    return 0;
}

void push_stream_run(struct stream *stream)
{
    struct client_stream *s = (struct client_stream *)stream;
    s->fd = -1;
    activity_begin(&s->activity);
    sender_init(&s->sender, &s->wire);
    if (s->job->pacer)
        sender_limit(&s->sender, s->job->pacer);
    s->sender.disk = s->job->disk;
    run(s, push_stream_move);
    fdio_drop(&s->fd);
    s->activity.bytes = s->sender.payload_bytes;
    sender_release(&s->sender);
    activity_end(&s->activity);
}

void pull_stream_run(struct stream *stream)
{
    struct client_stream *s = (struct client_stream *)stream;
    activity_begin(&s->activity);
    receiver_init(&s->receiver, &s->wire, s->job->staging);
    if (s->job->pacer)
        receiver_limit(&s->receiver, s->job->pacer);
    run(s, pull_stream_move);
    s->activity.bytes = s->receiver.payload_bytes;
    receiver_release(&s->receiver);
    activity_end(&s->activity);
}
