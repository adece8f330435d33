/* Frames over a non-blocking socket under a uv_poll_t; waiting is running the loop until something is there.
 */
#include "client/control.h"

#include "client/interrupt.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "common/socket.h"
#include "common/token.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "proto/version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TICK_MS 500

struct own_work {
    uv_work_t work;
    void (*run)(void *context);
    void (*look)(void *context); /* on the loop, may be NULL */
    void *context;
    bool done;
};

/* -- hello -- */

static int hello_error(enum hello_status status, struct error *err)
{
    switch (status) {
    case HELLO_REFUSED:
        return error_set(err, ERROR_REFUSED,
                         "the server refused the connection: this address is not allowed");
    case HELLO_BUSY:
        return error_set(err, ERROR_CONNECT, "the server has too many connections; try again later");
    case HELLO_UNKNOWN_SESSION:
        return error_set(err, ERROR_LOST, "the server does not know the session any more");
    default:
        return error_set(err, ERROR_PROTOCOL, "the server's hello breaks the protocol");
    }
}

/* Reads a reply; timeout_ms < 0 waits as long as it takes. */
static int read_reply(int fd, int timeout_ms, struct hello_reply *reply, struct error *err)
{
    uint8_t bytes[HELLO_SIZE];
    uint64_t end = clock_ms() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms);
    for (size_t used = 0; used < sizeof bytes;) {
        uint64_t now = clock_ms();
        int left = timeout_ms < 0 ? -1 : now < end ? (int)(end - now) : 0;
        if (socket_wait(fd, POLLIN, interrupt_fd(), left) <= 0) {
            if (interrupt_check(err) < 0)
                return -1;
            return error_set(err, ERROR_LOST, "the server does not answer");
        }
        ssize_t n = recv(fd, bytes + used, sizeof bytes - used, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return error_set_sys(err, ERROR_LOST, errno, "the connection was lost");
        if (n == 0 && used == 0)
            return error_set(err, ERROR_NOT_MSTORE,
                             "the connection was closed: what answers there is perhaps no mstore server");
        if (n == 0 || (used == 0 && bytes[0] != 'm'))
            return error_set(err, ERROR_NOT_MSTORE, "what answers there is not an mstore server");
        used += (size_t)n;
    }
    return hello_reply_decode(reply, bytes, err);
}

static int say_hello(int fd, const struct hello *hello, struct error *err)
{
    uint8_t bytes[HELLO_SIZE];
    hello_encode(hello, bytes);
    if (fdio_send(fd, bytes, sizeof bytes, false) < 0)
        return error_set_sys(err, ERROR_LOST, errno, "the connection was lost");
    return 0;
}

static int prove_stream(int fd, const struct hello *hello, const uint8_t *session_key,
                        struct hello_reply *reply, struct error *err)
{
    uint8_t proof[SECRET_SIZE];
    if (!session_key)
        return error_set(err, ERROR_PROTOCOL, "the server asks a data connection for a proof out of place");
    handshake_stream_proof(session_key, reply->session, hello->stream, proof);
    if (fdio_send(fd, proof, sizeof proof, false) < 0)
        return error_set_sys(err, ERROR_LOST, errno, "the connection was lost");
    return read_reply(fd, HELLO_TIMEOUT_MS, reply, err);
}

static int hello_stream(int fd, const struct hello *hello, const uint8_t *session_key, struct error *err)
{
    struct hello_reply reply;
    if (say_hello(fd, hello, err) < 0 || read_reply(fd, HELLO_TIMEOUT_MS, &reply, err) < 0)
        return -1;
    if (reply.status == HELLO_PROVE && prove_stream(fd, hello, session_key, &reply, err) < 0)
        return -1;
    while (reply.status == HELLO_WAIT)
        if (read_reply(fd, -1, &reply, err) < 0)
            return -1;
    return reply.status == HELLO_OK ? 0 : hello_error(reply.status, err);
}

int control_hello_stream(int fd, const uint8_t session[SESSION_ID_SIZE], const uint8_t *session_key,
                         unsigned number, struct error *err)
{
    struct hello hello = {.version = PROTOCOL_VERSION, .role = HELLO_DATA, .stream = number};
    memcpy(hello.session, session, SESSION_ID_SIZE);
    if (hello_stream(fd, &hello, session_key, err) == 0)
        return 0;
    if (err->code == ERROR_NOT_MSTORE) /* it was one when the session began */
        error_set(err, ERROR_LOST, "the connection was closed before the server's hello");
    return -1;
}

/* -- life -- */

static void end(struct control *c, const struct error *error)
{
    if (c->error.code == ERROR_NONE)
        c->error = *error;
}

static void on_interrupt(uv_poll_t *poll, int status, int events)
{
    struct control *c = poll->data;
    struct error error;
    (void)status;
    (void)events;
    if (interrupt_check(&error) < 0)
        end(c, &error);
    (void)uv_poll_stop(poll);
}

static void on_tick(uv_timer_t *timer)
{
    struct control *c = timer->data;
    struct error error;
    uint64_t now = clock_ms();
    if (c->work && c->work->look)
        c->work->look(c->work->context);
    if (now - c->last_life_ms >= (uint64_t)c->timeout_s * 1000) {
        error_set(&error, ERROR_LOST, "the server was silent for %u s", c->timeout_s);
        end(c, &error);
    } else if (now - c->last_sent_ms >= ALIVE_EVERY_MS && control_send_simple(c, MESSAGE_ALIVE, &error) < 0) {
        end(c, &error);
    }
}

void control_note_life(struct control *c)
{
    c->last_life_ms = clock_ms();
}

/* What was taken goes; there is room for a batch, and for the largest frame once it has begun. */
static void make_room(struct control *c)
{
    if (c->input_start > 0)
        memmove(c->input, c->input + c->input_start, c->input_end - c->input_start);
    c->input_end -= c->input_start;
    c->input_start = 0;
    if (c->input_capacity - c->input_end >= LIMIT_BATCH_BYTES)
        return;
    c->input_capacity = c->input_end + LIMIT_FRAME + FRAME_HEADER_SIZE;
    c->input = realloc(c->input, c->input_capacity);
    if (!c->input)
        abort();
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct control *c = poll->data;
    struct error error;
    (void)status;
    (void)events;
    make_room(c);
    ssize_t n = recv(c->fd, c->input + c->input_end, c->input_capacity - c->input_end, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        if (n == 0)
            error_set(&error, ERROR_LOST, "the server closed the connection");
        else
            error_set_sys(&error, ERROR_LOST, errno, "the connection was lost");
        (void)uv_poll_stop(poll); /* what was received before is still taken */
        end(c, &error);
        return;
    }
    c->input_end += (size_t)n;
    c->last_life_ms = clock_ms();
}

/* -- opening and closing -- */

/* *asks: the server wants a token proven. */
static int first_hello(struct control *c, bool *asks, struct error *err)
{
    struct hello hello = {.version = PROTOCOL_VERSION, .role = HELLO_CONTROL};
    struct hello_reply reply;
    int timeout_ms = c->timeout_s * 1000 < HELLO_TIMEOUT_MS ? (int)c->timeout_s * 1000 : HELLO_TIMEOUT_MS;
    if (say_hello(c->fd, &hello, err) < 0 || read_reply(c->fd, timeout_ms, &reply, err) < 0)
        return -1;
    if (reply.status != HELLO_OK)
        return hello_error(reply.status, err);
    memcpy(c->session, reply.session, SESSION_ID_SIZE);
    c->max_streams = reply.max_streams;
    *asks = (reply.features & HELLO_FEATURE_AUTH) != 0;
    return 0;
}

static int check_asked(bool asks, const struct token *token, struct error *err)
{
    if (asks && !token)
        return error_set(err, ERROR_REFUSED,
                         "the server asks for a token: name the file that holds it with --token-file or "
                         "MSTORE_TOKEN_FILE");
    if (!asks && token)
        return error_set(
            err, ERROR_REFUSED,
            "the server asks for no token, so nothing shows that it is the right one; to use it all "
            "the same say --token-file ''");
    return 0;
}

static int start_loop(struct control *c, struct error *err)
{
    int result = uv_loop_init(&c->loop);
    if (result != 0)
        return error_set(err, ERROR_FAILED, "cannot start the event loop: %s", uv_strerror(result));
    (void)uv_poll_init(&c->loop, &c->poll, c->fd);
    (void)uv_poll_init(&c->loop, &c->interrupt, interrupt_fd());
    (void)uv_timer_init(&c->loop, &c->tick);
    c->poll.data = c->interrupt.data = c->tick.data = c;
    c->last_life_ms = c->last_sent_ms = clock_ms();
    (void)uv_poll_start(&c->poll, UV_READABLE, on_readable);
    (void)uv_poll_start(&c->interrupt, UV_READABLE, on_interrupt);
    (void)uv_timer_start(&c->tick, on_tick, TICK_MS, TICK_MS);
    return 0;
}

static int prove(struct control *c, const struct token *token, struct error *err)
{
    struct handshake handshake;
    struct message message, answer = {.type = MESSAGE_PROVE};
    uint8_t wanted[SECRET_SIZE];
    memcpy(handshake.session, c->session, SESSION_ID_SIZE);
    handshake_random(handshake.client_nonce, SECRET_SIZE);
    if (control_expect(c, MESSAGE_CHALLENGE, &message, err) < 0)
        return -1;
    memcpy(handshake.server_nonce, message.u.challenge.nonce, SECRET_SIZE);
    message_release(&message);
    memcpy(answer.u.prove.nonce, handshake.client_nonce, SECRET_SIZE);
    handshake_client_proof(&handshake, token, answer.u.prove.proof);
    if (control_send(c, &answer, err) < 0 || control_expect(c, MESSAGE_WELCOME, &message, err) < 0)
        return -1;
    handshake_server_proof(&handshake, token, wanted);
    bool good = handshake_is_equal(wanted, message.u.welcome.proof, SECRET_SIZE);
    message_release(&message);
    if (!good)
        return error_set(err, ERROR_REFUSED,
                         "the server does not know the token: it is not the right server");
    handshake_session_key(&handshake, token, c->session_key);
    c->has_session_key = true;
    return 0;
}

static int open_control(struct control *c, const struct options *options, enum socket_purpose purpose,
                        struct error *err)
{
    bool asks = false;
    memset(c, 0, sizeof *c);
    c->server = options->server;
    c->timeout_s = options->timeout_s;
    c->fd = socket_connect(&c->server, c->timeout_s, purpose, interrupt_fd(), err);
    if (c->fd < 0) {
        (void)interrupt_check(err);
        return -1;
    }
    if (first_hello(c, &asks, err) < 0 || check_asked(asks, options->token, err) < 0 ||
        start_loop(c, err) < 0) {
        fdio_drop(&c->fd);
        return -1;
    }
    if (asks && prove(c, options->token, err) < 0) {
        control_close(c);
        return -1;
    }
    return 0;
}

int control_open(struct control *c, const struct options *options, struct error *err)
{
    return open_control(c, options, SOCKET_CONTROL, err);
}

int control_open_narrow(struct control *c, const struct options *options, struct error *err)
{
    return open_control(c, options, SOCKET_NARROW, err);
}

void control_close(struct control *c)
{
    if (c->fd < 0)
        return;
    uv_close((uv_handle_t *)&c->poll, NULL);
    uv_close((uv_handle_t *)&c->interrupt, NULL);
    uv_close((uv_handle_t *)&c->tick, NULL);
    (void)uv_run(&c->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&c->loop);
    fdio_drop(&c->fd);
    free(c->input);
    c->input = NULL;
}

/* -- sending -- */

static int send_all(struct control *c, const void *bytes, size_t length, struct error *err)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = send(c->fd, (const char *)bytes + done, length - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            done += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return error_set_sys(err, ERROR_LOST, errno, "the connection was lost");
        if (socket_wait(c->fd, POLLOUT, interrupt_fd(), (int)c->timeout_s * 1000) <= 0) {
            if (interrupt_check(err) < 0)
                return -1;
            return error_set(err, ERROR_LOST, "the server took nothing for %u s", c->timeout_s);
        }
    }
    c->last_sent_ms = clock_ms();
    return 0;
}

int control_send(struct control *c, const struct message *message, struct error *err)
{
    size_t length;
    char *text = message_encode(message, &length);
    uint8_t *frame = malloc(FRAME_HEADER_SIZE + length);
    if (!frame)
        abort();
    frame_encode(text, length, frame);
    memcpy(frame + FRAME_HEADER_SIZE, text, length);
    int result = send_all(c, frame, FRAME_HEADER_SIZE + length, err);
    free(frame);
    free(text);
    return result;
}

int control_send_simple(struct control *c, enum message_type type, struct error *err)
{
    struct message message = {.type = type};
    return control_send(c, &message, err);
}

int control_send_burst(struct control *c, size_t bytes, struct error *err)
{
    struct message alive = {.type = MESSAGE_ALIVE};
    size_t length;
    char *text = message_encode(&alive, &length);
    size_t whole = FRAME_HEADER_SIZE + length, count = (bytes + whole - 1) / whole;
    uint8_t *frames = malloc(count * whole);
    if (!frames)
        abort();
    for (size_t i = 0; i < count; i++) {
        frame_encode(text, length, frames + i * whole);
        memcpy(frames + i * whole + FRAME_HEADER_SIZE, text, length);
    }
    int result = send_all(c, frames, count * whole, err);
    free(frames);
    free(text);
    return result;
}

int control_request(struct control *c, enum message_type type, const char *model, struct error *err)
{
    struct message message = {.type = type, .u.request = {.model = (char *)model}};
    return control_send(c, &message, err);
}

/* -- receiving -- */

/* Takes one frame off the input: 1, 0 if it is not there yet, -1. */
static int take_frame(struct control *c, struct message *message, struct error *err)
{
    struct frame frame;
    size_t ready = c->input_end - c->input_start;
    const uint8_t *at = c->input + c->input_start;
    if (ready < FRAME_HEADER_SIZE)
        return 0;
    if (frame_decode(&frame, at, err) < 0)
        return -1;
    size_t whole = FRAME_HEADER_SIZE + frame.length;
    if (ready < whole)
        return 0;
    const char *text = (const char *)at + FRAME_HEADER_SIZE;
    if (frame_check(&frame, text, err) < 0 || message_decode(message, text, frame.length, err) < 0)
        return -1;
    c->input_start += whole;
    return 1;
}

int control_poll(struct control *c, struct message *message, struct error *err)
{
    int taken;
    while ((taken = take_frame(c, message, err)) > 0) {
        if (message->type == MESSAGE_ERROR) {
            error_set(err, error_from_name(message->u.error.code), "%s", message->u.error.message);
            message_release(message);
            return -1;
        }
        if (message->type != MESSAGE_ALIVE)
            return 1;
        message_release(message);
    }
    return taken;
}

int control_wait(struct control *c, struct error *err)
{
    if (c->error.code == ERROR_NONE)
        (void)uv_run(&c->loop, UV_RUN_ONCE);
    if (c->error.code == ERROR_NONE)
        return 0;
    *err = c->error;
    return -1;
}

int control_next(struct control *c, struct message *message, struct error *err)
{
    for (;;) {
        int there = control_poll(c, message, err);
        if (there != 0)
            return there < 0 ? -1 : 0;
        if (control_wait(c, err) < 0) {
            /* The connection may have ended right behind a last message. */
            struct error last;
            there = control_poll(c, message, &last);
            if (there < 0)
                *err = last;
            return there > 0 ? 0 : -1;
        }
    }
}

int control_expect(struct control *c, enum message_type type, struct message *message, struct error *err)
{
    if (control_next(c, message, err) < 0)
        return -1;
    if (message->type == type)
        return 0;
    (void)control_unexpected(message, err);
    message_release(message);
    return -1;
}

int control_expect_simple(struct control *c, enum message_type type, struct error *err)
{
    struct message message;
    if (control_expect(c, type, &message, err) < 0)
        return -1;
    message_release(&message);
    return 0;
}

int control_unexpected(const struct message *message, struct error *err)
{
    return error_set(err, ERROR_PROTOCOL, "the server sent the message '%s' out of place",
                     message_type_name(message->type));
}

/* -- own work -- */

static void on_own_work(uv_work_t *work)
{
    struct own_work *own = work->data;
    own->run(own->context);
}

static void on_own_done(uv_work_t *work, int status)
{
    (void)status;
    ((struct own_work *)work->data)->done = true;
}

int control_work(struct control *c, void (*run)(void *context), void (*look)(void *context), void *context,
                 struct error *err)
{
    struct own_work own = {.run = run, .look = look, .context = context};
    int result = 0;
    own.work.data = &own;
    c->work = &own;
    if (uv_queue_work(&c->loop, &own.work, on_own_work, on_own_done) != 0)
        abort();
    while (!own.done)
        (void)uv_run(&c->loop, UV_RUN_ONCE);
    c->work = NULL;
    if (c->error.code != ERROR_NONE) {
        *err = c->error;
        result = -1;
    }
    return result;
}
