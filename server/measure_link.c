/* link: what the link carries alone, by streams whose bytes mean nothing. */
#include "server/requests.h"
#include "server/session.h"
#include "server/transfer.h"

#include <stdlib.h>

struct link {
    struct session *session;
    struct transfer *transfer;
    bool client_is_done;
};

static void link_idle(void *context)
{
    struct link *l = context;
    struct session *session = l->session;
    if (l->client_is_done) {
        session_send_activity(session, l->transfer);
        session_send_simple(session, MESSAGE_END);
    }
    transfer_destroy(&l->transfer);
    free(l);
    session_finished(session);
}

static void link_stream_ended(void *context)
{
    server_on_stream_ended(session_server(((struct link *)context)->session));
}

static void link_message(struct session *session, void *request, struct message *message)
{
    struct link *l = request;
    if (message->type != MESSAGE_DONE || l->client_is_done) {
        session_reject(session, message);
        return;
    }
    l->client_is_done = true;
    transfer_stop(l->transfer);
}

static int link_stream(struct session *session, void *request, unsigned number, int fd, struct error *err)
{
    struct link *l = request;
    return transfer_add(l->transfer, number, fd, session_server(session)->mailbox, err);
}

static bool link_takes_streams(void *request)
{
    return !((struct link *)request)->client_is_done;
}

static uint64_t link_bytes(void *request)
{
    return transfer_bytes(((struct link *)request)->transfer);
}

static void link_describe(void *request, struct request_state *state)
{
    const struct link *l = request;
    state->payload = transfer_bytes(l->transfer);
    state->streams = transfer_active(l->transfer);
}

static void link_abandon(struct session *session, void *request)
{
    (void)session;
    transfer_stop(((struct link *)request)->transfer);
}

void link_begin(struct session *session)
{
    static const struct request_type type = {.on_message = link_message,
                                             .on_stream = link_stream,
                                             .takes_streams = link_takes_streams,
                                             .bytes = link_bytes,
                                             .describe = link_describe,
                                             .abandon = link_abandon};
    struct message ready = {.type = MESSAGE_READY, .u.ready = {LIMIT_STREAMS}};
    struct link *l = calloc(1, sizeof *l);
    if (!l)
        abort();
    struct transfer_owner owner = {l, link_stream_ended, link_idle};
    l->session = session;
    l->transfer = transfer_create_link(&owner);
    session_begin(session, &type, l);
    session_send(session, &ready);
}
