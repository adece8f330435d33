/* status: what the server is doing, once or every second on a terminal. One connection stays open for all of
 * it, as long as it holds: looking should cost the server little. */
#include "client/commands.h"
#include "client/output.h"
#include "client/question.h"
#include "client/screen.h"

#include "common/printable.h"
#include "common/socket.h"
#include "common/units.h"
#include "proto/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFRESH_MS 1000

struct status {
    struct message_server server; /* owns its strings, as the sessions do theirs */
    struct message_session *sessions;
    size_t count;
};

struct watch {
    const struct options *options;
    struct json *json; /* with --json */
    struct screen screen;
    uv_timer_t timer;
    bool due;
};

/* -- asking -- */

static void release(struct status *status)
{
    free(status->server.version);
    for (size_t i = 0; i < status->count; i++) {
        free(status->sessions[i].peer);
        free(status->sessions[i].request);
        free(status->sessions[i].model);
    }
    free(status->sessions);
    memset(status, 0, sizeof *status);
}

static void add_session(struct status *status, const struct message_session *session)
{
    if (!status->sessions)
        status->sessions = calloc(LIMIT_SESSIONS, sizeof *status->sessions);
    if (!status->sessions)
        abort();
    status->sessions[status->count++] = *session;
}

/* Takes the message's strings; false if it is out of place. */
static bool take(struct status *status, struct message *message)
{
    if (message->type == MESSAGE_SERVER && !status->server.version)
        status->server = message->u.server;
    else if (message->type == MESSAGE_SESSION && status->server.version && status->count < LIMIT_SESSIONS)
        add_session(status, &message->u.session);
    else
        return false;
    memset(&message->u, 0, sizeof message->u);
    return true;
}

static int ask_status(struct control *control, struct status *status, struct error *err)
{
    if (control_send_simple(control, MESSAGE_STATUS, err) < 0)
        return -1;
    for (;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        bool over = message.type == MESSAGE_END && status->server.version;
        bool good = over || take(status, &message);
        if (!good)
            (void)control_unexpected(&message, err);
        message_release(&message);
        if (!good || over)
            return good ? 0 : -1;
    }
}

/* -- JSON -- */

static void add_known(struct json *object, const char *key, uint64_t value, bool known)
{
    if (known)
        json_add_size(object, key, value);
    else
        json_add_null(object, key);
}

static void add_session_json(struct json *sessions, const struct message_session *session)
{
    struct json *object = json_add(sessions, NULL, json_object());
    json_add_text(object, "peer", session->peer);
    json_add_text(object, "request", session->request);
    if (session->model)
        json_add_text(object, "model", session->model);
    else
        json_add_null(object, "model");
    json_add_size(object, "bytes", session->bytes);
    json_add_size(object, "bytes_per_second", session->rate);
    json_add_size(object, "streams", session->streams);
    json_add_size(object, "seconds", session->age);
}

static void add_server_json(struct json *result, const struct message_server *server)
{
    json_add_size(result, "bytes_per_second", server->rate);
    struct json *root = json_add(result, "root", json_object());
    add_known(root, "bytes_free", server->bytes_free, server->bytes_total > 0);
    add_known(root, "bytes_total", server->bytes_total, server->bytes_total > 0);
    json_add_text(result, "version", server->version);
    struct json *streams = json_add(result, "streams", json_object());
    json_add_size(streams, "used", server->streams);
    json_add_size(streams, "max", server->max_streams);
    json_add_size(streams, "waiting", server->waiting);
    if (server->source > 0)
        json_add_number(result, "source_cached", (double)server->cached / (double)server->source);
    else
        json_add_null(result, "source_cached");
    json_add_size(result, "uptime_seconds", server->uptime);
}

static struct json *to_json(const struct status *status)
{
    struct json *result = json_object();
    struct json *sessions = json_add(result, "sessions", json_array());
    for (size_t i = 0; i < status->count; i++)
        add_session_json(sessions, &status->sessions[i]);
    if (status->server.version)
        add_server_json(result, &status->server);
    return result;
}

/* -- text -- */

static double percent(uint64_t part, uint64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

static void print_server(FILE *out, const struct options *options, const struct message_server *server)
{
    char version[64], at[HOSTPORT_TEXT_MAX], a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
    (void)fprintf(out, "mstored %s at %s, up %s\n", printable(server->version, version, sizeof version),
                  hostport_format(at, &options->server), units_format_duration(a, server->uptime * 1000));
    if (server->bytes_total > 0)
        (void)fprintf(out, "disk      %s free of %s (%.0f %%)\n", units_format_bytes(a, server->bytes_free),
                      units_format_bytes(b, server->bytes_total),
                      percent(server->bytes_free, server->bytes_total));
    (void)fprintf(out, "moving    %s on %" PRIu64 " of %" PRIu64 " streams, %" PRIu64 " waiting\n",
                  units_format_rate(a, server->rate), server->streams, server->max_streams, server->waiting);
    if (server->source > 0)
        (void)fprintf(out, "cache     held %.0f %% of %s that were pulled\n",
                      percent(server->cached, server->source), units_format_bytes(a, server->source));
}

static void print_session(FILE *out, const struct message_session *session)
{
    char peer[SOCKET_NAME_MAX], request[32], bytes[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX], age[UNITS_TEXT_MAX];
    (void)fprintf(out, "%-24s %-8s %-36s %9s %10s %7" PRIu64 " %9s\n",
                  printable(session->peer, peer, sizeof peer),
                  session->request[0] ? printable(session->request, request, sizeof request) : "-",
                  session->model ? session->model : "-", units_format_bytes(bytes, session->bytes),
                  units_format_rate(rate, session->rate), session->streams,
                  units_format_duration(age, session->age * 1000));
}

static void print_status(FILE *out, const struct options *options, const struct status *status)
{
    print_server(out, options, &status->server);
    if (status->count == 0) {
        (void)fprintf(out, "no other session\n");
        return;
    }
    (void)fprintf(out, "\n%-24s %-8s %-36s %9s %10s %7s %9s\n", "PEER", "REQUEST", "MODEL", "MOVED", "RATE",
                  "STREAMS", "AGE");
    for (size_t i = 0; i < status->count; i++)
        print_session(out, &status->sessions[i]);
}

/* -- once, or again and again -- */

static void draw(struct watch *watch, const struct status *status)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        abort();
    print_status(out, watch->options, status);
    if (fclose(out) != 0)
        abort();
    screen_draw(&watch->screen, text);
    free(text);
}

static void on_due(uv_timer_t *timer)
{
    ((struct watch *)timer->data)->due = true;
}

static int wait_for_next(struct control *control, struct watch *watch, struct error *err)
{
    watch->due = false;
    (void)uv_timer_start(&watch->timer, on_due, REFRESH_MS, 0);
    while (!watch->due)
        if (control_wait(control, err) < 0)
            return -1;
    return 0;
}

/* Until a signal comes or the connection is lost; *err says which. */
static int watch_on(struct control *control, struct watch *watch, struct attempt *attempt, struct error *err)
{
    struct status status = {0};
    (void)uv_timer_init(&control->loop, &watch->timer);
    watch->timer.data = watch;
    while (ask_status(control, &status, err) == 0) {
        attempt->moved++;
        draw(watch, &status);
        release(&status);
        if (wait_for_next(control, watch, err) < 0)
            break;
    }
    release(&status);
    screen_end(&watch->screen);
    uv_close((uv_handle_t *)&watch->timer, NULL);
    return -1;
}

static int look_once(struct control *control, struct watch *watch, struct error *err)
{
    struct status status = {0};
    int result = ask_status(control, &status, err);
    if (result == 0 && watch->options->json)
        watch->json = to_json(&status);
    else if (result == 0)
        print_status(stdout, watch->options, &status);
    release(&status);
    return result;
}

static int ask(struct control *control, void *context, struct attempt *attempt, struct error *err)
{
    struct watch *watch = context;
    return !watch->options->json && screen_can_draw(STDOUT_FILENO) ? watch_on(control, watch, attempt, err)
                                                                   : look_once(control, watch, err);
}

int command_status(const struct options *options)
{
    struct watch watch = {.options = options};
    struct error err = {0};
    (void)question_ask(options, ask, &watch, &err);
    return output_finish(options, watch.json, &err);
}
