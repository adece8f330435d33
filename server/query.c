/* list, info, remove and verify: work in a thread that fills a result, then the result is streamed out. */
#include "server/check.h"
#include "server/metadata.h"
#include "server/requests.h"
#include "server/session.h"
#include "server/version.h"

#include "common/fdio.h"
#include "common/fingerprint.h"
#include "common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct checked_file {
    bool ok, fresh;
    struct size_list bad;
};

struct query {
    enum message_type type;
    char *id;
    const struct store *store;
    const char *peer;
    bool brief;
    const atomic_bool *cancelled;
    struct error error;

    struct message_model *models;
    size_t model_count, next_model;
    struct version version;
    bool has_version;
    struct listing *listing; /* of the version, or NULL */
    size_t next_file;
    struct checked_file *checked;
    struct json *metadata; /* of the version, until it is sent; or NULL */
    _Atomic uint64_t verified, total;
    uint64_t told; /* bytes of the last `progress` */
    bool finished;
};

/* -- in the thread -- */

static void add_model(void *context, const struct message_model *model)
{
    struct query *q = context;
    if ((q->model_count & (q->model_count - 1)) == 0) {
        q->models = realloc(q->models, (q->model_count ? 2 * q->model_count : 1) * sizeof *q->models);
        if (!q->models)
            abort();
    }
    q->models[q->model_count] = *model;
    q->models[q->model_count].name = strdup(model->name);
    if (!q->models[q->model_count++].name)
        abort();
}

static int run_info(struct query *q)
{
    if (version_open(&q->version, q->store, q->id, &q->error) < 0)
        return q->error.code == ERROR_NO_MODEL ? store_describe(q->store, q->id, add_model, q, &q->error)
                                               : -1;
    q->has_version = true;
    if (!q->brief) {
        q->listing = &q->version.manifest.listing;
        q->metadata = version_metadata(&q->version, q->cancelled);
    }
    const struct manifest_summary *summary = &q->version.manifest.summary;
    struct message_model model = {.name = q->id,
                                  .bytes = summary->bytes,
                                  .files = summary->files,
                                  .mtime = summary->mtime,
                                  .nsec = summary->nsec,
                                  .state = (char *)(q->version.missing ? "incomplete" : "complete"),
                                  .present = summary->bytes,
                                  .flawed = summary->flawed,
                                  .origin = (char *)(summary->origin[0] ? summary->origin : NULL),
                                  .warnings = q->version.warnings + q->version.missing,
                                  .version = fingerprint_of(&q->version.manifest.listing)};
    q->error.code = ERROR_NONE;
    add_model(q, &model);
    return 0;
}

static int run_remove(struct query *q)
{
    int lock_file = store_lock_file(q->store, q->id, &q->error);
    int result = lock_file < 0 ? -1 : store_lock_soon(lock_file, q->id, q->peer, q->cancelled, &q->error);
    if (result == 0)
        result = store_remove(q->store, q->id, lock_file, &q->error);
    fdio_drop(&lock_file);
    return result;
}

static int run_verify(struct query *q)
{
    if (version_open(&q->version, q->store, q->id, &q->error) < 0)
        return -1;
    q->has_version = true;
    q->listing = &q->version.manifest.listing;
    q->checked = calloc(q->listing->count + 1, sizeof *q->checked);
    if (!q->checked)
        abort();
    atomic_store(&q->total, listing_bytes(q->listing));
    struct check check = {&q->version, q->cancelled, &q->verified};
    for (uint32_t i = 0; i < q->listing->count && !atomic_load(q->cancelled); i++) {
        q->checked[i].ok = check_file(&check, i, &q->checked[i].bad);
        q->checked[i].fresh = !q->listing->files[i].has_hash;
    }
    if (!q->version.missing)
        q->metadata = version_metadata(&q->version, q->cancelled);
    if (!atomic_load(q->cancelled) && version_save_learned(&q->version, q->store, &q->error) < 0)
        log_warn("%s: the hashes are not kept: %s", q->id, q->error.text);
    q->error.code = ERROR_NONE;
    if (q->version.missing)
        return error_set(&q->error, ERROR_FILE, "%llu files of '%s' are missing from the store, first '%s'",
                         (unsigned long long)q->version.missing, q->id, q->version.first_missing);
    return 0;
}

static void query_run(void *request)
{
    struct query *q = request;
    switch (q->type) {
    case MESSAGE_LIST:
        (void)store_list(q->store, add_model, q, &q->error);
        break;
    case MESSAGE_INFO:
        (void)run_info(q);
        break;
    case MESSAGE_REMOVE:
        (void)run_remove(q);
        break;
    default:
        (void)run_verify(q);
        break;
    }
}

/* -- on the loop -- */

static void query_end(struct session *session, struct query *q)
{
    for (size_t i = 0; i < q->model_count; i++)
        free(q->models[i].name);
    free(q->models);
    for (size_t i = 0; q->checked && i < q->listing->count; i++)
        free(q->checked[i].bad.values);
    free(q->checked);
    json_free(q->metadata);
    if (q->has_version)
        version_close(&q->version);
    free(q->id);
    free(q);
    session_finished(session);
}

static void send_checked(struct session *session, struct query *q)
{
    struct checked_file *checked = &q->checked[q->next_file];
    struct message message = {
        .type = MESSAGE_CHECKED,
        .u.checked = {q->listing->files[q->next_file].path, checked->ok, checked->fresh, checked->bad}};
    session_send(session, &message);
    q->next_file++;
}

static bool query_produce(struct session *session, void *request)
{
    struct query *q = request;
    if (!q->finished)
        return false;
    if (q->next_model < q->model_count) {
        struct message message = {.type = MESSAGE_MODEL, .u.model = q->models[q->next_model++]};
        session_send(session, &message);
        return true;
    }
    if (q->checked && q->next_file < q->listing->count) {
        send_checked(session, q);
        return true;
    }
    if (q->type == MESSAGE_INFO && q->listing && session_send_files(session, q->listing, &q->next_file))
        return true;
    if (q->metadata && q->error.code == ERROR_NONE) {
        struct message message = {.type = MESSAGE_METADATA, .u.metadata = {q->metadata}};
        session_send(session, &message);
        json_free(q->metadata);
        q->metadata = NULL;
    }
    if (q->error.code != ERROR_NONE)
        session_send_error(session, &q->error, NULL);
    else
        session_send_simple(session, MESSAGE_END);
    query_end(session, q);
    return false;
}

static void query_after(struct session *session, void *request)
{
    struct query *q = request;
    q->finished = true;
    if (atomic_load(q->cancelled)) {
        query_end(session, q);
        return;
    }
    if (q->type == MESSAGE_REMOVE)
        server_want_sweep(session_server(session));
    session_kick(session);
}

/* While it runs, query_after() meets `cancelled`; once it has finished, nothing else is under way. */
static void query_abandon(struct session *session, void *request)
{
    struct query *q = request;
    if (q->finished)
        query_end(session, q);
}

static uint64_t query_bytes(void *request)
{
    return atomic_load(&((struct query *)request)->verified);
}

static void query_describe(void *request, struct request_state *state)
{
    state->model = ((struct query *)request)->id;
}

/* `progress` takes the place of `alive` while a verification runs. */
static bool query_tick(struct session *session, void *request)
{
    struct query *q = request;
    uint64_t bytes = atomic_load(&q->verified);
    if (q->type != MESSAGE_VERIFY || q->finished || bytes == q->told)
        return false;
    struct message message = {.type = MESSAGE_PROGRESS, .u.progress = {bytes, atomic_load(&q->total)}};
    q->told = bytes;
    session_send(session, &message);
    return true;
}

void query_begin(struct session *session, struct message *message)
{
    static const struct request_type type = {.produce = query_produce,
                                             .bytes = query_bytes,
                                             .on_tick = query_tick,
                                             .describe = query_describe,
                                             .abandon = query_abandon};
    struct server *server = session_server(session);
    struct query *q = calloc(1, sizeof *q);
    if (!q)
        abort();
    q->type = message->type;
    if (q->type != MESSAGE_LIST) {
        q->id = message->u.request.model;
        q->brief = message->u.request.brief;
        message->u.request.model = NULL;
    }
    q->store = &server->store;
    q->peer = session_peer(session);
    q->cancelled = session_cancelled(session);
    session_begin(session, &type, q);
    if (q->type == MESSAGE_REMOVE && server->config->read_only) {
        error_set(&q->error, ERROR_REFUSED, "the server is read-only");
        q->finished = true;
        session_kick(session);
        return;
    }
    session_work(session, query_run, query_after);
}
