/* The life of the daemon: open the store, listen, say so, serve, and on SIGTERM let every session record what
 * it has. */
#include "server/server.h"

#include "common/clock.h"
#include "common/log.h"
#include "server/listener.h"
#include "server/notify.h"
#include "server/session.h"
#include "server/transfer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The trash waits for pins of this and other daemons, so it is looked at now and then without cause; where
 * something was left in it, sooner, with growing pauses. */
#define SWEEP_EVERY_MS 60000
#define SWEEP_AGAIN_MS 2000
/* From SIGTERM to the end, whatever is still being flushed: the store holds after a crash, so it holds after
 * this too. */
#define STOP_MS       4500
#define SWEEP_SOON_MS 100

static void on_stream_mail(void *context, struct mail *mail)
{
    (void)context;
    transfer_on_mail(mail);
}

/* -- sweeping -- */

static void on_sweep_work(uv_work_t *work)
{
    struct server *server = work->data;
    server->swept = store_sweep(&server->store, server->config->staging_days, &server->stopping);
}

static void on_sweep_time(uv_timer_t *timer);

static void on_sweep_done(uv_work_t *work, int status)
{
    struct server *server = work->data;
    (void)status;
    server->sweeping = false;
    if (server->swept)
        server->sweep_again_ms = SWEEP_AGAIN_MS;
    if (server->swept || atomic_load(&server->stopping) || server->sweep_again_ms >= SWEEP_EVERY_MS)
        return;
    (void)uv_timer_start(&server->sweep_timer, on_sweep_time, server->sweep_again_ms, SWEEP_EVERY_MS);
    server->sweep_again_ms *= 2;
}

static void on_sweep_time(uv_timer_t *timer)
{
    struct server *server = timer->data;
    if (server->sweeping || atomic_load(&server->stopping))
        return;
    server->sweeping = true;
    server->sweep_work.data = server;
    if (uv_queue_work(&server->loop, &server->sweep_work, on_sweep_work, on_sweep_done) != 0)
        server->sweeping = false;
}

void server_want_sweep(struct server *server)
{
    bool is_near = uv_timer_get_due_in(&server->sweep_timer) <= SWEEP_SOON_MS &&
                   uv_is_active((uv_handle_t *)&server->sweep_timer);
    if (!atomic_load(&server->stopping) && !server->config->read_only && !is_near)
        (void)uv_timer_start(&server->sweep_timer, on_sweep_time, SWEEP_SOON_MS, SWEEP_EVERY_MS);
}

/* -- the watchdog: the loop says that it turns -- */

static void on_watchdog_time(uv_timer_t *timer)
{
    (void)timer;
    notify_systemd("WATCHDOG=1");
}

static void start_watchdog(struct server *server)
{
    uint64_t every_ms = notify_watchdog_ms();
    if (every_ms > 0)
        (void)uv_timer_start(&server->watchdog, on_watchdog_time, every_ms, every_ms);
    uv_unref((uv_handle_t *)&server->watchdog);
}

/* -- the end -- */

/* When the last session is gone, no thread can post any more, and the loop runs out of handles. */
static void maybe_finish(struct server *server)
{
    if (atomic_load(&server->stopping) && server->session_count == 0 && server->mailbox)
        mailbox_close(&server->mailbox);
}

void server_on_session_gone(struct server *server)
{
    server->session_count--;
    maybe_finish(server);
}

void server_on_stream_ended(struct server *server)
{
    server->streams--;
    for (struct session *s = server->sessions; s; s = session_next(s))
        if (session_admit_waiting(s))
            return;
}

static void on_deadline(uv_timer_t *timer)
{
    (void)timer;
    log_warn("ends before everything is flushed; what was recorded is kept");
    _exit(0);
}

static void stop(struct server *server)
{
    (void)uv_timer_start(&server->deadline, on_deadline, STOP_MS, 0);
    uv_unref((uv_handle_t *)&server->deadline);
    atomic_store(&server->stopping, true);
    notify_systemd("STOPPING=1");
    if (server->listener)
        listener_close(server->listener);
    server->listener = NULL;
    uv_close((uv_handle_t *)&server->sweep_timer, NULL);
    for (struct session *s = server->sessions, *next; s; s = next) {
        next = session_next(s);
        session_close(s, "the daemon ends");
    }
    uv_unref((uv_handle_t *)&server->on_term);
    uv_unref((uv_handle_t *)&server->on_int);
    maybe_finish(server);
}

/* The second one ends it at once: what was recorded up to a second ago is kept anyway. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    if (atomic_load(&server->stopping))
        _exit(128 + number);
    log_info("ends by signal %d", number);
    stop(server);
}

static int load_tokens(struct server *server, struct error *err)
{
    const char *file = server->config->token_file;
    if (!file)
        return 0;
    if (token_list_load(&server->tokens, file, err) < 0)
        return -1;
    if (server->tokens.short_line > 0)
        log_warn(
            "the token in line %zu of '%s' is short and can be guessed: 'mstored --make-token rw' makes one",
            server->tokens.short_line, file);
    return 0;
}

static int start(struct server *server, struct hostport *ready, struct error *err)
{
    if (store_open(&server->store, server->config->root, err) < 0)
        return -1;
    if (load_tokens(server, err) < 0)
        return -1;
    disk_init(&server->disk, server->store.root);
    if (server->disk.is_rotational)
        log_info("the root is on a rotating disk: blocks are read in turn, each in one run");
    (void)uv_signal_init(&server->loop, &server->on_term);
    (void)uv_signal_init(&server->loop, &server->on_int);
    (void)uv_timer_init(&server->loop, &server->sweep_timer);
    (void)uv_timer_init(&server->loop, &server->deadline);
    (void)uv_timer_init(&server->loop, &server->watchdog);
    server->on_term.data = server->on_int.data = server->sweep_timer.data = server;
    (void)uv_signal_start(&server->on_term, on_signal, SIGTERM);
    (void)uv_signal_start(&server->on_int, on_signal, SIGINT);
    server->mailbox = mailbox_open(&server->loop, on_stream_mail, server);
    return listener_open(server, ready, err);
}

static void close_signal_handles(struct server *server)
{
    uv_close((uv_handle_t *)&server->on_term, NULL);
    uv_close((uv_handle_t *)&server->on_int, NULL);
    uv_close((uv_handle_t *)&server->deadline, NULL);
    uv_close((uv_handle_t *)&server->watchdog, NULL);
    (void)uv_run(&server->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&server->loop);
}

int server_run(const struct config *config)
{
    struct server server = {.config = config, .sweep_again_ms = SWEEP_AGAIN_MS, .started_ms = clock_ms()};
    struct hostport ready;
    struct error err = {0};
    char name[HOSTPORT_TEXT_MAX];
    if (uv_loop_init(&server.loop) != 0) {
        log_error("cannot start the event loop");
        return 1;
    }
    int result = start(&server, &ready, &err);
    if (result < 0) {
        log_error("%s", err.text);
        if (server.mailbox)
            stop(&server);
    } else {
        (void)printf("mstored ready %s\n", hostport_format(name, &ready));
        (void)fflush(stdout);
        notify_systemd("READY=1");
        start_watchdog(&server);
        server_want_sweep(&server);
    }
    if (server.mailbox || result == 0)
        (void)uv_run(&server.loop, UV_RUN_DEFAULT);
    if (result == 0 || server.on_term.data)
        close_signal_handles(&server);
    else
        (void)uv_loop_close(&server.loop);
    disk_release(&server.disk);
    token_list_release(&server.tokens);
    store_close(&server.store);
    return result < 0 ? error_exit_status(err.code) : 0;
}
