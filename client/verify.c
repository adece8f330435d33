/* verify: the server checks its copy, or the client checks a folder of its own against the hashes that the
 * server keeps. */
#include "client/commands.h"
#include "client/interrupt.h"
#include "client/metadata_text.h"
#include "client/output.h"
#include "client/progress.h"
#include "client/question.h"
#include "client/remote.h"

#include "common/block_pass.h"
#include "common/fdio.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct verify {
    const struct options *options;
    const char *model;
    struct json *files; /* with --json */
    struct progress progress;
    uint64_t checked, bad, fresh, unknown;
    uint64_t total;              /* bytes of a local copy, as it should be */
    _Atomic uint64_t bytes_read; /* of them */
    struct json *metadata;       /* the server's, or NULL */
};

static void take_result(struct verify *v, const char *path, bool ok, const struct size_list *blocks)
{
    v->checked++;
    v->bad += !ok;
    if (v->files) {
        struct json *file = json_add(v->files, NULL, json_object());
        json_add_path(file, "path", path, true);
        json_add_bool(file, "ok", ok);
        struct json *bad = json_add(file, "bad_blocks", json_array());
        for (size_t i = 0; i < blocks->count; i++)
            json_add_size(bad, NULL, blocks->values[i]);
    } else if (!ok) {
        (void)printf("bad  ");
        output_text(path);
        for (size_t i = 0; i < blocks->count && i < 16; i++)
            (void)printf("%s%" PRIu64, i == 0 ? "  blocks " : ", ", blocks->values[i]);
        (void)printf("%s\n", blocks->count > 16 ? ", …" : "");
    }
}

static void show(struct verify *v, uint64_t bytes, uint64_t total)
{
    struct progress_state state = {.bytes = bytes, .total = total, .moved = bytes};
    progress_show(&v->progress, &state);
}

/* -- the server's copy -- */

static void take_checked(struct verify *v, const struct message *message)
{
    const char *path = message->u.checked.path;
    take_result(v, path, message->u.checked.ok, &message->u.checked.bad);
    if (!message->u.checked.fresh || !message->u.checked.ok)
        return;
    v->fresh++;
    if (!v->files) {
        (void)printf("new  ");
        output_text(path);
        (void)printf("\n");
    }
}

/* Headers that do not fit, shards that are missing: bytes that are as they were pushed may lack something. */
static void take_metadata(struct verify *v, struct message *message)
{
    json_free(v->metadata);
    v->metadata = message->u.metadata.metadata;
    message->u.metadata.metadata = NULL;
    if (!metadata_is_complete(v->metadata))
        metadata_print_findings(v->metadata);
}

static int read_results(struct control *control, struct verify *v, struct error *err)
{
    for (;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        enum message_type type = message.type;
        if (type == MESSAGE_PROGRESS)
            show(v, message.u.progress.bytes, message.u.progress.total);
        else if (type == MESSAGE_CHECKED)
            take_checked(v, &message);
        else if (type == MESSAGE_METADATA)
            take_metadata(v, &message);
        else if (type != MESSAGE_END)
            (void)control_unexpected(&message, err);
        message_release(&message);
        if (type == MESSAGE_END)
            return 0;
        if (type != MESSAGE_PROGRESS && type != MESSAGE_CHECKED && type != MESSAGE_METADATA)
            return -1;
    }
}

static int verify_server(struct control *control, struct verify *v, struct error *err)
{
    if (control_request(control, MESSAGE_VERIFY, v->model, err) < 0)
        return -1;
    return read_results(control, v, err);
}

/* -- a local copy -- */

struct local_check {
    struct verify *verify;
    int folder;
    const struct file_entry *entry;
    const uint8_t *hashes;
    struct size_list bad;
    bool ok;
};

static bool check_block(void *context, uint64_t block, const uint8_t *hash)
{
    struct local_check *c = context;
    if (!hash || memcmp(hash, c->hashes + block * HASH_SIZE, HASH_SIZE) != 0)
        size_list_add(&c->bad, block);
    atomic_fetch_add(&c->verify->bytes_read, block_length(c->entry->size, block));
    return !interrupt_is_set();
}

/* In a thread. A file that is missing, shorter or longer is bad from the first block that is. */
static void check_local(void *context)
{
    struct local_check *c = context;
    char extra;
    int fd = path_open(c->folder, c->entry->path, O_RDONLY | O_NONBLOCK, 0);
    (void)block_pass(fd, c->entry->size, block_count(c->entry->size), NULL, check_block, c);
    bool longer = fd >= 0 && fdio_pread(fd, &extra, 1, c->entry->size) == 1;
    fdio_drop(&fd);
    c->ok = c->bad.count == 0 && !longer;
}

static void look_at_check(void *context)
{
    struct verify *v = ((struct local_check *)context)->verify;
    show(v, v->bytes_read, v->total);
}

/* 1 checked, 0 the server knows no hashes of it, -1. */
static int verify_local_file(struct control *control, struct verify *v, int folder, uint32_t number,
                             const struct file_entry *entry, struct error *err)
{
    uint64_t blocks = block_count(entry->size);
    uint8_t *hashes = calloc(blocks, HASH_SIZE);
    struct local_check check = {.verify = v, .folder = folder, .entry = entry, .hashes = hashes};
    if (!hashes)
        abort();
    int result = remote_block_hashes(control, number, blocks, hashes, err);
    if (result > 0)
        result = control_work(control, check_local, look_at_check, &check, err) < 0 ? -1 : 1;
    if (result > 0)
        take_result(v, entry->path, check.ok, &check.bad);
    free(check.bad.values);
    free(hashes);
    return result;
}

static int verify_listing(struct control *control, struct verify *v, int folder,
                          const struct listing *listing, struct error *err)
{
    v->total = listing_bytes(listing);
    for (uint32_t i = 0; i < listing->count; i++) {
        int result = verify_local_file(control, v, folder, i, &listing->files[i], err);
        if (result < 0)
            return -1;
        v->unknown += result == 0;
        v->bytes_read += result == 0 ? listing->files[i].size : 0;
        show(v, v->bytes_read, v->total);
    }
    return 0;
}

static int verify_local(struct control *control, struct verify *v, const char *path, struct error *err)
{
    struct listing listing = {0};
    v->unknown = 0;
    v->bytes_read = 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot open the folder '%s'", path);
    int result = control_request(control, MESSAGE_PULL, v->model, err);
    if (result == 0)
        result = remote_read_listing(control, &listing, NULL, err);
    if (result == 0)
        result = verify_listing(control, v, folder, &listing, err);
    if (result == 0 && v->unknown > 0)
        result =
            error_set(err, ERROR_FAILED,
                      "the server keeps no hashes of %" PRIu64 " files; verify the model on the server first",
                      v->unknown);
    listing_release(&listing);
    fdio_drop(&folder);
    return result;
}

/* -- */

static int ask(struct control *control, void *context, struct attempt *attempt, struct error *err)
{
    struct verify *v = context;
    const struct optparse_list *arguments = &v->options->arguments;
    int result = arguments->count > 1 ? verify_local(control, v, arguments->items[1], err)
                                      : verify_server(control, v, err);
    attempt->told = v->checked > 0 || v->metadata;
    return result;
}

static void say_success(const struct verify *v)
{
    (void)printf("verified %s: %" PRIu64 " files match their hashes", v->model, v->checked - v->fresh);
    if (v->fresh > 0)
        (void)printf("; %" PRIu64 " new or changed on the server had none, they have one now", v->fresh);
    (void)printf("\n");
}

static void conclude(const struct verify *v, struct json *result, struct error *err)
{
    if (err->code == ERROR_NONE && v->bad > 0)
        error_set(err, ERROR_CORRUPT, "%" PRIu64 " of %" PRIu64 " files of '%s' do not match their hashes",
                  v->bad, v->checked, v->model);
    if (err->code == ERROR_NONE && !metadata_is_complete(v->metadata))
        error_set(err, ERROR_SOME_FILES, "the files of '%s' match their hashes, but it is not whole",
                  v->model);
    if (result)
        json_add_bool(result, "ok", err->code == ERROR_NONE);
    else if (err->code == ERROR_NONE && !v->options->quiet)
        say_success(v);
}

int command_verify(const struct options *options)
{
    struct error err = {0};
    struct json *result = options->json ? json_object() : NULL;
    struct verify v = {.options = options, .model = options->arguments.items[0]};
    if (result) {
        json_add_text(result, "model", v.model);
        v.files = json_array();
    }
    progress_begin(&v.progress, options, "verify");
    (void)question_ask(options, ask, &v, &err);
    struct progress_state last = {.bytes = 1, .total = 1};
    progress_end(&v.progress, &last);
    conclude(&v, result, &err);
    if (result)
        json_add(result, "files", v.files);
    if (result && v.metadata)
        json_add(result, "metadata", v.metadata);
    else
        json_free(v.metadata);
    return output_finish(options, result, &err);
}
