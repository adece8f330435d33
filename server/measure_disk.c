/* disk_write and disk_read: what the disk carries alone, in a thread. Nothing of it stays. */
#include "server/requests.h"
#include "server/session.h"
#include "server/version.h"

#include "common/disk_load.h"
#include "common/fdio.h"

#include <errno.h>
#include <stdlib.h>

struct disk_request {
    char *model; /* NULL: a file of its own is written and read */
    uint64_t bytes;
    const struct store *store;
    enum io_mode io;
    const atomic_bool *cancelled;
    struct error error;
    struct disk_rate written, read;
    _Atomic uint64_t done;
    uint64_t told;
    bool finished;
};

static bool disk_progress(void *context, uint64_t bytes)
{
    struct disk_request *d = context;
    atomic_store(&d->done, d->written.bytes + bytes);
    return !atomic_load(d->cancelled);
}

static void run_own_file(struct disk_request *d)
{
    struct disk_load load;
    if (disk_load_open(&load, d->store->staging, d->io != IO_BUFFERED, &d->error) < 0)
        return;
    load.progress = disk_progress;
    load.context = d;
    if (disk_load_write(&load, d->bytes, &d->written, &d->error) == 0)
        (void)disk_load_read(&load, &d->read, &d->error);
    disk_load_close(&load);
}

static int by_size(const void *a, const void *b)
{
    const struct file_entry *one = *(const struct file_entry *const *)a,
                            *two = *(const struct file_entry *const *)b;
    return one->size < two->size ? 1 : one->size > two->size ? -1 : one < two ? -1 : one > two;
}

static int read_file(struct disk_request *d, struct version *version, uint32_t file, struct disk_load *load)
{
    const struct file_entry *entry = &version->manifest.listing.files[file];
    uint64_t left = d->bytes - d->read.bytes;
    int fd = version_open_file(version, file);
    if (fd < 0)
        return error_set_sys(&d->error, ERROR_FILE, errno, "cannot open '%s' on the server", entry->path);
    int result = disk_load_read_file(load, fd, left < entry->size ? left : entry->size, &d->read, &d->error);
    fdio_drop(&fd);
    return result;
}

static void run_model(struct disk_request *d)
{
    struct version version;
    struct disk_load load = {.fd = -1, .progress = disk_progress, .context = d};
    if (version_open(&version, d->store, d->model, &d->error) < 0)
        return;
    const struct listing *listing = &version.manifest.listing;
    const struct file_entry **files = calloc(listing->count + 1, sizeof(struct file_entry *));
    if (!files)
        abort();
    for (size_t i = 0; i < listing->count; i++)
        files[i] = &listing->files[i];
    qsort(files, listing->count, sizeof(struct file_entry *), by_size);
    for (size_t i = 0; i < listing->count && d->read.bytes < d->bytes; i++)
        if (read_file(d, &version, (uint32_t)(files[i] - listing->files), &load) < 0)
            break;
    free(files);
    version_close(&version);
}

static void disk_run(void *request)
{
    struct disk_request *d = request;
    if (d->model)
        run_model(d);
    else
        run_own_file(d);
}

static void disk_end(struct session *session, struct disk_request *d)
{
    free(d->model);
    free(d);
    session_finished(session);
}

static void send_measured(struct session *session, bool write, const struct disk_rate *rate)
{
    struct message message = {.type = MESSAGE_MEASURED,
                              .u.measured = {write, rate->bytes, rate->ns, rate->cached}};
    session_send(session, &message);
}

static void disk_answer(struct session *session, struct disk_request *d)
{
    if (d->error.code != ERROR_NONE) {
        session_send_error(session, &d->error, NULL);
    } else {
        if (!d->model)
            send_measured(session, true, &d->written);
        send_measured(session, false, &d->read);
        session_send_simple(session, MESSAGE_END);
    }
    disk_end(session, d);
}

static void disk_after(struct session *session, void *request)
{
    struct disk_request *d = request;
    d->finished = true;
    if (atomic_load(d->cancelled))
        disk_end(session, d);
    else
        disk_answer(session, d);
}

/* disk_after() meets `cancelled`. */
static void disk_abandon(struct session *session, void *request)
{
    (void)session;
    (void)request;
}

static uint64_t disk_bytes(void *request)
{
    return atomic_load(&((struct disk_request *)request)->done);
}

static void disk_describe(void *request, struct request_state *state)
{
    state->model = ((struct disk_request *)request)->model;
}

static bool disk_tick(struct session *session, void *request)
{
    struct disk_request *d = request;
    uint64_t done = atomic_load(&d->done);
    if (done == d->told)
        return false;
    struct message message = {.type = MESSAGE_PROGRESS,
                              .u.progress = {done, d->model ? d->bytes : 2 * d->bytes}};
    d->told = done;
    session_send(session, &message);
    return true;
}

void disk_begin(struct session *session, struct message *message)
{
    static const struct request_type type = {
        .bytes = disk_bytes, .on_tick = disk_tick, .describe = disk_describe, .abandon = disk_abandon};
    struct server *server = session_server(session);
    struct disk_request *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->bytes = message->u.disk.bytes;
    if (message->type == MESSAGE_DISK_READ) {
        d->model = message->u.disk.model;
        message->u.disk.model = NULL;
    }
    d->store = &server->store;
    d->io = server->config->io;
    d->cancelled = session_cancelled(session);
    session_begin(session, &type, d);
    if (d->bytes == 0 || d->bytes > LIMIT_MEASURE)
        error_set(&d->error, ERROR_USAGE, "a disk is measured with 1 byte to 1 TiB");
    else if (!d->model && server->config->read_only)
        error_set(&d->error, ERROR_REFUSED, "the server is read-only");
    if (d->error.code != ERROR_NONE)
        disk_answer(session, d);
    else
        session_work(session, disk_run, disk_after);
}
