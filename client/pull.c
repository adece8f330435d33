/* pull: take the listing, leave out what is there, stage the rest, show it when all of it is proven. */
#include "client/attempts.h"
#include "client/commands.h"
#include "client/control.h"
#include "client/destination.h"
#include "client/hub_place.h"
#include "client/interrupt.h"
#include "client/model_check.h"
#include "client/plan.h"
#include "client/prediction.h"
#include "client/remote.h"
#include "client/report.h"
#include "client/select.h"
#include "client/single_file.h"
#include "client/transfer.h"
#include "client/warm.h"

#include "common/clock.h"
#include "common/digest.h"
#include "common/fdio.h"
#include "common/staging_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct pull {
    const struct options *options;
    const char *model, *dst;
    struct hub_place hub;   /* with --layout hf-cache: dst is its folder */
    struct single_file one; /* where only one file is wanted */
    struct report report;
    struct progress progress;
    bool counted;
    struct destination destination;
    bool is_open; /* the destination */

    /* of one attempt: */
    struct control control;
    struct listing remote; /* all files of the version */
    struct listing stored; /* all files of the version that was pulled, for a last look */
    char *origin;          /* of the version, or NULL */
    struct listing plan;   /* those to fetch */
    uint32_t *numbers;     /* of the plan's files in `remote` */
    uint64_t skipped_bytes, skipped_files, selected_files, selected_bytes;
    struct journal_state left; /* by an earlier pull */
    struct staging *staging;
    struct work_queue *work;
    struct error work_error;
    _Atomic uint64_t bytes_read; /* of what is here already */
};

/* -- deciding -- */

static bool is_wanted(const struct pull *p, const char *path)
{
    return p->options->file ? strcmp(path, p->options->file) == 0 : select_is_in(p->options, path);
}

static void count_wanted(struct pull *p)
{
    p->selected_bytes = p->selected_files = 0;
    for (size_t i = 0; i < p->remote.count; i++)
        if (is_wanted(p, p->remote.files[i].path)) {
            p->selected_files++;
            p->selected_bytes += p->remote.files[i].size;
        }
}

static bool is_there(struct pull *p, int folder, const struct file_entry *entry)
{
    return p->hub.folder ? hub_place_has(folder, entry, p->options->checksum, &p->bytes_read)
                         : plan_has_local(folder, entry, p->options->checksum, &p->bytes_read);
}

/* Every file that is wanted and not there goes into the plan. May hash; in a thread. */
static void decide(void *context)
{
    struct pull *p = context;
    int folder = destination_peek(p->dst);
    p->numbers = calloc(p->remote.count + 1, sizeof *p->numbers);
    if (!p->numbers)
        abort();
    for (uint32_t i = 0; i < p->remote.count; i++) {
        struct file_entry entry = p->remote.files[i];
        if (!is_wanted(p, entry.path))
            continue;
        if (p->options->file)
            entry.path = p->one.name;
        if (is_there(p, folder, &entry)) {
            p->skipped_files++;
            p->skipped_bytes += entry.size;
            continue;
        }
        p->numbers[p->plan.count] = i;
        listing_add(&p->plan, &entry)->from = FROM_SEND;
    }
    fdio_drop(&folder);
}

static bool note_inspected(void *context, uint64_t bytes)
{
    struct pull *p = context;
    atomic_fetch_add(&p->bytes_read, bytes);
    return !interrupt_is_set();
}

/* What an earlier pull left, held against the files in a thread. */
static void inspect(void *context)
{
    struct pull *p = context;
    p->work_error.code = ERROR_NONE;
    int folder = destination_staging_folder(&p->destination, &p->work_error);
    if (folder >= 0)
        (void)staging_tree_inspect(folder, &p->left, note_inspected, p, &p->work_error);
    fdio_drop(&folder);
}

static void look_at_reading(void *context)
{
    struct pull *p = context;
    progress_show_reading(&p->progress, p->bytes_read, p->selected_bytes);
}

static int run_work(struct pull *p, void (*work)(void *), void (*look)(void *), struct error *err)
{
    p->work_error.code = ERROR_NONE;
    if (control_work(&p->control, work, look, p, err) < 0)
        return -1;
    if (p->work_error.code == ERROR_NONE)
        return 0;
    *err = p->work_error;
    return -1;
}

/* Blocks of an earlier pull count only as far as the server's version has the same hashes. */
static int keep_proven(struct pull *p, uint32_t i, struct journal_file *left, struct error *err)
{
    struct file_entry *entry = &p->plan.files[i];
    uint64_t blocks = block_count(entry->size);
    uint8_t *hashes = calloc(blocks, HASH_SIZE);
    bool any = false;
    if (!hashes)
        abort();
    int known = remote_block_hashes(&p->control, p->numbers[i], blocks, hashes, err);
    for (uint64_t b = 0; known > 0 && b < left->blocks; b++) {
        if (left->present[b] && memcmp(left->hashes + b * HASH_SIZE, hashes + b * HASH_SIZE, HASH_SIZE) != 0)
            left->present[b] = 0;
        any = any || left->present[b];
    }
    bool whole = any && left->blocks == blocks && !memchr(left->present, 0, blocks);
    if (any && (whole || !left->complete))
        entry->from = FROM_STAGED;
    free(hashes);
    return known < 0 ? -1 : 0;
}

/* A complete file needs only its file hash; a partial one, the hashes of its blocks. */
static int match_left(struct pull *p, struct error *err)
{
    for (uint32_t i = 0; i < p->plan.count; i++) {
        struct file_entry *entry = &p->plan.files[i];
        struct journal_file *left = (struct journal_file *)plan_find_offer(&p->left, entry);
        uint8_t hash[HASH_SIZE];
        if (!left || !entry->has_hash)
            continue;
        if (left->complete) {
            digest_file(left->hashes, left->blocks, entry->size, hash);
            if (memcmp(hash, entry->hash, HASH_SIZE) == 0)
                entry->from = FROM_STAGED;
        } else if (keep_proven(p, i, left, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int stage(struct pull *p, struct error *err)
{
    struct staging_options options = {.io = p->options->io, .keep_cached = true};
    if (!p->is_open) {
        if (destination_open(&p->destination, p->dst, p->options->file ? p->one.staging : p->model, err) < 0)
            return -1;
        p->is_open = true;
    }
    if (destination_could_hold(&p->destination, listing_bytes(&p->plan), err) < 0)
        return -1;
    if (run_work(p, inspect, look_at_reading, err) < 0 || match_left(p, err) < 0)
        return -1;
    int folder = destination_staging_folder(&p->destination, err);
    if (folder < 0)
        return -1;
    return staging_create(&p->staging, folder, &p->plan, &p->left, &options, err);
}

static void prepare_work(struct pull *p)
{
    uint8_t *wanted = malloc(p->plan.count + 1);
    if (!wanted)
        abort();
    memset(wanted, 1, p->plan.count + 1);
    p->work = work_create(&p->plan, wanted, p->options->streams);
    free(wanted);
    for (uint32_t i = 0; p->staging && i < p->plan.count; i++)
        for (uint64_t b = 0; b < block_count(p->plan.files[i].size); b++)
            if (staging_has(p->staging, i, b))
                work_skip(p->work, i, b);
}

static void count_first(struct pull *p)
{
    if (p->counted)
        return;
    p->counted = true;
    p->report.files.total = p->selected_files;
    p->report.files.skipped = p->skipped_files;
    p->report.files.sent = p->plan.count;
    p->report.bytes.total = p->selected_bytes;
    p->report.bytes.skipped = p->skipped_bytes;
    p->report.bytes.resumed = p->work ? work_bytes_skipped(p->work) : 0;
    prediction_make(&p->report, p->options, p->work ? work_bytes_left(p->work) : listing_bytes(&p->plan));
}

/* -- moving -- */

static int judge_failures(struct pull *p, struct error *err)
{
    size_t count;
    const struct work_failure *failures = work_failures(p->work, &count);
    bool corrupt = false;
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        report_fail(&p->report, p->plan.files[failures[i].file].path, &failures[i].error);
        corrupt = corrupt || failures[i].error.code == ERROR_CORRUPT;
    }
    p->report.files.failed = count;
    p->report.files.sent -= count < p->report.files.sent ? count : p->report.files.sent;
    return error_set(err, corrupt ? ERROR_CORRUPT : ERROR_SOME_FILES,
                     "%zu of %llu files of '%s' failed; '%s' keeps what it had", count,
                     (unsigned long long)p->report.files.total, p->model, p->dst);
}

static int move(struct pull *p, struct error *err)
{
    struct stream_job job = {
        .work = p->work, .plan = &p->plan, .folder = -1, .staging = p->staging, .numbers = p->numbers};
    struct transfer_setup setup = {.control = &p->control,
                                   .job = &job,
                                   .run = pull_stream_run,
                                   .streams = p->options->streams < p->control.max_streams
                                                  ? p->options->streams
                                                  : p->control.max_streams,
                                   .retries = p->options->retries,
                                   .bytes_per_s = p->options->bytes_per_s,
                                   .progress = &p->progress,
                                   .skipped_bytes = p->skipped_bytes,
                                   .skipped_files = p->skipped_files,
                                   .total_bytes = p->selected_bytes,
                                   .total_files = p->selected_files};
    if (staging_start(p->staging, err) < 0 || transfer_run(&setup, &p->report, err) < 0)
        return -1;
    return judge_failures(p, err);
}

/* The blocks are proven one by one; the file hash proves that they are all of this version's file. */
static int check_file_hashes(struct pull *p, struct error *err)
{
    for (uint32_t i = 0; i < p->plan.count; i++) {
        const struct file_entry *entry = &p->plan.files[i];
        uint8_t hash[HASH_SIZE];
        if (!entry->has_hash)
            continue;
        digest_file(staging_hashes(p->staging, i), block_count(entry->size), entry->size, hash);
        if (memcmp(hash, entry->hash, HASH_SIZE) != 0)
            return error_set(err, ERROR_CORRUPT, "'%s' does not match the file hash that the server keeps",
                             entry->path);
    }
    return 0;
}

static void show(struct pull *p)
{
    int tree = staging_tree(p->staging);
    if (p->hub.folder)
        (void)hub_place_show(&p->hub, &p->destination, tree, &p->plan, p->numbers, &p->remote, p->options,
                             &p->work_error);
    else
        (void)destination_show(&p->destination, tree, &p->plan, &p->work_error);
}

/* Of files whose hashes the server did not know, from the blocks that came. */
static void learn_file_hashes(struct pull *p)
{
    for (uint32_t i = 0; i < p->plan.count; i++) {
        struct file_entry *entry = &p->remote.files[p->numbers[i]];
        if (!entry->has_hash)
            digest_file(staging_hashes(p->staging, i), block_count(entry->size), entry->size, entry->hash);
        entry->has_hash = true;
    }
}

/* Flushing and renaming, in a thread while the loop keeps the session alive. */
static void finish(void *context)
{
    struct pull *p = context;
    if (!staging_is_complete(p->staging))
        error_set(&p->work_error, ERROR_FAILED, "the pull of '%s' is not complete", p->model);
    else if (staging_finish(p->staging, &p->work_error) == 0 && check_file_hashes(p, &p->work_error) == 0) {
        learn_file_hashes(p);
        show(p);
    }
}

static int say_done(struct pull *p, struct error *err)
{
    struct message end;
    if (control_send_simple(&p->control, MESSAGE_DONE, err) < 0 ||
        transfer_read_last(&p->control, MESSAGE_END, &end, &p->report, err) < 0)
        return -1;
    message_release(&end);
    return 0;
}

/* Those files that were asked for, whoever brought them. */
static void warm(struct pull *p)
{
    struct warm *warm = &p->report.warm;
    int folder = p->destination.folder;
    char blob[HUB_BLOB_PATH_MAX];
    warm_begin(warm, folder);
    for (size_t i = 0; i < p->remote.count; i++) {
        const struct file_entry *entry = &p->remote.files[i];
        if (!is_wanted(p, entry->path))
            continue;
        if (!p->hub.folder)
            warm_file(warm, folder, p->options->file ? p->one.name : entry->path);
        else if (hub_blob_path(entry, blob))
            warm_file(warm, folder, blob);
    }
    warm_end(warm);
    p->report.has_warm = true;
}

static int fetch(struct pull *p, struct error *err)
{
    if (stage(p, err) < 0)
        return -1;
    prepare_work(p);
    count_first(p);
    static const struct listing nothing; /* blobs stand in nobody's way */
    if (destination_check(&p->destination, p->hub.folder ? &nothing : &p->plan,
                          staging_tree_space(staging_tree(p->staging), &p->plan, &p->left), err) < 0 ||
        move(p, err) < 0)
        return -1;
    uint64_t lap = clock_ns();
    if (run_work(p, finish, NULL, err) < 0)
        return -1;
    p->report.flush_ns = clock_lap(&lap);
    struct report *r = &p->report; /* what had to be sent twice over several attempts counts once */
    r->bytes.sent = r->bytes.total - r->bytes.skipped - r->bytes.resumed;
    r->verified = r->durable = true;
    if (!p->hub.folder && !p->options->file)
        destination_name_others(&p->destination, &p->remote, &p->report);
    struct error ignored; /* what was pulled is complete, whatever becomes of the session */
    (void)say_done(p, &ignored);
    if (p->options->warm)
        warm(p);
    p->stored = p->remote;
    p->remote = (struct listing){0};
    return 0;
}

static int dry_run(struct pull *p)
{
    count_first(p);
    p->report.bytes.sent = listing_bytes(&p->plan);
    for (size_t i = 0; i < p->plan.count; i++)
        report_move(&p->report, p->plan.files[i].path, p->plan.files[i].size);
    return 0;
}

/* Where in the Hub's cache: only the server knows. In a later attempt another place if the version is
 * another. */
static int choose_place(struct pull *p, struct error *err)
{
    struct hub_place place;
    if (p->options->layout != LAYOUT_HF_CACHE)
        return 0;
    if (hub_place_choose(&place, p->options->cache_dir, p->model, p->origin, err) < 0)
        return -1;
    if (p->is_open && strcmp(place.folder, p->dst) != 0) {
        destination_close(&p->destination, false);
        p->is_open = false;
    }
    if (p->is_open) { /* the destination has the old one's text */
        memcpy(p->hub.commit, place.commit, sizeof place.commit);
        hub_place_release(&place);
        return 0;
    }
    hub_place_release(&p->hub);
    p->hub = place;
    p->dst = place.folder;
    return 0;
}

static int name_missing_file(struct pull *p, struct error *err)
{
    const char *nearest = single_file_nearest(&p->remote, p->options->file);
    struct error missing;
    if (nearest)
        error_set(&missing, ERROR_FILE, "'%s' has no file '%s'; did you mean '%s'?", p->model,
                  p->options->file, nearest);
    else
        error_set(&missing, ERROR_FILE, "'%s' has no file '%s'; 'mstore info %s' lists them", p->model,
                  p->options->file, p->model);
    report_fail(&p->report, p->options->file, &missing);
    p->report.files.total = p->report.files.failed = 1;
    return error_set(err, ERROR_SOME_FILES, "nothing of '%s' was pulled", p->model);
}

static int pull_session(struct pull *p, struct error *err)
{
    if (control_request(&p->control, MESSAGE_PULL, p->model, err) < 0 ||
        remote_read_listing(&p->control, &p->remote, &p->origin, err) < 0 || choose_place(p, err) < 0)
        return -1;
    count_wanted(p);
    if (run_work(p, decide, look_at_reading, err) < 0)
        return -1;
    if (p->options->file && p->selected_files == 0)
        return name_missing_file(p, err);
    if (p->selected_files == 0 && p->remote.count > 0)
        return p->options->include.count > 0
                   ? error_set(err, ERROR_FAILED, "no file of '%s' matches --include '%s'", p->model,
                               p->options->include.items[0])
                   : error_set(err, ERROR_FAILED, "--exclude lets no file of '%s' through", p->model);
    return p->options->dry_run ? dry_run(p) : fetch(p, err);
}

static int pull_once(void *context, struct attempt *attempt, struct error *err)
{
    struct pull *p = context;
    if (control_open(&p->control, p->options, err) < 0)
        return -1;
    attempt->connected = attempt->goes_on = true;
    p->skipped_bytes = p->skipped_files = 0;
    p->bytes_read = 0;
    int result = pull_session(p, err);
    attempt->moved = p->report.bytes.sent;
    control_close(&p->control);
    staging_destroy(&p->staging);
    work_destroy(&p->work);
    journal_state_release(&p->left);
    listing_release(&p->remote);
    listing_release(&p->plan);
    free(p->numbers);
    free(p->origin);
    p->numbers = NULL;
    p->origin = NULL;
    return result;
}

/* Whether it was stored whole. */
static int check_whole(struct pull *p, struct error *err)
{
    char *snapshot = p->hub.folder ? hub_place_snapshot(&p->hub) : NULL;
    const char *shown = snapshot ? snapshot : p->dst;
    int folder = fdio_openat(AT_FDCWD, shown, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int result = folder < 0 ? error_set_sys(err, ERROR_FAILED, errno, "cannot open '%s'", shown)
                            : model_check_pull(folder, &p->stored, p->options, &p->report, err);
    fdio_drop(&folder);
    free(snapshot);
    return result;
}

int pull_run(const struct options *options, struct report *report, struct error *err)
{
    struct pull p = {.options = options, .model = options->arguments.items[0]};
    if (options->layout == LAYOUT_FOLDER)
        p.dst = options->arguments.items[1];
    p.report.command = "pull";
    p.report.model = p.model;
    p.report.dry_run = options->dry_run;
    *report = p.report;
    if (options->file && single_file_place(&p.one, p.model, options->file, p.dst, err) < 0)
        return -1;
    if (options->file)
        p.dst = p.one.folder;
    progress_begin(&p.progress, options, "pull");
    int result = attempts_run(options, pull_once, &p, err);
    if (p.is_open)
        destination_close(&p.destination, result == 0);
    struct progress_state last = {.bytes =
                                      p.report.bytes.skipped + p.report.bytes.resumed + p.report.bytes.sent,
                                  .total = p.report.bytes.total,
                                  .moved = p.report.bytes.sent};
    progress_end(&p.progress, &last);
    if (result == 0 && p.stored.count > 0 && !options->allow_incomplete && !options->file)
        result = check_whole(&p, err);
    listing_release(&p.stored);
    hub_place_release(&p.hub);
    single_file_release(&p.one);
    *report = p.report;
    return result;
}

int command_pull(const struct options *options)
{
    struct report report;
    struct error err = {0};
    if (pull_run(options, &report, &err) == 0)
        prediction_learn(&report, options);
    int status = report_print(&report, options, &err);
    report_release(&report);
    return status;
}
