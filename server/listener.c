/* A stranger gets 48 bytes of memory and ten seconds. The listening socket and each greeting are plain
 * descriptors under a uv_poll_t, because a data socket later belongs to a thread and libuv cannot let go of a
 * uv_tcp_t. */
#include "server/listener.h"

#include "common/fdio.h"
#include "common/log.h"
#include "common/socket.h"
#include "proto/hello.h"
#include "proto/limits.h"
#include "proto/version.h"
#include "server/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Accepts taken at one go, so that a flood does not starve the sessions. */
#define ACCEPT_BATCH 64
/* Pause when there are no descriptors: the listening socket stays readable, and trying again at once would
 * spin. */
#define ACCEPT_PAUSE_MS 200
/* How long a refused peer's hello is waited for. */
#define REFUSED_MS 1000

struct door {
    struct listener *listener;
    int fd;
    uv_poll_t poll;
    uv_timer_t pause;
};

struct greeting {
    struct greeting *next;
    struct listener *listener;
    int fd;
    uint8_t host[SOCKET_HOST_SIZE];
    uv_poll_t poll;
    uv_timer_t deadline;
    unsigned open_handles;
    uint8_t bytes[HELLO_SIZE];
    size_t used;
    bool refused; /* answered already; its hello is only read away */
    bool proving; /* its hello was taken, what comes is its proof */
    struct hello hello;
    uint8_t nonce[SESSION_ID_SIZE];
};

struct listener {
    struct server *server;
    struct door *doors;
    size_t door_count;
    struct greeting *greetings;
    unsigned greeting_count;
    unsigned open_handles; /* of the doors */
    bool warned;
};

/* -- greetings -- */

static void on_greeting_closed(uv_handle_t *handle)
{
    struct greeting *g = handle->data;
    if (--g->open_handles == 0)
        free(g);
}

/* Ends a greeting; its socket is closed unless it was handed on (fd is -1 then). */
static void greeting_end(struct greeting *g)
{
    struct greeting **at = &g->listener->greetings;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    g->listener->greeting_count--;
    uv_close((uv_handle_t *)&g->poll, on_greeting_closed);
    uv_close((uv_handle_t *)&g->deadline, on_greeting_closed);
    fdio_drop(&g->fd);
}

static void send_status(int fd, enum hello_status status)
{
    struct hello_reply reply = {.version = PROTOCOL_VERSION, .status = status, .max_streams = LIMIT_STREAMS};
    uint8_t bytes[HELLO_SIZE];
    hello_reply_encode(&reply, bytes);
    (void)fdio_send(fd, bytes, sizeof bytes, false);
}

static struct session *find_session(struct server *server, const uint8_t id[SESSION_ID_SIZE])
{
    struct session *s = server->sessions;
    while (s && !session_has_id(s, id))
        s = session_next(s);
    return s;
}

/* The socket goes to whom it is for; the greeting is over. */
static void hand_on(struct greeting *g, struct session *session)
{
    struct server *server = g->listener->server;
    struct hello hello = g->hello;
    int fd = g->fd;
    g->fd = -1;
    (void)uv_poll_stop(&g->poll);
    greeting_end(g);
    if (session)
        session_add_stream(session, &hello, fd);
    else
        session_open(server, fd);
}

static void dismiss(struct greeting *g, enum hello_status status)
{
    send_status(g->fd, status);
    greeting_end(g);
}

/* A data connection of a session with a token proves itself, too. */
static void ask_for_proof(struct greeting *g)
{
    struct hello_reply reply = {
        .version = PROTOCOL_VERSION, .status = HELLO_PROVE, .max_streams = LIMIT_STREAMS};
    uint8_t bytes[HELLO_SIZE];
    handshake_random(g->nonce, sizeof g->nonce);
    memcpy(reply.session, g->nonce, sizeof g->nonce);
    hello_reply_encode(&reply, bytes);
    g->proving = true;
    g->used = 0;
    if (fdio_send(g->fd, bytes, sizeof bytes, false) < 0)
        greeting_end(g);
}

static void take_proof(struct greeting *g)
{
    struct session *session = find_session(g->listener->server, g->hello.session);
    if (!session)
        dismiss(g, HELLO_UNKNOWN_SESSION);
    else if (!admission_takes_stream(session_admission(session), g->nonce, g->hello.stream, g->bytes))
        dismiss(g, HELLO_REFUSED);
    else
        hand_on(g, session);
}

static void take_hello(struct greeting *g)
{
    struct error err;
    if (hello_decode(&g->hello, g->bytes, &err) < 0) {
        char peer[SOCKET_NAME_MAX];
        log_info("%s: %s", socket_peer(g->fd, peer), err.text);
        if (err.code == ERROR_VERSION)
            send_status(g->fd, HELLO_VERSION);
        greeting_end(g);
        return;
    }
    bool data = g->hello.role == HELLO_DATA;
    struct session *session = data ? find_session(g->listener->server, g->hello.session) : NULL;
    if (data && !session)
        dismiss(g, HELLO_UNKNOWN_SESSION);
    else if (session && admission_asks_streams(session_admission(session)))
        ask_for_proof(g);
    else
        hand_on(g, session);
}

static void on_greeting_readable(uv_poll_t *poll, int status, int events)
{
    struct greeting *g = poll->data;
    size_t wanted = g->proving ? SECRET_SIZE : HELLO_SIZE;
    (void)events;
    ssize_t n = status < 0 ? 0 : recv(g->fd, g->bytes + g->used, wanted - g->used, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n <= 0) {
        greeting_end(g);
        return;
    }
    g->used += (size_t)n;
    if (g->used < wanted)
        return;
    if (g->refused)
        greeting_end(g);
    else if (g->proving)
        take_proof(g);
    else
        take_hello(g);
}

static void on_greeting_late(uv_timer_t *timer)
{
    greeting_end(timer->data);
}

static struct greeting *greeting_begin(struct listener *listener, int fd)
{
    struct greeting *g = calloc(1, sizeof *g);
    if (!g)
        abort();
    g->listener = listener;
    g->fd = fd;
    socket_host(fd, g->host);
    g->poll.data = g->deadline.data = g;
    if (uv_poll_init(&listener->server->loop, &g->poll, fd) != 0) {
        fdio_drop(&fd);
        free(g);
        return NULL;
    }
    (void)uv_timer_init(&listener->server->loop, &g->deadline);
    g->open_handles = 2;
    g->next = listener->greetings;
    listener->greetings = g;
    listener->greeting_count++;
    (void)uv_poll_start(&g->poll, UV_READABLE, on_greeting_readable);
    (void)uv_timer_start(&g->deadline, on_greeting_late, HELLO_TIMEOUT_MS, 0);
    return g;
}

/* Tells a peer why and closes. The hello that it sends meanwhile is read, for closing a socket with unread
 * bytes resets the connection and can take the answer with it. */
static void refuse(struct listener *listener, int fd)
{
    send_status(fd, HELLO_REFUSED);
    (void)shutdown(fd, SHUT_WR);
    struct greeting *g = greeting_begin(listener, fd);
    if (!g)
        return;
    g->refused = true;
    (void)uv_timer_start(&g->deadline, on_greeting_late, REFUSED_MS, 0);
}

/* -- doors -- */

static void on_door_readable(uv_poll_t *poll, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
    struct door *door = timer->data;
    (void)uv_poll_start(&door->poll, UV_READABLE, on_door_readable);
}

static void pause_door(struct door *door)
{
    if (!door->listener->warned)
        log_warn("cannot accept more connections: %s", strerror(errno));
    door->listener->warned = true; /* said once */
    (void)uv_poll_stop(&door->poll);
    (void)uv_timer_start(&door->pause, on_pause_over, ACCEPT_PAUSE_MS, 0);
}

/* One host alone cannot take all places. */
static bool is_full(const struct listener *listener, int fd)
{
    uint8_t host[SOCKET_HOST_SIZE];
    unsigned of_host = 0;
    socket_host(fd, host);
    for (const struct greeting *g = listener->greetings; g; g = g->next)
        of_host += memcmp(g->host, host, sizeof host) == 0;
    return listener->greeting_count >= SERVER_MAX_GREETINGS || of_host >= SERVER_MAX_GREETINGS_OF_HOST;
}

static void admit(struct listener *listener, int fd, const struct sockaddr *address)
{
    if (is_full(listener, fd)) {
        send_status(fd, HELLO_BUSY);
        fdio_drop(&fd);
    } else if (!config_is_allowed(listener->server->config, address)) {
        refuse(listener, fd);
    } else {
        (void)greeting_begin(listener, fd);
    }
}

static void on_door_readable(uv_poll_t *poll, int status, int events)
{
    struct door *door = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPT_BATCH; i++) {
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        int fd = accept4(door->fd, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(door->listener, fd, (struct sockaddr *)&address);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_door(door);
        else if (errno == EINTR || errno == ECONNABORTED)
            continue;
        return;
    }
}

static void on_door_closed(uv_handle_t *handle)
{
    struct door *door = handle->data;
    struct listener *listener = door->listener;
    if (--listener->open_handles > 0)
        return;
    free(listener->doors);
    free(listener);
}

static int open_door(struct listener *listener, struct door *door, const struct hostport *at,
                     struct hostport *bound, struct error *err)
{
    door->listener = listener;
    door->fd = socket_listen(at, bound, err);
    if (door->fd < 0)
        return -1;
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (!listener->server->config->no_auth && !listener->server->config->token_file &&
        (getsockname(door->fd, (struct sockaddr *)&address, &length) < 0 ||
         !hostport_is_loopback_address((struct sockaddr *)&address))) {
        fdio_drop(&door->fd);
        return error_set(
            err, ERROR_USAGE,
            "'%s' is no loopback address: everyone who reaches it could read and "
            "write the models; name tokens with --token-file FILE, or say --no-auth if that is meant",
            at->host);
    }
    door->poll.data = door->pause.data = door;
    if (uv_poll_init(&listener->server->loop, &door->poll, door->fd) != 0) {
        fdio_drop(&door->fd);
        return error_set(err, ERROR_FAILED, "cannot watch the listening socket");
    }
    (void)uv_timer_init(&listener->server->loop, &door->pause);
    (void)uv_poll_start(&door->poll, UV_READABLE, on_door_readable);
    listener->open_handles += 2;
    listener->door_count++;
    return 0;
}

int listener_open(struct server *server, struct hostport *first, struct error *err)
{
    struct listener *listener = calloc(1, sizeof *listener);
    size_t count = server->config->listen_count;
    if (!listener || !(listener->doors = calloc(count, sizeof *listener->doors)))
        abort();
    listener->server = server;
    server->listener = listener;
    for (size_t i = 0; i < count; i++) {
        struct hostport bound;
        if (open_door(listener, &listener->doors[i], &server->config->listen[i], &bound, err) < 0)
            return -1;
        if (i == 0)
            *first = bound;
        char name[HOSTPORT_TEXT_MAX];
        log_info("listening on %s", hostport_format(name, &bound));
    }
    return 0;
}

void listener_close(struct listener *listener)
{
    while (listener->greetings)
        greeting_end(listener->greetings);
    if (listener->door_count == 0) {
        free(listener->doors);
        free(listener);
        return;
    }
    for (size_t i = 0, count = listener->door_count; i < count; i++) {
        struct door *door = &listener->doors[i];
        uv_close((uv_handle_t *)&door->poll, on_door_closed);
        uv_close((uv_handle_t *)&door->pause, on_door_closed);
        fdio_drop(&door->fd);
    }
}
