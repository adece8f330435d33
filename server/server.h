/* The daemon: the loop, its listeners, its sessions, its end. main() calls server_run() and nothing else. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "common/disk.h"
#include "common/mailbox.h"
#include "common/token.h"
#include "server/config.h"
#include "server/store.h"

#include <stdatomic.h>
#include <uv.h>

/* Control connections at a time; more are answered `busy`. */
#define SERVER_MAX_SESSIONS         256
#define SERVER_MAX_SESSIONS_OF_HOST 128
/* Connections that have not said hello yet. */
#define SERVER_MAX_GREETINGS         1024
#define SERVER_MAX_GREETINGS_OF_HOST 512

struct session;
struct listener;

struct server {
    uv_loop_t loop;
    const struct config *config;
    struct store store;
    struct disk disk;         /* that the root is on */
    struct token_list tokens; /* none: everyone may */
    struct mailbox *mailbox;  /* ends of stream threads */
    struct listener *listener;
    struct session *sessions; /* linked by session.c */
    unsigned session_count;
    unsigned streams; /* slots in use, over all sessions */
    uv_signal_t on_term, on_int;
    uv_timer_t sweep_timer, deadline, watchdog;
    uv_work_t sweep_work;
    bool sweeping, swept; /* a sweep is under way; the last one left nothing */
    uint64_t sweep_again_ms;
    uint64_t started_ms;
    uint64_t source_bytes, cached_bytes; /* of all pulls that have ended (common/activity.h) */
    atomic_bool stopping;
};

/* Serves until SIGTERM or SIGINT. Returns the exit status. */
int server_run(const struct config *config);

/* The trash has something: sweep soon. */
void server_want_sweep(struct server *server);

/* Called by sessions: one is gone, a stream slot is free. */
void server_on_session_gone(struct server *server);
void server_on_stream_ended(struct server *server);

#endif
