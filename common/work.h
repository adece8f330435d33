/* The work of a transfer: which block of which file a stream moves next. The client decides with this, for
 * push and pull alike; it knows nothing of sockets and disks.
 *
 * Files are handed out largest first, each to the stream that asks first, which is the least busy one, and
 * are then moved front to back. A stream that runs dry takes the back half of the largest remainder of
 * another; when no remainder is left, it moves once more what another stream has had under way for far longer
 * than blocks take (a sick link must not hold up the end). The first copy counts.
 *
 * Calling sequence of a stream: work_take(), move the block, and for the answers, which come in the order of
 * taking: work_note() what is wrong with a block, then work_answer(). When the stream dies: work_give_back().
 *
 * Threads: all functions, any thread; one mutex inside. */
#ifndef COMMON_WORK_H
#define COMMON_WORK_H

#include "proto/error.h"
#include "proto/listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stream that has blocks under way and was silent this long, and WORK_SLOW_PERCENT of what streams take for
 * a block on the average, counts as sick: an idle stream moves its blocks once more. Four times the average
 * let a link of 64 KB/s beside three of 4 MB/s hold up the end of a push for 12 s. */
#define WORK_SLOW_MS      1000
#define WORK_SLOW_PERCENT 150
/* Each block of which both copies arrived doubles that time, up to 64 times: it was not the stream that was
 * slow, but the disk behind them all. */
#define WORK_WASTED_MAX 6

struct work_queue;

struct work_item {
    uint32_t file;
    uint64_t block;
};

/* Why a file cannot be completed; `block` is the first bad one where bytes did not match. */
struct work_failure {
    uint32_t file;
    uint64_t block;
    struct error error;
};

enum work_state {
    WORK_ITEM, /* *item is yours */
    WORK_WAIT, /* nothing now; others may give something back */
    WORK_DONE, /* every block is answered, or the work was stopped */
};

/* All files of `plan` (borrowed, const) whose `wanted` byte is set, for `streams` streams. */
struct work_queue *work_create(const struct listing *plan, const uint8_t *wanted, unsigned streams);
void work_destroy(struct work_queue **queue);

/* Before the streams start: this block is there already and counts as resumed. */
void work_skip(struct work_queue *queue, uint32_t file, uint64_t block);

/* Gives each of the first `streams` streams something of its own to begin with, if there is enough, so that a
 * stream whose connection comes up late still finds work. Once, after the skipping; without it streams take
 * as they come. */
void work_begin(struct work_queue *queue, unsigned streams);

/* Waits up to wait_ms for something to do. */
enum work_state work_take(struct work_queue *queue, unsigned stream, struct work_item *item, int wait_ms);

/* Blocks that the stream has taken and not answered. */
size_t work_under_way(struct work_queue *queue, unsigned stream);

/* The oldest of them; false if there is none. */
bool work_oldest(struct work_queue *queue, unsigned stream, struct work_item *item);

/* Something is wrong with a block under way. ERROR_CORRUPT: it is moved once more, and fails its file the
 * second time. Any other code fails the file at once. The block still has to be answered. */
void work_note(struct work_queue *queue, unsigned stream, const struct work_item *item,
               const struct error *error);

/* The `count` oldest blocks under way are dealt with. False if there are fewer: the peer broke the protocol.
 */
bool work_answer(struct work_queue *queue, unsigned stream, uint64_t count);

/* What the stream had is for others now. */
void work_give_back(struct work_queue *queue, unsigned stream);

/* From now on work_take() says WORK_DONE. */
void work_stop(struct work_queue *queue);

bool work_is_done(struct work_queue *queue); /* nothing is left; also true when stopped */
uint64_t work_pieces(
    struct work_queue *queue); /* blocks still to move: more streams than that are of no use */
uint64_t work_bytes_done(struct work_queue *queue); /* moved and answered; never counts a block twice */
uint64_t work_bytes_skipped(struct work_queue *queue);
uint64_t work_stream_bytes(struct work_queue *queue,
                           unsigned stream);        /* of good answers; a block may travel twice */
uint64_t work_bytes_left(struct work_queue *queue); /* not moved, of files that did not fail */
uint64_t work_files_done(struct work_queue *queue); /* files without a block left, failed ones not counted */

/* The failures so far; the array is valid until the queue is destroyed, so call it when the streams are
 * through. */
const struct work_failure *work_failures(struct work_queue *queue, size_t *count);

#endif
