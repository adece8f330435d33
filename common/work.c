/* One state byte for each block, one run of blocks for each stream, a cursor over the files by size, and a
 * list of what came back. Everything else follows from these. */
#include "common/work.h"

#include "common/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_DONE = 1, BLOCK_RETRIED = 2, BLOCK_DOUBLED = 4 };

struct run {
    uint32_t file;
    uint64_t next, end;
};

struct flight {
    struct work_item item;
    enum error_code noted;
    char *text; /* of the note */
};

struct stream_work {
    struct run run;
    struct flight *flights; /* oldest first, from `first` */
    size_t first, count, capacity;
    bool has_begun; /* it has asked for work */
    uint64_t bytes;
    uint64_t silent_since_ms; /* the last answer, or when it first waited for one */
};

struct work_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct listing *plan;
    uint64_t *first_block; /* of each file; count + 1 entries */
    uint8_t *state;        /* of each block */
    uint64_t *left;        /* blocks not done, of each file */
    uint8_t *failed;       /* of each file */
    uint32_t *by_size;     /* wanted files, largest first */
    size_t wanted, cursor;
    struct work_item *returned;
    size_t returned_count, returned_capacity;
    struct stream_work *streams;
    unsigned stream_count;
    uint64_t blocks_left, bytes_done, bytes_skipped, bytes_left, files_done;
    uint64_t answered, begun_ms, answered_ms; /* for the average time of a block */
    uint64_t doubled_ms;                      /* when a block was last moved once more */
    unsigned wasted;                          /* blocks that were moved twice, and both copies arrived */
    struct work_failure *failures;
    size_t failure_count;
    bool stopped;
};

static void *must_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

static int compare_sizes(const void *a, const void *b, void *files)
{
    const struct file_entry *list = files;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (list[x].size != list[y].size)
        return list[x].size < list[y].size ? 1 : -1;
    return x < y ? -1 : x > y;
}

struct work_queue *work_create(const struct listing *plan, const uint8_t *wanted, unsigned streams)
{
    struct work_queue *q = must_alloc(1, sizeof *q);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    q->plan = plan;
    q->begun_ms = clock_ms();
    q->first_block = must_alloc(plan->count + 1, sizeof *q->first_block);
    q->left = must_alloc(plan->count, sizeof *q->left);
    q->failed = must_alloc(plan->count, 1);
    q->by_size = must_alloc(plan->count, sizeof *q->by_size);
    for (uint32_t i = 0; i < plan->count; i++) {
        uint64_t blocks = block_count(plan->files[i].size);
        q->first_block[i + 1] = q->first_block[i] + blocks;
        if (!wanted[i])
            continue;
        q->left[i] = blocks;
        q->blocks_left += blocks;
        q->bytes_left += plan->files[i].size;
        q->by_size[q->wanted++] = i;
    }
    qsort_r(q->by_size, q->wanted, sizeof *q->by_size, compare_sizes, plan->files);
    q->state = must_alloc(q->first_block[plan->count], 1);
    q->stream_count = streams;
    q->streams = must_alloc(streams, sizeof *q->streams);
    return q;
}

void work_destroy(struct work_queue **queue)
{
    struct work_queue *q = *queue;
    *queue = NULL;
    if (!q)
        return;
    for (unsigned s = 0; s < q->stream_count; s++) {
        for (size_t i = 0; i < q->streams[s].count; i++)
            free(q->streams[s].flights[q->streams[s].first + i].text);
        free(q->streams[s].flights);
    }
    free(q->streams);
    free(q->first_block);
    free(q->state);
    free(q->left);
    free(q->failed);
    free(q->by_size);
    free(q->returned);
    free(q->failures);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* -- below, the lock is held -- */

static uint8_t *state_of(struct work_queue *q, const struct work_item *item)
{
    return &q->state[q->first_block[item->file] + item->block];
}

static bool is_wanted(struct work_queue *q, const struct work_item *item)
{
    return !q->failed[item->file] && !(*state_of(q, item) & BLOCK_DONE);
}

/* Marks a block as there. Returns its bytes, 0 if it was there before. */
static uint64_t mark_done(struct work_queue *q, const struct work_item *item)
{
    if (!is_wanted(q, item))
        return 0;
    uint64_t bytes = block_length(q->plan->files[item->file].size, item->block);
    *state_of(q, item) |= BLOCK_DONE;
    q->blocks_left--;
    q->bytes_left -= bytes;
    if (--q->left[item->file] == 0)
        q->files_done++;
    return bytes;
}

static void give_back_item(struct work_queue *q, const struct work_item *item)
{
    *state_of(q, item) &= (uint8_t)~BLOCK_DOUBLED;
    if (q->returned_count == q->returned_capacity) {
        q->returned_capacity = q->returned_capacity ? 2 * q->returned_capacity : 16;
        q->returned = realloc(q->returned, q->returned_capacity * sizeof *q->returned);
        if (!q->returned)
            abort();
    }
    q->returned[q->returned_count++] = *item;
}

static bool take_returned(struct work_queue *q, struct work_item *item)
{
    while (q->returned_count > 0) {
        *item = q->returned[--q->returned_count];
        if (is_wanted(q, item))
            return true;
    }
    return false;
}

static bool take_from_run(struct work_queue *q, struct run *run, struct work_item *item)
{
    while (run->next < run->end) {
        *item = (struct work_item){run->file, run->next++};
        if (is_wanted(q, item))
            return true;
    }
    return false;
}

static bool next_file(struct work_queue *q, struct run *run)
{
    while (q->cursor < q->wanted) {
        uint32_t file = q->by_size[q->cursor++];
        if (q->failed[file] || q->left[file] == 0)
            continue;
        *run = (struct run){file, 0, block_count(q->plan->files[file].size)};
        return true;
    }
    return false;
}

/* What may be taken from a run: the back half, on a block border. The one block that is left to a stream
 * which has not asked for work yet is its own, for a while. */
static uint64_t spare_blocks(const struct work_queue *q, const struct stream_work *owner)
{
    uint64_t left = owner->run.end - owner->run.next;
    bool waits = left == 1 && !owner->has_begun && clock_ms() - q->begun_ms < WORK_SLOW_MS;
    return waits ? 0 : left - left / 2;
}

static bool split_largest(struct work_queue *q, struct run *run)
{
    struct run *largest = NULL;
    uint64_t most = 0;
    for (unsigned s = 0; s < q->stream_count; s++) {
        uint64_t spare = spare_blocks(q, &q->streams[s]);
        if (spare > most) {
            largest = &q->streams[s].run;
            most = spare;
        }
    }
    if (!largest)
        return false;
    uint64_t middle = largest->end - most;
    *run = (struct run){largest->file, middle, largest->end};
    largest->end = middle;
    return true;
}

/* How long a stream may be silent before it counts as sick: against what streams take for a block on the
 * average. The time that a block is under way says little, for large socket buffers hold several. */
static uint64_t sick_after_ms(const struct work_queue *q)
{
    uint64_t working = 0;
    for (unsigned s = 0; s < q->stream_count; s++)
        working += q->streams[s].bytes > 0;
    /* Up to the last answer: the wait for a sick stream must not make blocks look slow. */
    uint64_t block_ms = q->answered ? (q->answered_ms - q->begun_ms) * working / q->answered : 0;
    uint64_t slow_ms = block_ms * WORK_SLOW_PERCENT / 100;
    slow_ms = slow_ms > WORK_SLOW_MS ? slow_ms : WORK_SLOW_MS;
    return slow_ms << (q->wasted < WORK_WASTED_MAX ? q->wasted : WORK_WASTED_MAX);
}

/* The last block of this stream that is worth moving once more; the first may be about to arrive. */
static bool last_wanted(struct work_queue *q, const struct stream_work *stream, struct work_item *item)
{
    for (size_t i = stream->count; i-- > 0;) {
        *item = stream->flights[stream->first + i].item;
        if (is_wanted(q, item) && !(*state_of(q, item) & BLOCK_DOUBLED))
            return true;
    }
    return false;
}

/* A block of the stream that has been silent longest, if that is far longer than blocks take. One in half of
 * that time and each block once: if it is not one stream that is slow but the disk behind them all, moving
 * more would only make it worse. */
static bool take_overdue(struct work_queue *q, unsigned stream, struct work_item *item)
{
    uint64_t now = clock_ms(), longest = sick_after_ms(q);
    bool found = false;
    struct work_item candidate;
    if (q->streams[stream].count > 0 || now - q->doubled_ms < longest / 2)
        return false;
    for (unsigned s = 0; s < q->stream_count; s++) {
        const struct stream_work *other = &q->streams[s];
        if (s == stream || other->count == 0 || now - other->silent_since_ms < longest ||
            !last_wanted(q, other, &candidate))
            continue;
        longest = now - other->silent_since_ms;
        *item = candidate;
        found = true;
    }
    if (found) {
        *state_of(q, item) |= BLOCK_DOUBLED;
        q->doubled_ms = now;
    }
    return found;
}

static bool find_item(struct work_queue *q, unsigned stream, struct work_item *item)
{
    struct run *run = &q->streams[stream].run;
    if (take_returned(q, item) || take_from_run(q, run, item))
        return true;
    while (next_file(q, run) || split_largest(q, run))
        if (take_from_run(q, run, item))
            return true;
    return take_overdue(q, stream, item);
}

static void add_flight(struct stream_work *stream, const struct work_item *item)
{
    if (stream->count == 0)
        stream->silent_since_ms = clock_ms();
    if (stream->first + stream->count == stream->capacity) {
        if (stream->first > 0 && stream->first >= stream->capacity / 2) {
            memmove(stream->flights, stream->flights + stream->first,
                    stream->count * sizeof *stream->flights);
            stream->first = 0;
        } else {
            stream->capacity = stream->capacity ? 2 * stream->capacity : 16;
            stream->flights = realloc(stream->flights, stream->capacity * sizeof *stream->flights);
            if (!stream->flights)
                abort();
        }
    }
    stream->flights[stream->first + stream->count++] = (struct flight){.item = *item};
}

static void fail_file(struct work_queue *q, const struct work_failure *failure)
{
    uint32_t file = failure->file;
    if (q->failed[file])
        return;
    if (q->left[file] == 0)
        q->files_done--;
    for (uint64_t b = 0; b < block_count(q->plan->files[file].size) && q->left[file] > 0; b++) {
        struct work_item item = {file, b};
        if (*state_of(q, &item) & BLOCK_DONE)
            continue;
        q->blocks_left--;
        q->left[file]--;
        q->bytes_left -= block_length(q->plan->files[file].size, b);
    }
    q->failed[file] = 1;
    q->failures = realloc(q->failures, (q->failure_count + 1) * sizeof *q->failures);
    if (!q->failures)
        abort();
    q->failures[q->failure_count++] = *failure;
}

/* What a noted flight means for its block. */
static void settle_note(struct work_queue *q, const struct flight *flight)
{
    uint8_t *state = state_of(q, &flight->item);
    if (!is_wanted(q, &flight->item))
        return;
    if (flight->noted == ERROR_CORRUPT && !(*state & BLOCK_RETRIED)) {
        *state |= BLOCK_RETRIED;
        give_back_item(q, &flight->item);
        return;
    }
    struct work_failure failure = {.file = flight->item.file, .block = flight->item.block};
    error_set(&failure.error, flight->noted, "%s", flight->text ? flight->text : "");
    fail_file(q, &failure);
}

static void settle_oldest(struct work_queue *q, struct stream_work *stream)
{
    struct flight *flight = &stream->flights[stream->first++];
    stream->count--;
    q->answered++;
    stream->silent_since_ms = q->answered_ms = clock_ms();
    if (flight->noted == ERROR_NONE) {
        stream->bytes += block_length(q->plan->files[flight->item.file].size, flight->item.block);
        uint64_t bytes = mark_done(q, &flight->item);
        q->bytes_done += bytes;
        q->wasted += bytes == 0 && *state_of(q, &flight->item) & BLOCK_DOUBLED;
    } else {
        settle_note(q, flight);
    }
    free(flight->text);
    if (stream->count == 0)
        stream->first = 0;
}

static bool is_done(const struct work_queue *q)
{
    return q->stopped || q->blocks_left == 0;
}

/* -- the doors, each of which takes the lock -- */

void work_skip(struct work_queue *q, uint32_t file, uint64_t block)
{
    struct work_item item = {file, block};
    pthread_mutex_lock(&q->lock);
    q->bytes_skipped += mark_done(q, &item);
    pthread_mutex_unlock(&q->lock);
}

void work_begin(struct work_queue *q, unsigned streams)
{
    pthread_mutex_lock(&q->lock);
    assert(streams <= q->stream_count);
    q->begun_ms = clock_ms();
    for (unsigned s = 0; s < streams; s++) {
        struct run *run = &q->streams[s].run;
        if (!next_file(q, run))
            (void)split_largest(q, run);
    }
    pthread_mutex_unlock(&q->lock);
}

enum work_state work_take(struct work_queue *q, unsigned stream, struct work_item *item, int wait_ms)
{
    uint64_t end_ns = clock_ns() + (uint64_t)wait_ms * 1000000u;
    struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
    enum work_state result = WORK_WAIT;
    bool timed_out = wait_ms == 0;
    pthread_mutex_lock(&q->lock);
    assert(stream < q->stream_count);
    q->streams[stream].has_begun = true;
    for (;;) {
        if (is_done(q)) {
            result = WORK_DONE;
        } else if (find_item(q, stream, item)) {
            add_flight(&q->streams[stream], item);
            result = WORK_ITEM;
        }
        if (result != WORK_WAIT || timed_out)
            break;
        timed_out = pthread_cond_timedwait(&q->changed, &q->lock, &end) != 0;
    }
    pthread_mutex_unlock(&q->lock);
    return result;
}

size_t work_under_way(struct work_queue *q, unsigned stream)
{
    pthread_mutex_lock(&q->lock);
    size_t count = q->streams[stream].count;
    pthread_mutex_unlock(&q->lock);
    return count;
}

bool work_oldest(struct work_queue *q, unsigned stream, struct work_item *item)
{
    pthread_mutex_lock(&q->lock);
    struct stream_work *s = &q->streams[stream];
    bool found = s->count > 0;
    if (found)
        *item = s->flights[s->first].item;
    pthread_mutex_unlock(&q->lock);
    return found;
}

void work_note(struct work_queue *q, unsigned stream, const struct work_item *item, const struct error *error)
{
    pthread_mutex_lock(&q->lock);
    struct stream_work *s = &q->streams[stream];
    for (size_t i = 0; i < s->count; i++) {
        struct flight *flight = &s->flights[s->first + i];
        if (flight->item.file == item->file && flight->item.block == item->block &&
            flight->noted == ERROR_NONE) {
            flight->noted = error->code;
            flight->text = strdup(error->text);
            break;
        }
    }
    pthread_mutex_unlock(&q->lock);
}

bool work_answer(struct work_queue *q, unsigned stream, uint64_t count)
{
    pthread_mutex_lock(&q->lock);
    struct stream_work *s = &q->streams[stream];
    bool enough = count <= s->count;
    for (uint64_t i = 0; enough && i < count; i++)
        settle_oldest(q, s);
    if (is_done(q) || q->returned_count > 0)
        pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return enough;
}

void work_give_back(struct work_queue *q, unsigned stream)
{
    pthread_mutex_lock(&q->lock);
    struct stream_work *s = &q->streams[stream];
    for (size_t i = s->count; i-- > 0;) {
        struct flight *flight = &s->flights[s->first + i];
        give_back_item(q, &flight->item);
        free(flight->text);
    }
    s->first = s->count = 0;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

void work_stop(struct work_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->stopped = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static uint64_t read_locked(struct work_queue *q, const uint64_t *counter)
{
    pthread_mutex_lock(&q->lock);
    uint64_t value = *counter;
    pthread_mutex_unlock(&q->lock);
    return value;
}

bool work_is_done(struct work_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool done = is_done(q);
    pthread_mutex_unlock(&q->lock);
    return done;
}

uint64_t work_pieces(struct work_queue *q)
{
    return read_locked(q, &q->blocks_left);
}

uint64_t work_bytes_done(struct work_queue *q)
{
    return read_locked(q, &q->bytes_done);
}

uint64_t work_stream_bytes(struct work_queue *q, unsigned stream)
{
    return read_locked(q, &q->streams[stream].bytes);
}

uint64_t work_bytes_skipped(struct work_queue *q)
{
    return read_locked(q, &q->bytes_skipped);
}

uint64_t work_bytes_left(struct work_queue *q)
{
    return read_locked(q, &q->bytes_left);
}

uint64_t work_files_done(struct work_queue *q)
{
    return read_locked(q, &q->files_done);
}

const struct work_failure *work_failures(struct work_queue *q, size_t *count)
{
    pthread_mutex_lock(&q->lock);
    *count = q->failure_count;
    const struct work_failure *failures = q->failures;
    pthread_mutex_unlock(&q->lock);
    return failures;
}
