/* Monotonic time. Ages and time-outs never look at the wall clock, which jumps and differs between hosts. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_ms(void)
{
    return clock_ns() / 1000000u;
}

/* Nanoseconds since *last, which becomes now. */
static inline uint64_t clock_lap(uint64_t *last)
{
    uint64_t now = clock_ns(), passed = now - *last;
    *last = now;
    return passed;
}

/* What the machine takes for the time, since 1970: for telling it. */
static inline uint64_t clock_wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
