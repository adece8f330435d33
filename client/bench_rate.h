/* What one round of a measurement came to. */
#ifndef CLIENT_BENCH_RATE_H
#define CLIENT_BENCH_RATE_H

#include <stdint.h>

struct bench_rate {
    uint64_t bytes, ns;
    uint64_t cached; /* of bytes that were read from a disk: in the page cache before */
};

static inline uint64_t bench_rate_bytes_per_s(const struct bench_rate *rate)
{
    return rate->ns > 0 ? (uint64_t)((double)rate->bytes * 1e9 / (double)rate->ns) : 0;
}

#endif
