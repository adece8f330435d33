/* What the link to the server carries, from memory to memory: no disk, no hash. */
#ifndef CLIENT_BENCH_LINK_H
#define CLIENT_BENCH_LINK_H

#include "client/bench_rate.h"
#include "client/options.h"

/* A round ends after this time, even if not all bytes have moved: long enough for TCP to find its rate (cubic
 * fills a 10 Gbit/s link within a second), short enough for a link of 1 Gbit/s. */
#define BENCH_LINK_MS 3000

/* In a session of its own: `streams` connections move `bytes` in all, up to the server or down from it. Fewer
 * where the server grants fewer. The rate is that of all together, from the first byte to the last one's
 * arrival. */
int bench_link(const struct options *options, bool up, unsigned streams, uint64_t bytes,
               struct bench_rate *rate, struct error *err);

#endif
