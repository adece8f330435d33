/* The control connection as a small machine: bytes → frames → messages → the request, and the other way with
 * a limit on what may wait to be written. */
#include "server/session.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/socket.h"
#include "proto/frame.h"
#include "proto/version.h"
#include "server/admission.h"
#include "server/outbox.h"
#include "server/rate.h"
#include "server/requests.h"
#include "server/transfer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Output that may wait in memory before produce() pauses. */
#define OUTPUT_LOW ((size_t)1 << 20)
/* Small messages of a list share a write until there is this much. */
#define OUTPUT_BATCH ((size_t)64 << 10)
#define TICK_MS      500

struct waiting_stream {
    struct waiting_stream *next;
    int fd;
    struct hello hello;
};

struct session {
    struct server *server;
    struct session *next;
    uint8_t id[SESSION_ID_SIZE];
    char peer[SOCKET_NAME_MAX];
    uint8_t host[SOCKET_HOST_SIZE];

    uv_tcp_t tcp;
    uint8_t *input;
    size_t input_used, input_capacity;
    uv_timer_t tick;
    unsigned open_handles;
    uint64_t opened_ms, last_life_ms, last_sent_ms, last_bytes;
    struct admission admission;

    const struct request_type *type; /* NULL between requests */
    void *request;
    enum message_type asked; /* what began the request */
    struct rate rate;        /* of its payload */
    uv_work_t work;
    bool working, in_after;
    void (*work_run)(void *request);
    void (*work_after)(struct session *, void *request);
    struct waiting_stream *waiting;
    atomic_bool cancelled;
    bool closing, producing;
    struct outbox outbox;
};

/* -- the end -- */

static void flush_output(struct session *s);

static void drop_waiting(struct session *s)
{
    while (s->waiting) {
        struct waiting_stream *first = s->waiting;
        s->waiting = first->next;
        fdio_drop(&first->fd);
        free(first);
    }
}

static void maybe_free(struct session *s)
{
    if (!s->closing || s->open_handles > 0 || s->type || s->working || s->in_after)
        return;
    struct server *server = s->server;
    for (struct session **at = &server->sessions; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    free(s->input);
    outbox_release(&s->outbox);
    free(s);
    server_on_session_gone(server);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct session *s = handle->data;
    s->open_handles--;
    maybe_free(s);
}

void session_close(struct session *s, const char *reason)
{
    if (s->closing)
        return;
    flush_output(s); /* a last word about why */
    if (s->closing)
        return;
    s->closing = true;
    atomic_store(&s->cancelled, true);
    log_debug("session of %s ends: %s", s->peer, reason);
    drop_waiting(s);
    uv_close((uv_handle_t *)&s->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&s->tick, on_handle_closed);
    if (s->type)
        s->type->abandon(s, s->request);
}

static void violation(struct session *s, const struct error *error)
{
    log_warn("%s: %s", s->peer, error->text);
    session_send_error(s, error, NULL);
    session_close(s, error->text);
}

void session_reject(struct session *s, const struct message *message)
{
    struct error err;
    error_set(&err, ERROR_PROTOCOL, "the message '%s' is out of place here",
              message_type_name(message->type));
    violation(s, &err);
}

/* -- output -- */

static void on_written(void *context, int status)
{
    struct session *s = context;
    if (status < 0 && status != UV_ECANCELED)
        session_close(s, uv_strerror(status));
    else if (!s->closing)
        session_kick(s);
}

static void flush_output(struct session *s)
{
    if (outbox_flush(&s->outbox) < 0)
        session_close(s, "cannot write");
}

void session_send(struct session *s, const struct message *message)
{
    if (s->closing)
        return;
    size_t collected = outbox_add(&s->outbox, message);
    s->last_sent_ms = clock_ms();
    if (!s->producing || collected >= OUTPUT_BATCH)
        flush_output(s);
}

void session_send_simple(struct session *s, enum message_type type)
{
    struct message message = {.type = type};
    session_send(s, &message);
}

void session_send_activity(struct session *s, const struct transfer *transfer)
{
    for (unsigned i = 0; i < LIMIT_STREAMS; i++) {
        const struct activity *a = transfer_activity(transfer, i);
        struct message message = {.type = MESSAGE_ACTIVITY};
        if (!a)
            continue;
        message.u.activity.stream = i;
        message.u.activity.bytes = a->bytes;
        message.u.activity.wall = a->wall_ns;
        message.u.activity.file = a->file_ns;
        message.u.activity.socket = a->socket_ns;
        message.u.activity.cpu = a->cpu_ns;
        message.u.activity.queued = a->queued_ns;
        message.u.activity.busy = a->busy_ns;
        message.u.activity.window = a->window_ns;
        message.u.activity.source = a->source_bytes;
        message.u.activity.cached = a->cached_bytes;
        session_send(s, &message);
    }
}

void session_send_error(struct session *s, const struct error *error, const char *path)
{
    struct message message = {
        .type = MESSAGE_ERROR,
        .u.error = {(char *)error_name(error->code), (char *)error->text, (char *)path}};
    session_send(s, &message);
}

bool session_send_files(struct session *s, const struct listing *listing, size_t *at)
{
    size_t count = listing_batch(listing, *at);
    if (count == 0)
        return false;
    struct message message = {.type = MESSAGE_FILES, .u.files = {listing->files + *at, count, count}};
    session_send(s, &message);
    *at += count;
    return true;
}

void session_kick(struct session *s)
{
    if (s->producing)
        return;
    s->producing = true;
    while (!s->closing && s->type && s->type->produce && outbox_queued(&s->outbox) < OUTPUT_LOW &&
           s->type->produce(s, s->request))
        ;
    s->producing = false;
    flush_output(s);
}

/* -- input -- */

static void refuse(struct session *s, const char *why)
{
    struct error err;
    error_set(&err, ERROR_REFUSED, "%s", why);
    log_warn("%s: %s", s->peer, why);
    session_send_error(s, &err, NULL);
    session_close(s, why);
}

static void send_challenge(struct session *s)
{
    struct message challenge = {.type = MESSAGE_CHALLENGE};
    memcpy(challenge.u.challenge.nonce, s->admission.handshake.server_nonce, SECRET_SIZE);
    session_send(s, &challenge);
}

static void take_proof(struct session *s, const struct message *message)
{
    struct message welcome = {.type = MESSAGE_WELCOME};
    if (message->type != MESSAGE_PROVE) {
        refuse(s, "the server asks for a token");
    } else if (!admission_prove(&s->admission, message, welcome.u.welcome.proof)) {
        refuse(s, "the server does not know the token");
    } else {
        welcome.u.welcome.write = s->admission.may_write;
        session_send(s, &welcome);
    }
}

static bool needs_writing(enum message_type type)
{
    return type == MESSAGE_PUSH || type == MESSAGE_REMOVE || type == MESSAGE_DISK_WRITE;
}

static void begin_request(struct session *s, struct message *message)
{
    s->asked = message->type;
    if (!requests_begin(s, message))
        session_reject(s, message);
}

static void dispatch(struct session *s, struct message *message)
{
    if (message->type == MESSAGE_ALIVE)
        return;
    if (!s->admission.is_proven)
        take_proof(s, message);
    else if (!s->type && needs_writing(message->type) && !s->admission.may_write)
        refuse(s, "the token is for reading only");
    else if (s->type && s->type->on_message)
        s->type->on_message(s, s->request, message);
    else if (s->type)
        session_reject(s, message);
    else
        begin_request(s, message);
}

/* Takes one frame off the input. 1 taken, 0 not there yet, -1 violation. */
static int take_frame(struct session *s, size_t *at, struct error *err)
{
    struct frame frame;
    struct message message;
    size_t ready = s->input_used - *at;
    const uint8_t *bytes = s->input + *at;
    if (ready < FRAME_HEADER_SIZE)
        return 0;
    if (frame_decode(&frame, bytes, err) < 0)
        return -1;
    if (ready - FRAME_HEADER_SIZE < frame.length)
        return 0;
    const char *text = (const char *)bytes + FRAME_HEADER_SIZE;
    if (frame_check(&frame, text, err) < 0 || message_decode(&message, text, frame.length, err) < 0)
        return -1;
    *at += FRAME_HEADER_SIZE + frame.length;
    dispatch(s, &message);
    message_release(&message);
    return 1;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct session *s = handle->data;
    size_t most = LIMIT_FRAME + FRAME_HEADER_SIZE;
    size_t wanted = s->input_used + suggested;
    if (wanted > most)
        wanted = most;
    if (wanted > s->input_capacity) {
        s->input = realloc(s->input, wanted);
        if (!s->input)
            abort();
        s->input_capacity = wanted;
    }
    *buffer = uv_buf_init((char *)s->input + s->input_used, (unsigned)(s->input_capacity - s->input_used));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct session *s = stream->data;
    struct error err;
    size_t at = 0;
    int taken = 1;
    (void)buffer;
    if (n < 0) {
        session_close(s, n == UV_EOF ? "the client closed it" : uv_strerror((int)n));
        return;
    }
    s->input_used += (size_t)n;
    s->last_life_ms = clock_ms();
    while (!s->closing && (taken = take_frame(s, &at, &err)) > 0)
        ;
    if (s->closing)
        return;
    memmove(s->input, s->input + at, s->input_used - at);
    s->input_used -= at;
    if (taken < 0)
        violation(s, &err);
}

/* -- what it is doing -- */

static struct request_state describe_request(struct session *s)
{
    struct request_state state = {0};
    if (s->type && s->type->describe)
        s->type->describe(s->request, &state);
    return state;
}

bool session_describe(struct session *s, struct message_session *out)
{
    if (s->closing || !s->admission.is_proven)
        return false;
    struct request_state state = describe_request(s);
    *out = (struct message_session){.peer = s->peer,
                                    .request = (char *)(s->type ? message_type_name(s->asked) : ""),
                                    .model = (char *)state.model,
                                    .bytes = state.payload,
                                    .rate = s->type ? rate_per_s(&s->rate) : 0,
                                    .streams = state.streams,
                                    .age = (clock_ms() - s->opened_ms) / 1000};
    return true;
}

unsigned session_waiting(const struct session *s)
{
    unsigned count = 0;
    for (const struct waiting_stream *w = s->waiting; w; w = w->next)
        count++;
    return count;
}

/* -- time -- */

static void on_tick(uv_timer_t *timer)
{
    struct session *s = timer->data;
    uint64_t now = clock_ms(), limit = (uint64_t)s->server->config->timeout_s * 1000;
    uint64_t bytes = s->type && s->type->bytes ? s->type->bytes(s->request) : 0;
    if (bytes != s->last_bytes) {
        s->last_bytes = bytes;
        s->last_life_ms = now;
    }
    if (s->type)
        rate_note(&s->rate, now, describe_request(s).payload);
    if (!s->admission.is_proven && now - s->opened_ms >= HELLO_TIMEOUT_MS) {
        refuse(s, "no token was proven in time");
        return;
    }
    if (now - s->last_life_ms >= limit) {
        log_info("%s was silent for %u s and is given up", s->peer, s->server->config->timeout_s);
        session_close(s, "silent");
        return;
    }
    bool sent = s->type && s->type->on_tick && s->type->on_tick(s, s->request);
    if (!sent && s->type && now - s->last_sent_ms >= ALIVE_EVERY_MS)
        session_send_simple(s, MESSAGE_ALIVE);
}

/* -- requests -- */

void session_begin(struct session *s, const struct request_type *type, void *request)
{
    assert(!s->type);
    s->type = type;
    s->request = request;
    s->last_bytes = 0;
    rate_begin(&s->rate, clock_ms());
}

void session_finished(struct session *s)
{
    s->type = NULL;
    s->request = NULL;
    drop_waiting(s);
    maybe_free(s);
}

static void on_work(uv_work_t *work)
{
    struct session *s = work->data;
    s->work_run(s->request);
}

static void on_work_done(uv_work_t *work, int status)
{
    struct session *s = work->data;
    (void)status;
    s->working = false;
    s->in_after = true;
    s->work_after(s, s->request);
    s->in_after = false;
    maybe_free(s);
}

void session_work(struct session *s, void (*run)(void *request),
                  void (*after)(struct session *, void *request))
{
    assert(!s->working);
    s->working = true;
    s->work_run = run;
    s->work_after = after;
    s->work.data = s;
    if (uv_queue_work(&s->server->loop, &s->work, on_work, on_work_done) != 0)
        abort();
}

const atomic_bool *session_cancelled(const struct session *s)
{
    return &s->cancelled;
}

struct server *session_server(struct session *s)
{
    return s->server;
}

const char *session_peer(const struct session *s)
{
    return s->peer;
}

int session_socket(const struct session *s)
{
    uv_os_fd_t fd;
    return uv_fileno((const uv_handle_t *)&s->tcp, &fd) == 0 ? fd : -1;
}

/* -- data connections -- */

/* Answers a hello on a non-blocking socket; 48 bytes always fit a fresh socket's buffer. */
static int reply(struct session *s, int fd, enum hello_status status)
{
    struct hello_reply hello = {.version = PROTOCOL_VERSION, .status = status, .max_streams = LIMIT_STREAMS};
    uint8_t bytes[HELLO_SIZE];
    if (status == HELLO_OK)
        memcpy(hello.session, s->id, SESSION_ID_SIZE);
    if (admission_asks_streams(&s->admission))
        hello.features = HELLO_FEATURE_AUTH;
    hello_reply_encode(&hello, bytes);
    return fdio_send(fd, bytes, sizeof bytes, false) < 0 ? -1 : 0;
}

static bool may_stream(const struct session *s)
{
    return !s->closing && s->type && s->type->on_stream && s->type->takes_streams(s->request);
}

static void start_stream(struct session *s, const struct hello *hello, int fd)
{
    struct error err;
    if (reply(s, fd, HELLO_OK) < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0) {
        fdio_drop(&fd);
        return;
    }
    if (s->type->on_stream(s, s->request, hello->stream, fd, &err) < 0)
        log_warn("%s: %s", s->peer, err.text);
    else
        s->server->streams++;
}

void session_add_stream(struct session *s, const struct hello *hello, int fd)
{
    if (!may_stream(s)) {
        (void)reply(s, fd, HELLO_UNKNOWN_SESSION);
        fdio_drop(&fd);
        return;
    }
    socket_tune(fd, s->server->config->timeout_s);
    if (s->server->streams < s->server->config->max_streams) {
        start_stream(s, hello, fd);
        return;
    }
    struct waiting_stream *waiting = calloc(1, sizeof *waiting);
    if (!waiting)
        abort();
    *waiting = (struct waiting_stream){s->waiting, fd, *hello};
    s->waiting = waiting;
    if (reply(s, fd, HELLO_WAIT) < 0) {
        s->waiting = waiting->next;
        fdio_drop(&waiting->fd);
        free(waiting);
    }
}

/* One slot is free; true if this session had use for it. */
bool session_admit_waiting(struct session *s)
{
    struct waiting_stream *first = s->waiting;
    if (!first || !may_stream(s))
        return false;
    s->waiting = first->next;
    start_stream(s, &first->hello, first->fd);
    free(first);
    return true;
}

bool session_has_id(const struct session *s, const uint8_t id[SESSION_ID_SIZE])
{
    return !s->closing && handshake_is_equal(s->id, id, SESSION_ID_SIZE);
}

const struct admission *session_admission(const struct session *s)
{
    return &s->admission;
}

struct session *session_next(struct session *s)
{
    return s->next;
}

/* -- opening -- */

/* One host alone cannot take all places. */
static bool is_full(const struct server *server, const uint8_t host[SOCKET_HOST_SIZE])
{
    unsigned of_host = 0;
    for (const struct session *s = server->sessions; s; s = s->next)
        of_host += memcmp(s->host, host, SOCKET_HOST_SIZE) == 0;
    return server->session_count >= SERVER_MAX_SESSIONS || of_host >= SERVER_MAX_SESSIONS_OF_HOST;
}

void session_open(struct server *server, int fd)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->server = server;
    s->opened_ms = s->last_life_ms = s->last_sent_ms = clock_ms();
    handshake_random(s->id, sizeof s->id);
    admission_begin(&s->admission, &server->tokens, s->id);
    (void)socket_peer(fd, s->peer);
    socket_host(fd, s->host);
    bool full = is_full(server, s->host);
    socket_tune(fd, server->config->timeout_s);
    if (reply(s, fd, full ? HELLO_BUSY : HELLO_OK) < 0 || full || uv_tcp_init(&server->loop, &s->tcp) != 0) {
        fdio_drop(&fd);
        free(s);
        return;
    }
    s->tcp.data = s->tick.data = s;
    s->open_handles = 2;
    outbox_init(&s->outbox, (uv_stream_t *)&s->tcp, on_written, s);
    (void)uv_timer_init(&server->loop, &s->tick);
    s->next = server->sessions;
    server->sessions = s;
    server->session_count++;
    log_debug("session of %s begins", s->peer);
    if (uv_tcp_open(&s->tcp, fd) != 0) {
        fdio_drop(&fd);
        session_close(s, "cannot take the socket");
        return;
    }
    (void)uv_timer_start(&s->tick, on_tick, TICK_MS, TICK_MS);
    (void)uv_read_start((uv_stream_t *)&s->tcp, on_alloc, on_read);
    if (!s->admission.is_proven)
        send_challenge(s);
}
