/* How fast a count of bytes grew over the last seconds.
 *
 *   rate_begin() … rate_note() at steady intervals, rate_per_s() at any time
 *
 * A window of notes rather than a decaying average: it is exact, tells the truth from the second note on and
 * forgets what is older at once. Plain data, pure. */
#ifndef SERVER_RATE_H
#define SERVER_RATE_H

#include <stdint.h>

#define RATE_NOTES 7 /* that a window holds: at two a second, the last three seconds */

struct rate {
    struct {
        uint64_t ms, bytes;
    } notes[RATE_NOTES]; /* the oldest first */
    unsigned count;
};

/* The count is 0 now, and never falls. Times are of any clock that does not go back, in milliseconds. */
void rate_begin(struct rate *rate, uint64_t now_ms);
void rate_note(struct rate *rate, uint64_t now_ms, uint64_t bytes);

/* Bytes a second between the window's first and last note. */
uint64_t rate_per_s(const struct rate *rate);

#endif
