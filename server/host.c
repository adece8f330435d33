/* host: what this machine tells about itself, and bytes that fill packets. Reading takes a fraction of a
 * second in a worker; then the facts are streamed out, then the padding. */
#include "server/requests.h"
#include "server/session.h"

#include "common/fdio.h"
#include "common/machine_facts.h"
#include "proto/frame.h"

#include <fcntl.h>
#include <stdlib.h>

#define ALIVE_BYTES (FRAME_HEADER_SIZE + sizeof "{\"type\":\"alive\"}" - 1)

struct host {
    struct machine_view view;
    int socket; /* our own, for the session's may be closed while the worker asks it */
    struct fact_list facts;
    size_t next_fact;
    uint64_t padding; /* bytes that are left to send */
    bool finished;
};

/* -- in the thread -- */

static void host_run(void *request)
{
    struct host *host = request;
    machine_facts(&host->facts, &host->view);
}

/* -- on the loop -- */

static void host_end(struct session *session, struct host *host)
{
    facts_release(&host->facts);
    fdio_drop(&host->socket);
    free(host);
    session_finished(session);
}

static bool host_produce(struct session *session, void *request)
{
    struct host *host = request;
    if (!host->finished)
        return false;
    if (host->next_fact < host->facts.count) {
        const struct fact *fact = &host->facts.items[host->next_fact++];
        struct message message = {.type = MESSAGE_FACT, .u.fact = {fact->name, fact->value}};
        session_send(session, &message);
        return true;
    }
    if (host->padding > 0) {
        host->padding -= host->padding < ALIVE_BYTES ? host->padding : ALIVE_BYTES;
        session_send_simple(session, MESSAGE_ALIVE);
        return true;
    }
    session_send_simple(session, MESSAGE_END);
    host_end(session, host);
    return false;
}

static void host_after(struct session *session, void *request)
{
    struct host *host = request;
    host->finished = true;
    if (atomic_load(session_cancelled(session)))
        host_end(session, host);
    else
        session_kick(session);
}

/* While the worker runs, host_after() meets the end. */
static void host_abandon(struct session *session, void *request)
{
    struct host *host = request;
    if (host->finished)
        host_end(session, host);
}

void host_begin(struct session *session, struct message *message)
{
    static const struct request_type type = {.produce = host_produce, .abandon = host_abandon};
    const struct server *server = session_server(session);
    struct host *host = calloc(1, sizeof *host);
    if (!host)
        abort();
    host->padding = message->u.host.padding;
    host->socket = fcntl(session_socket(session), F_DUPFD_CLOEXEC, 0);
    host->view = (struct machine_view){
        .root = "", .socket = host->socket, .folder = server->store.root, .sample_ms = MACHINE_SAMPLE_MS};
    session_begin(session, &type, host);
    session_work(session, host_run, host_after);
}
