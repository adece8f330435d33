/* One round of bench read: one JSON line, as the command-line contract has it. Pure, any thread. */
#ifndef CLIENT_BENCH_ROUND_H
#define CLIENT_BENCH_ROUND_H

#include "client/read_mode.h"
#include "proto/error.h"
#include "proto/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_round {
    char *label;
    enum read_mode mode;
    uint64_t bytes;
    double seconds;
    double bytes_per_s;
    bool is_cached_known;
    double cached_before; /* share, 0 to 1 */
    enum cache_state cache;
    bool is_cache_suspected; /* something below the page cache answered: conditions.hidden_cache */
};

/* Fills in rate, share (to four places) and state from what was measured. The state follows from the share
 * alone; where that is not known it is CACHE_MIXED. `seconds` is more than 0. */
void bench_round_set(struct bench_round *round, uint64_t bytes, double seconds, bool is_cached_known,
                     uint64_t cached);

/* The JSON object; takes `conditions` and adds hidden_cache to them. */
struct json *bench_round_json(const struct bench_round *round, struct json *conditions);

/* Reads such a line; release the round then. ERROR_FAILED says what is missing or wrong. */
int bench_round_parse(struct bench_round *round, const char *line, size_t length, struct error *err);
void bench_round_release(struct bench_round *round);

#endif
