/* A push: lock the model, offer what is there, take the plan, stage it, move blocks, publish. Whatever ends
 * it early leaves the staging for the next push, and the live version as it was. */
#include "server/check.h"
#include "server/metadata.h"
#include "server/requests.h"
#include "server/session.h"
#include "server/transfer.h"
#include "server/version.h"

#include "common/disk.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/path.h"
#include "common/staging.h"
#include "common/staging_tree.h"
#include "common/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum push_state {
    PUSH_OPENING,
    PUSH_OFFERING,
    PUSH_PLANNING,
    PUSH_PREPARING,
    PUSH_MOVING,
    PUSH_STOPPING,
    PUSH_ENDING,
};

struct push {
    enum push_state state;
    struct session *session;
    const struct store *store;
    const struct config *config;
    const atomic_bool *cancelled;
    char *id;
    struct error error;

    int lock_file, folder;
    struct version version; /* the live one */
    bool has_version, check;
    struct journal_state staged;
    _Atomic uint64_t inspected; /* bytes read of what is stored and staged */

    /* Where offering stands: */
    size_t listed, offered_file;
    uint64_t offered_block;
    bool told_listed;

    bool has_plan, add, commit;
    uint64_t planned_files, planned_bytes;
    uint64_t missing_files, missing_bytes; /* that the client has but cannot read */
    struct listing plan;
    char *origin; /* or NULL */

    struct staging *staging;
    struct transfer *transfer;
    uint64_t published_bytes;
};

/* -- ending: in a thread, for what arrived last is recorded -- */

static void release_run(void *request)
{
    struct push *p = request;
    staging_destroy(&p->staging);
    journal_state_release(&p->staged);
    if (p->has_version)
        version_close(&p->version);
    if (p->folder >= 0)
        store_drop_empty_staging(p->store, p->id);
    fdio_drop(&p->folder);
    fdio_drop(&p->lock_file); /* last: the model is free for others now */
}

static void release_after(struct session *session, void *request)
{
    struct push *p = request;
    server_want_sweep(session_server(session));
    transfer_destroy(&p->transfer);
    listing_release(&p->plan);
    free(p->origin);
    free(p->id);
    free(p);
    session_finished(session);
}

static void end(struct push *p)
{
    p->state = PUSH_ENDING;
    session_work(p->session, release_run, release_after);
}

static void fail(struct push *p, const char *path)
{
    session_send_error(p->session, &p->error, path);
    end(p);
    if (p->error.code == ERROR_PROTOCOL)
        session_close(p->session, "the client broke the protocol");
}

/* -- opening -- */

static bool on_inspected(void *context, uint64_t bytes)
{
    struct push *p = context;
    atomic_fetch_add(&p->inspected, bytes);
    return !atomic_load(p->cancelled);
}

/* On a file system that folds case `qwen/x` opens `Qwen/x`, and this push would replace it. */
static int check_spelling(struct push *p)
{
    const char *stored = p->version.manifest.summary.model;
    if (stored[0] ? strcmp(stored, p->id) == 0 : store_has_spelling(p->store, p->id))
        return 0;
    return error_set(&p->error, ERROR_FAILED,
                     "'%s' differs only in case from a stored model, and the server's file system does not "
                     "tell them apart",
                     p->id);
}

static int open_live(struct push *p)
{
    if (version_open(&p->version, p->store, p->id, &p->error) == 0)
        p->has_version = true;
    else if (p->error.code != ERROR_NO_MODEL)
        return -1;
    p->error.code = ERROR_NONE;
    return p->has_version ? check_spelling(p) : 0;
}

static void check_live(struct push *p)
{
    struct check check = {&p->version, p->cancelled, &p->inspected};
    check_listing(&check);
}

static void open_run(void *request)
{
    struct push *p = request;
    p->lock_file = store_lock_file(p->store, p->id, &p->error);
    if (p->lock_file < 0 ||
        store_lock_soon(p->lock_file, p->id, session_peer(p->session), p->cancelled, &p->error) < 0 ||
        open_live(p) < 0)
        return;
    if (p->check && p->has_version)
        check_live(p);
    p->folder = store_open_staging(p->store, p->id, &p->error);
    if (p->folder >= 0)
        (void)staging_tree_inspect(p->folder, &p->staged, on_inspected, p, &p->error);
}

static void open_after(struct session *session, void *request)
{
    struct push *p = request;
    if (atomic_load(p->cancelled)) {
        end(p);
    } else if (p->error.code != ERROR_NONE) {
        fail(p, NULL);
    } else {
        p->state = PUSH_OFFERING;
        session_kick(session);
    }
}

/* -- offering -- */

/* The next run of blocks that are there, of at most one message. */
static bool offer_run(struct push *p)
{
    while (p->offered_file < p->staged.count) {
        const struct journal_file *file = &p->staged.files[p->offered_file];
        uint64_t first = p->offered_block;
        while (first < file->blocks && !file->present[first])
            first++;
        uint64_t last = first;
        while (last < file->blocks && file->present[last] && last - first < LIMIT_BATCH_HASHES)
            last++;
        if (last == first) {
            p->offered_file++;
            p->offered_block = 0;
            continue;
        }
        struct message message = {.type = MESSAGE_STAGED,
                                  .u.staged = {file->entry.path,
                                               file->entry.size,
                                               file->entry.mtime,
                                               file->entry.nsec,
                                               file->entry.source,
                                               first,
                                               {file->hashes + first * HASH_SIZE, (size_t)(last - first)}}};
        session_send(p->session, &message);
        p->offered_block = last;
        return true;
    }
    return false;
}

static bool push_produce(struct session *session, void *request)
{
    struct push *p = request;
    if (p->state != PUSH_OFFERING)
        return false;
    if (p->has_version && session_send_files(session, &p->version.manifest.listing, &p->listed))
        return true;
    if (!p->told_listed) {
        p->told_listed = true;
        session_send_simple(session, MESSAGE_LISTED);
        return true;
    }
    if (offer_run(p))
        return true;
    p->state = PUSH_PLANNING;
    session_send_simple(session, MESSAGE_END);
    return false;
}

/* -- preparing -- */

/* With `add`, the stored files that the plan does not name stay. */
static void add_stored(struct push *p, const uint32_t *index, size_t planned)
{
    struct listing known = {p->plan.files, planned, planned};
    for (size_t i = 0; i < p->version.manifest.listing.count; i++) {
        struct file_entry entry = p->version.manifest.listing.files[i];
        known.files = p->plan.files; /* it moves as it grows */
        if (listing_find(&known, index, entry.path) >= 0)
            continue;
        entry.from = FROM_LIVE;
        listing_add(&p->plan, &entry);
    }
}

static int check_plan(struct push *p)
{
    const char *clash;
    uint32_t *index = listing_index(&p->plan, &clash);
    if (!index)
        return error_set(&p->error, ERROR_PROTOCOL, "the plan names '%s' twice, or as a file and as a folder",
                         clash);
    if (p->add && p->has_version) {
        add_stored(p, index, p->plan.count);
        free(index);
        index = listing_index(&p->plan, &clash);
    }
    if (!index)
        return error_set(
            &p->error, ERROR_FAILED,
            "'%s' is a file in one and a folder in the other of what is stored and what is added", clash);
    free(index);
    return 0;
}

/* What is known of stored files that stay and the plan does not say. Before the plan is shared. */
static void learn_of_live(struct push *p)
{
    const struct listing *live = &p->version.manifest.listing;
    const char *clash;
    uint32_t *index = p->has_version ? listing_index(live, &clash) : NULL;
    for (size_t i = 0; index && i < p->plan.count; i++) {
        struct file_entry *entry = &p->plan.files[i];
        int64_t found = entry->from == FROM_LIVE ? listing_find(live, index, entry->path) : -1;
        if (found >= 0)
            file_entry_learn(entry, &live->files[found]);
    }
    free(index);
}

/* Takes over the files that are the same as the stored ones. */
static int link_live(struct push *p)
{
    const struct listing *live = &p->version.manifest.listing;
    const char *clash;
    uint32_t *index = p->has_version ? listing_index(live, &clash) : NULL;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < p->plan.count; i++) {
        const struct file_entry *entry = &p->plan.files[i];
        if (entry->from != FROM_LIVE)
            continue;
        int64_t found = index ? listing_find(live, index, entry->path) : -1;
        if (found < 0 || live->files[found].size != entry->size)
            result = error_set(&p->error, ERROR_PROTOCOL, "'%s' is not stored with that size", entry->path);
        else
            result = staging_link(p->staging, i, p->version.folder,
                                  manifest_hashes(&p->version.manifest, (uint64_t)found), &p->error);
    }
    free(index);
    return result;
}

/* Space for what is still to come, looked at before anything moves. */
static int check_space(struct push *p)
{
    struct disk_space space;
    char need[UNITS_TEXT_MAX], have[UNITS_TEXT_MAX];
    uint64_t missing = staging_tree_space(staging_tree(p->staging), &p->plan, &p->staged);
    if (!disk_space(p->folder, &space) || missing <= space.available)
        return 0;
    return error_set(&p->error, ERROR_NO_SPACE, "no space on the server: '%s' needs %s more, %s are free",
                     p->id, units_format_bytes(need, missing), units_format_bytes(have, space.available));
}

/* Looked at before memory is taken for a plan that no disk here could hold. */
static int check_size(struct push *p)
{
    struct disk_space space;
    char need[UNITS_TEXT_MAX], all[UNITS_TEXT_MAX];
    uint64_t bytes = listing_bytes(&p->plan);
    if (!disk_space(p->folder, &space) || bytes <= space.total)
        return 0;
    return error_set(&p->error, ERROR_NO_SPACE, "no space on the server: '%s' has %s, all of its disk %s",
                     p->id, units_format_bytes(need, bytes), units_format_bytes(all, space.total));
}

static void prepare_run(void *request)
{
    struct push *p = request;
    struct staging_options options = {.io = p->config->io, .keep_cached = false};
    struct manifest_summary summary = {.mtime = time(NULL)};
    if (check_plan(p) < 0 || check_size(p) < 0)
        return;
    learn_of_live(p);
    summary.files = p->plan.count + p->missing_files;
    summary.bytes = listing_bytes(&p->plan) + p->missing_bytes;
    int folder = store_open_staging(p->store, p->id, &p->error);
    if (folder < 0 || store_save_plan(folder, &summary, &p->error) < 0) {
        fdio_drop(&folder);
        return;
    }
    if (staging_create(&p->staging, folder, &p->plan, &p->staged, &options, &p->error) < 0 ||
        link_live(p) < 0 || check_space(p) < 0 || staging_start(p->staging, &p->error) < 0)
        return;
    journal_state_release(&p->staged);
}

static void on_stream_ended(void *context)
{
    server_on_stream_ended(session_server(((struct push *)context)->session));
}

static void on_idle(void *context);

static void prepare_after(struct session *session, void *request)
{
    struct push *p = request;
    struct transfer_owner owner = {p, on_stream_ended, on_idle};
    if (atomic_load(p->cancelled)) {
        end(p);
    } else if (p->error.code != ERROR_NONE) {
        fail(p, NULL);
    } else {
        struct message ready = {.type = MESSAGE_READY, .u.ready = {.streams = LIMIT_STREAMS}};
        p->transfer = transfer_create_push(p->staging, &p->plan, &owner);
        p->state = PUSH_MOVING;
        session_send(session, &ready);
    }
}

/* -- publishing -- */

static int build_manifest(struct push *p, struct manifest *manifest)
{
    for (uint32_t i = 0; i < p->plan.count; i++) {
        const struct file_entry *entry = &p->plan.files[i];
        struct stat st;
        if (path_stat(staging_tree(p->staging), entry->path, &st) < 0)
            return error_set_sys(&p->error, ERROR_FILE, errno, "cannot find the received '%s'", entry->path);
        if ((uint64_t)st.st_size != entry->size)
            return error_set(&p->error, ERROR_CORRUPT, "the received '%s' has %llu bytes instead of %llu",
                             entry->path, (unsigned long long)st.st_size, (unsigned long long)entry->size);
        manifest_add(manifest, entry, st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec,
                     staging_hashes(p->staging, i));
    }
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    struct stat tree;
    manifest->summary.folder = fstat(staging_tree(p->staging), &tree) == 0 ? tree.st_ino : 0;
    (void)snprintf(manifest->summary.model, sizeof manifest->summary.model, "%s", p->id);
    (void)snprintf(manifest->summary.origin, sizeof manifest->summary.origin, "%s",
                   p->origin ? p->origin : "");
    manifest->summary.mtime = now.tv_sec;
    manifest->summary.nsec = (uint32_t)now.tv_nsec;
    manifest->summary.flawed = metadata_is_flawed(staging_tree(p->staging), &manifest->listing);
    return 0;
}

static void publish_run(void *request)
{
    struct push *p = request;
    struct manifest manifest = {0};
    if (!staging_is_complete(p->staging)) {
        error_set(&p->error, ERROR_PROTOCOL, "the client commits a push that is not complete");
    } else if (staging_finish(p->staging, &p->error) == 0 && build_manifest(p, &manifest) == 0) {
        staging_destroy(&p->staging);
        p->published_bytes = manifest.summary.bytes;
        (void)store_publish(p->store, p->id, p->lock_file, &manifest, &p->error);
    }
    manifest_release(&manifest);
    release_run(p);
}

static void publish_after(struct session *session, void *request)
{
    struct push *p = request;
    if (p->error.code != ERROR_NONE) {
        session_send_error(session, &p->error, NULL);
    } else {
        struct message published = {.type = MESSAGE_PUBLISHED,
                                    .u.published = {p->plan.count, p->published_bytes, true}};
        log_info("%s: published by %s", p->id, session_peer(session));
        session_send_activity(session, p->transfer);
        session_send(session, &published);
    }
    release_after(session, p);
}

static void on_idle(void *context)
{
    struct push *p = context;
    log_debug("push of %s by %s: received_bytes=%llu hashed_bytes=%llu", p->id, session_peer(p->session),
              (unsigned long long)transfer_bytes(p->transfer),
              (unsigned long long)transfer_hashed_bytes(p->transfer));
    if (p->commit && !atomic_load(p->cancelled)) {
        p->state = PUSH_ENDING;
        session_work(p->session, publish_run, publish_after);
    } else {
        end(p);
    }
}

/* -- messages -- */

static int take_plan(struct push *p, struct message *message)
{
    if (p->has_plan || message->u.plan.files == 0 || message->u.plan.files > LIMIT_FILES)
        return -1;
    p->has_plan = true;
    p->planned_files = message->u.plan.files;
    p->planned_bytes = message->u.plan.bytes;
    p->missing_files = message->u.plan.missing_files;
    p->missing_bytes = message->u.plan.missing_bytes;
    p->add = message->u.plan.add;
    p->origin = message->u.plan.origin;
    message->u.plan.origin = NULL;
    return 0;
}

static int take_files(struct push *p, const struct message *message)
{
    const struct listing *batch = &message->u.files;
    if (!p->has_plan || p->plan.count + batch->count > p->planned_files)
        return -1;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->files[i].from == FROM_NONE)
            return -1;
    return listing_add_batch(&p->plan, batch) ? 0 : -1;
}

static int take_go(struct push *p)
{
    if (!p->has_plan || p->plan.count != p->planned_files || listing_bytes(&p->plan) != p->planned_bytes)
        return -1;
    p->state = PUSH_PREPARING;
    session_work(p->session, prepare_run, prepare_after);
    return 0;
}

static int take_message(struct push *p, struct message *message)
{
    if (p->state == PUSH_PLANNING && message->type == MESSAGE_PLAN)
        return take_plan(p, message);
    if (p->state == PUSH_PLANNING && message->type == MESSAGE_FILES)
        return take_files(p, message);
    if (p->state == PUSH_PLANNING && message->type == MESSAGE_GO)
        return take_go(p);
    if (p->state != PUSH_MOVING || message->type != MESSAGE_COMMIT || p->missing_files > 0)
        return -1;
    p->commit = true;
    p->state = PUSH_STOPPING;
    transfer_stop(p->transfer);
    return 0;
}

static void push_message(struct session *session, void *request, struct message *message)
{
    if (take_message(request, message) < 0)
        session_reject(session, message);
}

static int push_stream(struct session *session, void *request, unsigned number, int fd, struct error *err)
{
    struct push *p = request;
    return transfer_add(p->transfer, number, fd, session_server(session)->mailbox, err);
}

static bool push_takes_streams(void *request)
{
    return ((struct push *)request)->state == PUSH_MOVING;
}

static uint64_t push_bytes(void *request)
{
    struct push *p = request;
    return atomic_load(&p->inspected) + (p->transfer ? transfer_bytes(p->transfer) : 0);
}

static void push_describe(void *request, struct request_state *state)
{
    struct push *p = request;
    state->model = p->id;
    state->payload = p->transfer ? transfer_bytes(p->transfer) : 0;
    state->streams = p->transfer ? transfer_active(p->transfer) : 0;
}

static void push_abandon(struct session *session, void *request)
{
    (void)session;
    struct push *p = request;
    if (p->state == PUSH_OFFERING || p->state == PUSH_PLANNING) {
        end(p);
    } else if (p->state == PUSH_MOVING) {
        p->state = PUSH_STOPPING;
        transfer_stop(p->transfer);
    }
}

void push_begin(struct session *session, struct message *message)
{
    static const struct request_type type = {.on_message = push_message,
                                             .produce = push_produce,
                                             .on_stream = push_stream,
                                             .takes_streams = push_takes_streams,
                                             .bytes = push_bytes,
                                             .describe = push_describe,
                                             .abandon = push_abandon};
    struct server *server = session_server(session);
    struct push *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->session = session;
    p->store = &server->store;
    p->config = server->config;
    p->cancelled = session_cancelled(session);
    p->lock_file = p->folder = -1;
    p->id = message->u.request.model;
    p->check = message->u.request.check;
    message->u.request.model = NULL;
    session_begin(session, &type, p);
    if (server->config->read_only) {
        error_set(&p->error, ERROR_REFUSED, "the server is read-only");
        fail(p, NULL);
    } else {
        session_work(session, open_run, open_after);
    }
}
