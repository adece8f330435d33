/* A pull: open a version, list it, serve its blocks until the client is done, keep what was learned on the
 * way. */
#include "server/requests.h"
#include "server/session.h"
#include "server/transfer.h"
#include "server/version.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

enum pull_state { PULL_OPENING, PULL_LISTING, PULL_SERVING, PULL_STOPPING, PULL_CLOSING };

struct pull {
    enum pull_state state;
    struct session *session;
    const struct store *store;
    char *id;
    struct error error;
    struct version version;
    bool has_version, client_is_done;
    size_t listed;
    struct transfer *transfer;
    /* An answer to `hashes` under way: */
    bool answering;
    uint32_t asked_file;
    uint64_t asked_block;
};

static void pull_end(struct pull *p)
{
    struct session *session = p->session;
    transfer_destroy(&p->transfer);
    free(p->id);
    free(p);
    session_finished(session);
}

/* -- closing: in a thread, for keeping what was learned writes files -- */

static void close_run(void *request)
{
    struct pull *p = request;
    if (version_save_learned(&p->version, p->store, &p->error) < 0)
        log_warn("%s: the hashes are not kept: %s", p->id, p->error.text);
    version_close(&p->version);
}

static void close_after(struct session *session, void *request)
{
    struct pull *p = request;
    if (p->client_is_done) {
        session_send_activity(session, p->transfer);
        session_send_simple(session, MESSAGE_END);
    }
    server_want_sweep(session_server(session)); /* the trash may hold what was pinned */
    pull_end(p);
}

/* Adds what this pull has read to what all have. */
static void count_source(const struct pull *p)
{
    struct server *server = session_server(p->session);
    for (unsigned i = 0; i < LIMIT_STREAMS; i++) {
        const struct activity *activity = transfer_activity(p->transfer, i);
        server->source_bytes += activity ? activity->source_bytes : 0;
        server->cached_bytes += activity ? activity->cached_bytes : 0;
    }
}

static void on_idle(void *context)
{
    struct pull *p = context;
    log_debug("pull of %s by %s: sent_bytes=%llu hashed_bytes=%llu", p->id, session_peer(p->session),
              (unsigned long long)transfer_bytes(p->transfer),
              (unsigned long long)transfer_hashed_bytes(p->transfer));
    count_source(p);
    p->state = PULL_CLOSING;
    session_work(p->session, close_run, close_after);
}

static void on_stream_ended(void *context)
{
    server_on_stream_ended(session_server(((struct pull *)context)->session));
}

static void stop(struct pull *p)
{
    p->state = PULL_STOPPING;
    transfer_stop(p->transfer);
}

/* -- opening -- */

static void open_run(void *request)
{
    struct pull *p = request;
    if (version_open(&p->version, p->store, p->id, &p->error) < 0)
        return;
    p->has_version = true;
    if (p->version.missing)
        error_set(&p->error, ERROR_SOME_FILES, "%llu files of '%s' are missing from the store, first '%s'",
                  (unsigned long long)p->version.missing, p->id, p->version.first_missing);
}

static void note_staged(void *context, const struct message_model *model)
{
    struct pull *p = context;
    uint64_t percent = model->bytes ? model->present * 100 / model->bytes : 0;
    error_set(&p->error, ERROR_NO_MODEL,
              "there is only an unfinished push of '%s' (%llu %% there); push it again to complete it", p->id,
              (unsigned long long)percent);
}

static void explain_missing(struct pull *p)
{
    struct error ignored;
    if (p->error.code == ERROR_NO_MODEL)
        (void)store_describe(p->store, p->id, note_staged, p, &ignored);
}

static void open_and_explain(void *request)
{
    struct pull *p = request;
    open_run(p);
    explain_missing(p);
}

static void open_after(struct session *session, void *request)
{
    struct pull *p = request;
    struct transfer_owner owner = {p, on_stream_ended, on_idle};
    bool cancelled = atomic_load(session_cancelled(session));
    if (p->error.code != ERROR_NONE || cancelled) {
        if (!cancelled)
            session_send_error(session, &p->error, NULL);
        if (p->has_version)
            version_close(&p->version);
        pull_end(p);
        return;
    }
    p->transfer = transfer_create_pull(&p->version, &session_server(session)->disk, &owner);
    p->state = PULL_LISTING;
    session_kick(session);
}

/* -- serving -- */

/* One run of hashes, or the end of them. */
static void answer_hashes(struct pull *p)
{
    const uint8_t *hashes = manifest_hashes(&p->version.manifest, p->asked_file);
    uint64_t blocks = hashes ? block_count(p->version.manifest.listing.files[p->asked_file].size) : 0;
    uint64_t left = blocks - p->asked_block;
    if (left == 0) {
        p->answering = false;
        session_send_simple(p->session, MESSAGE_END);
        return;
    }
    size_t count = left < LIMIT_BATCH_HASHES ? (size_t)left : LIMIT_BATCH_HASHES;
    struct message message = {
        .type = MESSAGE_BLOCKS,
        .u.blocks = {p->asked_file, p->asked_block, {(uint8_t *)hashes + p->asked_block * HASH_SIZE, count}}};
    session_send(p->session, &message);
    p->asked_block += count;
}

static bool pull_produce(struct session *session, void *request)
{
    struct pull *p = request;
    if (p->state == PULL_LISTING) {
        if (session_send_files(session, &p->version.manifest.listing, &p->listed))
            return true;
        const char *origin = p->version.manifest.summary.origin;
        struct message ready = {.type = MESSAGE_READY,
                                .u.ready = {LIMIT_STREAMS, (char *)(origin[0] ? origin : NULL)}};
        p->state = PULL_SERVING;
        session_send(session, &ready);
        return true;
    }
    if (p->state != PULL_SERVING || !p->answering)
        return false;
    answer_hashes(p);
    return true;
}

static void pull_message(struct session *session, void *request, struct message *message)
{
    struct pull *p = request;
    if (p->state == PULL_SERVING && message->type == MESSAGE_DONE) {
        p->client_is_done = true;
        stop(p);
    } else if (p->state == PULL_SERVING && message->type == MESSAGE_HASHES && !p->answering &&
               message->u.hashes.file < p->version.manifest.listing.count) {
        p->answering = true;
        p->asked_file = (uint32_t)message->u.hashes.file;
        p->asked_block = 0;
        session_kick(session);
    } else {
        session_reject(session, message);
    }
}

static int pull_stream(struct session *session, void *request, unsigned number, int fd, struct error *err)
{
    struct pull *p = request;
    return transfer_add(p->transfer, number, fd, session_server(session)->mailbox, err);
}

static bool pull_takes_streams(void *request)
{
    return ((struct pull *)request)->state == PULL_SERVING;
}

static uint64_t pull_bytes(void *request)
{
    struct pull *p = request;
    return p->transfer ? transfer_bytes(p->transfer) : 0;
}

static void pull_describe(void *request, struct request_state *state)
{
    struct pull *p = request;
    state->model = p->id;
    state->payload = pull_bytes(p);
    state->streams = p->transfer ? transfer_active(p->transfer) : 0;
}

static void pull_abandon(struct session *session, void *request)
{
    (void)session;
    struct pull *p = request;
    if (p->state == PULL_LISTING || p->state == PULL_SERVING)
        stop(p);
}

void pull_begin(struct session *session, struct message *message)
{
    static const struct request_type type = {.on_message = pull_message,
                                             .produce = pull_produce,
                                             .on_stream = pull_stream,
                                             .takes_streams = pull_takes_streams,
                                             .bytes = pull_bytes,
                                             .describe = pull_describe,
                                             .abandon = pull_abandon};
    struct pull *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->session = session;
    p->store = &session_server(session)->store;
    p->id = message->u.request.model;
    message->u.request.model = NULL;
    session_begin(session, &type, p);
    session_work(session, open_and_explain, open_after);
}
