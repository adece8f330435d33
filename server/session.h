/* A session: one control connection, its request, and the data connections that join it.
 *
 * The session reads frames, hands messages to the running request, writes answers with back-pressure, sends
 * `alive`, and gives up a silent client. What a request does is in query.c, push.c, pull.c, status.c, host.c
 * and measure_*.c, each a `struct request_type`.
 *
 * Threads: everything here runs on the loop; blocking work goes through session_work(). */
#ifndef SERVER_SESSION_H
#define SERVER_SESSION_H

#include "proto/hello.h"
#include "proto/message.h"
#include "server/admission.h"
#include "server/server.h"

#include <stdatomic.h>

struct session;
struct transfer;

/* What there is to tell of a request (`status`). */
struct request_state {
    const char *model; /* borrowed; NULL where it has none */
    uint64_t payload;  /* bytes of files that went over its data connections */
    unsigned streams;  /* data connections at work */
};

/* What the session asks of its running request. `request` is what session_begin() was given. */
struct request_type {
    /* A message from the client; keep parts of it by taking its pointers. NULL where a request takes none:
     * then it is out of place. */
    void (*on_message)(struct session *session, void *request, struct message *message);
    /* There is room for output: send some messages. False when there is nothing to send now. */
    bool (*produce)(struct session *session, void *request);
    /* A new data connection (taken). NULL where a request has none. */
    int (*on_stream)(struct session *session, void *request, unsigned number, int fd, struct error *err);
    bool (*takes_streams)(void *request);
    /* Payload bytes so far, a sign of life; may be NULL. */
    uint64_t (*bytes)(void *request);
    /* Twice a second; true if it has sent something. May be NULL. */
    bool (*on_tick)(struct session *session, void *request);
    /* Fills in what there is of it; all is zero before. NULL where there is nothing to tell. */
    void (*describe)(void *request, struct request_state *state);
    /* The client is gone or the daemon ends: stop all work, then session_finished(). Called once, perhaps
     * while session_work() runs. */
    void (*abandon)(struct session *session, void *request);
};

/* Takes a connected socket whose hello is `hello` (role control), and answers it. */
void session_open(struct server *server, int fd);

/* Closes it as if the client had gone. */
void session_close(struct session *session, const char *reason);

/* A data connection with this hello. Takes the socket; answers it, now or when a slot is free. */
void session_add_stream(struct session *session, const struct hello *hello, int fd);

/* A stream slot is free: true if a connection that waited for one has taken it. */
bool session_admit_waiting(struct session *session);

bool session_has_id(const struct session *session, const uint8_t id[SESSION_ID_SIZE]);
/* What its client has proven. */
const struct admission *session_admission(const struct session *session);

struct session *session_next(struct session *session);

/* What it is doing; false where there is nothing to tell yet or any more: its client has not proven its
 * token, or it ends. The strings are borrowed until the loop goes on. */
bool session_describe(struct session *session, struct message_session *out);

/* Data connections that wait for a slot. */
unsigned session_waiting(const struct session *session);

/* -- for requests -- */

void session_begin(struct session *session, const struct request_type *type, void *request);
void session_send(struct session *session, const struct message *message);
/* The message is out of place: says so and closes the session. */
void session_reject(struct session *session, const struct message *message);
/* Sends one batch of a listing from *at on. False if it was at its end. */
bool session_send_files(struct session *session, const struct listing *listing, size_t *at);
void session_send_simple(struct session *session, enum message_type type);
/* What each stream of a transfer that has stopped did with its time. */
void session_send_activity(struct session *session, const struct transfer *transfer);
/* Room has come for produce(), or something to send. */
void session_kick(struct session *session);
/* Tells the client why the request failed; session_finished() has to follow. */
void session_send_error(struct session *session, const struct error *error, const char *path);
/* The request is over and its memory is free; nothing of it may touch the session after this. */
void session_finished(struct session *session);
/* Runs `work` in a thread and `after` on the loop. One at a time. `*cancelled` of the session turns true when
 * it should hurry. */
void session_work(struct session *session, void (*work)(void *request),
                  void (*after)(struct session *, void *request));
const atomic_bool *session_cancelled(const struct session *session);
struct server *session_server(struct session *session);
const char *session_peer(const struct session *session);
/* The control connection's descriptor, borrowed, or -1. It is closed as soon as the client is gone: a worker
 * wants one of its own. */
int session_socket(const struct session *session);

#endif
