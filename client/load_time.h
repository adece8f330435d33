/* How long loading a model should take: its bytes by the rate of the place where it lies, and what loading
 * takes beside reading, which only its user knows. Plain data, pure. */
#ifndef CLIENT_LOAD_TIME_H
#define CLIENT_LOAD_TIME_H

#include "proto/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_time {
    bool has_server, has_local; /* whether it is known for each of them */
    double server_s, local_s;
    size_t pulls;    /* that the server's rate is the median of */
    unsigned cost_s; /* that is in both */
};

/* Rates in bytes a second, 0 where they are not known. */
struct load_time load_time_of(uint64_t bytes, double server_rate, size_t pulls, double local_rate,
                              unsigned cost_s);

/* "load_seconds":{"server":…,"local":…}, null where it is not known. */
void load_time_add_json(struct json *object, const struct load_time *time);

#define LOAD_TIME_TEXT_MAX 512

/* "about 19 s from the server (by the last 7 pulls), 8.0 s from a local disk"; "" where nothing is known.
 * Returns `out`. */
const char *load_time_text(char out[LOAD_TIME_TEXT_MAX], const struct load_time *time);

#endif
