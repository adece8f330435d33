/* Blocks are collected in a list; a round takes the whole list, flushes the files behind it, appends the
 * records, and flushes the journal. */
#include "common/recorder.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/journal.h"
#include "common/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct fresh_block {
    uint32_t file;
    uint64_t block;
};

/* A file as the journal knows it so far. */
struct recorded_file {
    bool known; /* its FILE record is written, under `number` */
    uint32_t number;
    uint64_t blocks; /* recorded */
};

struct recorder {
    int tree;
    const struct listing *plan;
    struct recorder_view view;
    struct journal *journal;
    struct recorded_file *files; /* touched by one thread at a time: before run, and in it */
    uint32_t next_number;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct fresh_block *fresh; /* under lock */
    size_t count, capacity;
    uint64_t bytes; /* of the fresh blocks */
    bool stop;

    pthread_t thread;
    bool running;
};

int recorder_create(struct recorder **out, int folder, int tree, const struct listing *plan,
                    const struct recorder_view *view, struct error *err)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (!r || !(r->files = calloc(plan->count ? plan->count : 1, sizeof *r->files)))
        abort();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    r->tree = tree;
    r->plan = plan;
    r->view = *view;
    if (journal_create(&r->journal, folder, err) < 0) {
        recorder_destroy(&r, false);
        return -1;
    }
    *out = r;
    return 0;
}

void recorder_add(struct recorder *r, uint32_t file, uint64_t block)
{
    pthread_mutex_lock(&r->lock);
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 64;
        r->fresh = realloc(r->fresh, r->capacity * sizeof *r->fresh);
        if (!r->fresh)
            abort();
    }
    r->fresh[r->count++] = (struct fresh_block){file, block};
    r->bytes += block_length(r->plan->files[file].size, block);
    if (r->bytes >= RECORDER_EVERY_BYTES)
        pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

static int compare_fresh(const void *a, const void *b)
{
    const struct fresh_block *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

/* Open files one by one; those that are complete, many and small perhaps, all at once. */
static int flush_data(struct recorder *r, const struct fresh_block *fresh, size_t count, struct error *err)
{
    bool completed = false;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && fresh[i].file == fresh[i - 1].file)
            continue;
        int copy = r->view.open_copy(r->view.context, fresh[i].file);
        if (copy < 0) {
            completed = true;
            continue;
        }
        int result = fdio_fdatasync(copy), saved = errno;
        fdio_drop(&copy);
        if (result < 0) {
            error_set_sys(err, ERROR_FILE, saved, "cannot flush '%s'", r->plan->files[fresh[i].file].path);
            r->view.lost(r->view.context, fresh[i].file, err);
            return -1;
        }
    }
    if (completed && fdio_syncfs(r->tree) < 0) {
        error_set_sys(err, ERROR_FAILED, errno, "cannot flush the received files");
        r->view.lost(r->view.context, -1, err);
        return -1;
    }
    return 0;
}

static int record_file(struct recorder *r, uint32_t file, struct error *err)
{
    struct recorded_file *f = &r->files[file];
    if (f->known)
        return 0;
    char *temporary = r->view.temporary(r->view.context, file);
    f->known = true;
    f->number = r->next_number++;
    int result = journal_file(r->journal, f->number, &r->plan->files[file], temporary, err);
    free(temporary);
    return result;
}

/* A run of blocks of one file, and DONE if they were the last and the file has its name. */
static int record_run(struct recorder *r, const struct fresh_block *first, size_t count, struct error *err)
{
    struct recorded_file *f = &r->files[first->file];
    const uint8_t *hashes = r->view.hashes(r->view.context, first->file) + first->block * HASH_SIZE;
    if (record_file(r, first->file, err) < 0 ||
        journal_blocks(r->journal, f->number, first->block, hashes, count, err) < 0)
        return -1;
    f->blocks += count;
    if (f->blocks == block_count(r->plan->files[first->file].size) &&
        r->view.is_complete(r->view.context, first->file))
        return journal_done(r->journal, f->number, err);
    return 0;
}

static int record_blocks(struct recorder *r, const struct fresh_block *fresh, size_t count, struct error *err)
{
    for (size_t i = 0, run; i < count; i += run) {
        run = 1;
        while (i + run < count && fresh[i + run].file == fresh[i].file &&
               fresh[i + run].block == fresh[i].block + run)
            run++;
        if (record_run(r, &fresh[i], run, err) < 0)
            return -1;
    }
    return 0;
}

static int record_round(struct recorder *r, struct error *err)
{
    pthread_mutex_lock(&r->lock);
    struct fresh_block *fresh = r->fresh;
    size_t count = r->count;
    r->fresh = NULL;
    r->count = r->capacity = 0;
    r->bytes = 0;
    pthread_mutex_unlock(&r->lock);
    int result = 0;
    if (count > 0) {
        qsort(fresh, count, sizeof *fresh, compare_fresh);
        if (flush_data(r, fresh, count, err) < 0 || record_blocks(r, fresh, count, err) < 0 ||
            journal_flush(r->journal, err) < 0)
            result = -1;
    }
    free(fresh);
    return result;
}

int recorder_commit(struct recorder *r, struct error *err)
{
    return record_round(r, err) < 0 ? -1 : journal_commit(r->journal, err);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* False when it is time to stop. `rest_ns` is how long the disk is left alone. */
static bool wait_for_round(struct recorder *r, uint64_t rest_ns)
{
    uint64_t now = clock_ns(), longest = (uint64_t)RECORDER_EVERY_MS * 1000000u;
    struct timespec soon = timespec_of(now + (rest_ns < longest ? rest_ns : longest));
    struct timespec late = timespec_of(now + longest);
    pthread_mutex_lock(&r->lock);
    while (!r->stop && pthread_cond_timedwait(&r->wake, &r->lock, &soon) == 0)
        ;
    while (!r->stop && r->bytes < RECORDER_EVERY_BYTES &&
           pthread_cond_timedwait(&r->wake, &r->lock, &late) == 0)
        ;
    bool go_on = !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

static void *recorder_thread_main(void *context)
{
    struct recorder *r = context;
    struct error err = {0};
    uint64_t took_ns = 0;
    while (wait_for_round(r, RECORDER_PAUSE * took_ns)) {
        uint64_t begin = clock_ns();
        if (record_round(r, &err) < 0) {
            log_warn("what arrives from now on is not recorded for resume: %s", err.text);
            break;
        }
        took_ns = clock_ns() - begin;
    }
    return NULL;
}

int recorder_run(struct recorder *r, struct error *err)
{
    int result = pthread_create(&r->thread, NULL, recorder_thread_main, r);
    if (result != 0)
        return error_set_sys(err, ERROR_FAILED, result, "cannot start a thread");
    r->running = true;
    return 0;
}

void recorder_destroy(struct recorder **recorder, bool last_round)
{
    struct recorder *r = *recorder;
    struct error err = {0};
    *recorder = NULL;
    if (!r)
        return;
    if (r->running) {
        pthread_mutex_lock(&r->lock);
        r->stop = true;
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
        if (last_round && record_round(r, &err) < 0)
            log_warn("the last second of the transfer is not recorded for resume: %s", err.text);
    }
    journal_destroy(&r->journal);
    free(r->files);
    free(r->fresh);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
