/* Holds several threads together to a number of bytes a second: `--bwlimit`.
 *
 *   pacer_init() … pacer_take() by each thread before each piece that it moves … pacer_release()
 *
 * Pieces are admitted one behind the other at the wished rate, whoever asks first. What was not used in the
 * past PACER_BURST_MS may be made up for, no more: a pause does not become a burst. Thread-safe. */
#ifndef COMMON_PACER_H
#define COMMON_PACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer than a disk's stall, shorter than what a monitor averages over. */
#define PACER_BURST_MS 100

struct pacer {
    uint64_t bytes_per_s; /* not 0 when it is used */
    int cancel_fd;        /* borrowed; readable when nobody shall wait any more */
    pthread_mutex_t lock;
    uint64_t next_ns; /* when the next piece may go */
};

void pacer_init(struct pacer *pacer, uint64_t bytes_per_s, int cancel_fd);
void pacer_release(struct pacer *pacer);

/* How large pieces should be so that a rate this low still flows evenly: at most `most`, and a power of two
 * of it. */
size_t pacer_piece(uint64_t bytes_per_s, size_t most);

/* Returns when `bytes` may move, or when it is cancelled. */
void pacer_take(struct pacer *pacer, uint64_t bytes);

#endif
