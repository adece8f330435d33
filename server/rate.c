/* A handful of notes is moved along faster than a ring is explained. */
#include "server/rate.h"

#include <string.h>

void rate_begin(struct rate *rate, uint64_t now_ms)
{
    rate->count = 0;
    rate_note(rate, now_ms, 0);
}

void rate_note(struct rate *rate, uint64_t now_ms, uint64_t bytes)
{
    if (rate->count == RATE_NOTES)
        memmove(rate->notes, rate->notes + 1, --rate->count * sizeof *rate->notes);
    rate->notes[rate->count].ms = now_ms;
    rate->notes[rate->count++].bytes = bytes;
}

uint64_t rate_per_s(const struct rate *rate)
{
    if (rate->count < 2)
        return 0;
    uint64_t ms = rate->notes[rate->count - 1].ms - rate->notes[0].ms;
    uint64_t bytes = rate->notes[rate->count - 1].bytes - rate->notes[0].bytes;
    return ms > 0 ? bytes * 1000 / ms : 0;
}
