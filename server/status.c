/* status: what the daemon is doing. Only the file system is asked in a worker, for one of a network may take
 * its time; the rest is on the loop already, and small enough to leave at once. */
#include "server/requests.h"
#include "server/session.h"

#include "common/clock.h"
#include "common/disk.h"
#include "proto/limits.h"
#include "proto/version.h"

#include <stdlib.h>

_Static_assert(SERVER_MAX_SESSIONS <= LIMIT_SESSIONS, "status tells of every session");

struct status {
    int root; /* borrowed */
    struct disk_space space;
    bool finished;
};

/* In the thread. Where the file system does not tell, both stay 0. */
static void status_run(void *request)
{
    struct status *status = request;
    (void)disk_space(status->root, &status->space);
}

/* -- on the loop -- */

static void status_end(struct session *session, struct status *status)
{
    free(status);
    session_finished(session);
}

static void send_server(struct session *session, const struct disk_space *space)
{
    const struct server *server = session_server(session);
    struct message message = {.type = MESSAGE_SERVER};
    struct message_server *m = &message.u.server;
    m->version = (char *)MSTORE_VERSION;
    m->uptime = (clock_ms() - server->started_ms) / 1000;
    m->bytes_free = limit_size(space->available);
    m->bytes_total = limit_size(space->total);
    m->streams = server->streams;
    m->max_streams = server->config->max_streams;
    m->source = limit_size(server->source_bytes);
    m->cached = limit_size(server->cached_bytes);
    for (struct session *s = server->sessions; s; s = session_next(s)) {
        struct message_session one;
        m->waiting += session_waiting(s);
        m->rate += session_describe(s, &one) ? one.rate : 0;
    }
    session_send(session, &message);
}

static void send_sessions(struct session *session)
{
    struct message message = {.type = MESSAGE_SESSION};
    for (struct session *s = session_server(session)->sessions; s; s = session_next(s))
        if (s != session && session_describe(s, &message.u.session))
            session_send(session, &message);
}

static bool status_produce(struct session *session, void *request)
{
    struct status *status = request;
    if (!status->finished)
        return false;
    send_server(session, &status->space);
    send_sessions(session);
    session_send_simple(session, MESSAGE_END);
    status_end(session, status);
    return false;
}

static void status_after(struct session *session, void *request)
{
    struct status *status = request;
    status->finished = true;
    if (atomic_load(session_cancelled(session)))
        status_end(session, status);
    else
        session_kick(session);
}

/* While the worker runs, status_after() meets the end. */
static void status_abandon(struct session *session, void *request)
{
    struct status *status = request;
    if (status->finished)
        status_end(session, status);
}

void status_begin(struct session *session)
{
    static const struct request_type type = {.produce = status_produce, .abandon = status_abandon};
    struct status *status = calloc(1, sizeof *status);
    if (!status)
        abort();
    status->root = session_server(session)->store.root;
    session_begin(session, &type, status);
    session_work(session, status_run, status_after);
}
