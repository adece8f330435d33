/* push: scan the folder, ask what is stored, send a plan, move what is missing, commit. */
#include "client/attempts.h"
#include "client/commands.h"
#include "client/control.h"
#include "client/hub.h"
#include "client/hub_snapshot.h"
#include "client/interrupt.h"
#include "client/model_check.h"
#include "client/output.h"
#include "client/plan.h"
#include "client/prediction.h"
#include "client/report.h"
#include "client/scan.h"
#include "client/sha256_pass.h"
#include "client/transfer.h"

#include "common/clock.h"
#include "common/units.h"

#include <stdlib.h>
#include <string.h>

struct push {
    const struct options *options;
    const char *model;
    struct report report;
    struct scan scan;
    struct hub_snapshot snapshot; /* where the source is one */
    struct progress progress;
    bool counted; /* what was there at the first attempt is in the report */

    /* of one attempt: */
    struct control control;
    struct listing stored;
    struct journal_state offers;
    struct work_queue *work;
    struct error plan_error;
    _Atomic uint64_t bytes_read; /* of the source, before anything is sent */
};

/* -- what is there -- */

static bool take_offer(struct journal_state *offers, const struct message *message)
{
    uint64_t first = message->u.staged.first, count = message->u.staged.hashes.count;
    struct journal_file *file = offers->count > 0 ? &offers->files[offers->count - 1] : NULL;
    uint64_t most = block_count(message->u.staged.size);
    if (first >= most || count > most - first || most > JOURNAL_MAX_BLOCKS)
        return false;
    if (!file || strcmp(file->entry.path, message->u.staged.path) != 0) {
        if ((offers->count & (offers->count - 1)) == 0)
            offers->files =
                realloc(offers->files, (offers->count ? 2 * offers->count : 1) * sizeof *offers->files);
        if (!offers->files)
            abort();
        file = &offers->files[offers->count++];
        *file = (struct journal_file){.entry = {.path = strdup(message->u.staged.path),
                                                .size = message->u.staged.size,
                                                .mtime = message->u.staged.mtime,
                                                .nsec = message->u.staged.nsec,
                                                .source = message->u.staged.source}};
    }
    if (file->entry.size != message->u.staged.size || first < file->blocks)
        return false;
    file->hashes = realloc(file->hashes, (first + count) * HASH_SIZE);
    file->present = realloc(file->present, first + count);
    if (!file->hashes || !file->present)
        abort();
    memset(file->present + file->blocks, 0, first - file->blocks);
    memset(file->present + first, 1, count);
    memcpy(file->hashes + first * HASH_SIZE, message->u.staged.hashes.bytes, count * HASH_SIZE);
    file->blocks = first + count;
    return true;
}

/* Reads `files …, listed, staged …, end`. */
static int read_stored(struct push *p, struct error *err)
{
    bool listed = false, over = false;
    while (!over) {
        struct message message;
        bool good = true;
        if (control_next(&p->control, &message, err) < 0)
            return -1;
        if (message.type == MESSAGE_FILES && !listed)
            good = listing_add_batch(&p->stored, &message.u.files);
        else if (message.type == MESSAGE_LISTED && !listed)
            listed = true;
        else if (message.type == MESSAGE_STAGED && listed)
            good = take_offer(&p->offers, &message);
        else if (message.type == MESSAGE_END && listed)
            over = true;
        else
            good = false;
        if (!good)
            (void)control_unexpected(&message, err);
        message_release(&message);
        if (!good)
            return -1;
    }
    journal_state_sort(&p->offers);
    return 0;
}

static void plan_work(void *context)
{
    struct push *p = context;
    p->plan_error.code = ERROR_NONE;
    if (plan_push(p->scan.folder, &p->scan.listing, &p->stored, &p->offers, p->options->checksum,
                  &p->bytes_read, &p->plan_error) == 0 &&
        p->options->sha256 && !p->options->dry_run)
        (void)sha256_pass(p->scan.folder, &p->scan.listing, &p->stored, &p->bytes_read, &p->plan_error);
}

static void look_at_plan(void *context)
{
    struct push *p = context;
    progress_show_reading(&p->progress, p->bytes_read,
                          listing_bytes(&p->scan.listing) + p->report.unreadable_bytes);
}

/* Fills the work queue with what has to be sent. */
static void prepare_work(struct push *p)
{
    const struct listing *plan = &p->scan.listing;
    uint8_t *wanted = malloc(plan->count + 1);
    if (!wanted)
        abort();
    for (size_t i = 0; i < plan->count; i++)
        wanted[i] = plan->files[i].from != FROM_LIVE;
    p->work = work_create(plan, wanted, p->options->streams);
    free(wanted);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct journal_file *offer =
            plan->files[i].from == FROM_STAGED ? plan_find_offer(&p->offers, &plan->files[i]) : NULL;
        for (uint64_t b = 0; offer && b < offer->blocks; b++)
            if (offer->present[b])
                work_skip(p->work, i, b);
    }
}

static void count_first(struct push *p)
{
    const struct listing *plan = &p->scan.listing;
    struct report *r = &p->report;
    if (p->counted)
        return;
    p->counted = true;
    r->files.total = plan->count + r->files.failed;
    r->bytes.total = listing_bytes(plan) + r->unreadable_bytes;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->files[i].from == FROM_LIVE) {
            r->files.skipped++;
            r->bytes.skipped += plan->files[i].size;
        }
    r->bytes.resumed = work_bytes_skipped(p->work);
    r->files.sent = plan->count - r->files.skipped;
    prediction_make(r, p->options, work_bytes_left(p->work));
}

/* -- moving -- */

static int send_plan(struct push *p, struct error *err)
{
    const struct listing *plan = &p->scan.listing;
    struct message head = {.type = MESSAGE_PLAN,
                           .u.plan = {plan->count, listing_bytes(plan), p->report.files.failed,
                                      p->report.unreadable_bytes, p->options->add,
                                      p->snapshot.path ? p->snapshot.origin : NULL}};
    if (control_send(&p->control, &head, err) < 0)
        return -1;
    for (size_t at = 0, count; at < plan->count; at += count) {
        count = listing_batch(plan, at);
        struct message batch = {.type = MESSAGE_FILES, .u.files = {plan->files + at, count, count}};
        if (control_send(&p->control, &batch, err) < 0)
            return -1;
    }
    return control_send_simple(&p->control, MESSAGE_GO, err) < 0
               ? -1
               : control_expect_simple(&p->control, MESSAGE_READY, err);
}

static int move(struct push *p, struct error *err)
{
    struct disk disk;
    struct stream_job job = {
        .work = p->work, .plan = &p->scan.listing, .folder = p->scan.folder, .disk = &disk};
    const struct report *r = &p->report;
    uint64_t linked = 0;
    for (size_t i = 0; i < p->scan.listing.count; i++)
        linked += p->scan.listing.files[i].from == FROM_LIVE ? p->scan.listing.files[i].size : 0;
    struct transfer_setup setup = {.control = &p->control,
                                   .job = &job,
                                   .run = push_stream_run,
                                   .streams = p->options->streams < p->control.max_streams
                                                  ? p->options->streams
                                                  : p->control.max_streams,
                                   .retries = p->options->retries,
                                   .bytes_per_s = p->options->bytes_per_s,
                                   .progress = &p->progress,
                                   .skipped_bytes = linked,
                                   .skipped_files = r->files.skipped,
                                   .total_bytes = r->bytes.total,
                                   .total_files = p->scan.listing.count,
                                   .pushing = true};
    disk_init(&disk, p->scan.folder);
    p->report.in_turn = disk.is_rotational;
    int result = transfer_run(&setup, &p->report, err);
    disk_release(&disk);
    return result;
}

/* Files that failed go into the report, and their worst error is the push's. */
static int judge_failures(struct push *p, struct error *err)
{
    size_t count;
    const struct work_failure *failures = work_failures(p->work, &count);
    bool corrupt = false;
    for (size_t i = 0; i < count; i++) {
        report_fail(&p->report, p->scan.listing.files[failures[i].file].path, &failures[i].error);
        corrupt = corrupt || failures[i].error.code == ERROR_CORRUPT;
    }
    p->report.files.failed += count;
    p->report.files.sent -= count < p->report.files.sent ? count : p->report.files.sent;
    if (p->report.files.failed == 0)
        return 0;
    return error_set(
        err, corrupt ? ERROR_CORRUPT : ERROR_SOME_FILES,
        "%llu of %llu files failed; the others are kept on the server and '%s' is published when the "
        "same command succeeds",
        (unsigned long long)p->report.files.failed, (unsigned long long)p->report.files.total, p->model);
}

static int commit(struct push *p, struct error *err)
{
    struct message published;
    struct report *r = &p->report;
    uint64_t lap = clock_ns();
    if (control_send_simple(&p->control, MESSAGE_COMMIT, err) < 0 ||
        transfer_read_last(&p->control, MESSAGE_PUBLISHED, &published, r, err) < 0)
        return -1;
    r->flush_ns = clock_lap(&lap);
    r->bytes.sent =
        r->bytes.total - r->bytes.skipped - r->bytes.resumed; /* over several attempts, counted once */
    r->verified = true;
    r->durable = published.u.published.durable;
    message_release(&published);
    return 0;
}

static int negotiate(struct push *p, struct error *err)
{
    struct message request = {.type = MESSAGE_PUSH, .u.request = {(char *)p->model, p->options->checksum}};
    if (control_send(&p->control, &request, err) < 0 || read_stored(p, err) < 0 ||
        control_work(&p->control, plan_work, look_at_plan, p, err) < 0)
        return -1;
    if (p->plan_error.code != ERROR_NONE) {
        *err = p->plan_error;
        return -1;
    }
    prepare_work(p);
    count_first(p);
    if (p->options->dry_run) {
        p->report.bytes.sent = work_bytes_left(p->work);
        for (size_t i = 0; i < p->scan.listing.count; i++)
            if (p->scan.listing.files[i].from != FROM_LIVE)
                report_move(&p->report, p->scan.listing.files[i].path, p->scan.listing.files[i].size);
        return 0;
    }
    return send_plan(p, err);
}

static int push_once(void *context, struct attempt *attempt, struct error *err)
{
    struct push *p = context;
    if (control_open(&p->control, p->options, err) < 0)
        return -1;
    attempt->connected = attempt->goes_on = true;
    p->bytes_read = 0;
    int result = negotiate(p, err);
    if (result == 0 && !p->options->dry_run) {
        result = move(p, err);
        attempt->moved = p->report.bytes.sent;
        if (result == 0)
            result = judge_failures(p, err);
        if (result == 0)
            result = commit(p, err);
    }
    control_close(&p->control);
    work_destroy(&p->work);
    listing_release(&p->stored);
    journal_state_release(&p->offers);
    return result;
}

static int open_source(struct push *p, struct error *err)
{
    const char *source = p->options->arguments.items[0];
    bool is_hub = hub_is_name(source);
    if (is_hub && hub_snapshot_find(&p->snapshot, source, err) < 0)
        return -1;
    if (scan_open(&p->scan, is_hub ? p->snapshot.path : source, p->options, &p->report, err) < 0)
        return -1;
    if (is_hub)
        hub_snapshot_judge(&p->snapshot, &p->scan.listing, p->options, &p->report);
    return 0;
}

int push_run(const struct options *options, struct report *report, struct error *err)
{
    struct push p = {.options = options, .model = options->arguments.items[1]};
    p.report.command = "push";
    p.report.model = p.model;
    p.report.dry_run = options->dry_run;
    int result = open_source(&p, err);
    if (result == 0) {
        progress_begin(&p.progress, options, "push");
        if (p.scan.listing.count == 0)
            result =
                error_set(err, ERROR_SOME_FILES, "no file of '%s' can be read", options->arguments.items[0]);
        else if (model_check_push(p.scan.folder, &p.scan.listing, options, &p.report, err) < 0)
            result = -1;
        else
            result = attempts_run(options, push_once, &p, err);
        struct progress_state last = {.bytes = p.report.bytes.skipped + p.report.bytes.resumed +
                                               p.report.bytes.sent,
                                      .total = p.report.bytes.total,
                                      .moved = p.report.bytes.sent};
        progress_end(&p.progress, &last);
        scan_release(&p.scan);
    }
    hub_snapshot_release(&p.snapshot);
    *report = p.report;
    return result;
}

int command_push(const struct options *options)
{
    struct report report;
    struct error err = {0};
    if (push_run(options, &report, &err) == 0)
        prediction_learn(&report, options);
    int status = report_print(&report, options, &err);
    report_release(&report);
    return status;
}
