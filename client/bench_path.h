/* `bench`: the layers of the path to the server, each alone and all together.
 *
 * bench_path() is the command. The rest is between its files: bench_path.c runs the rounds, bench_transfer.c
 * the real push and pull, bench_result.c says what came out. One thread. */
#ifndef CLIENT_BENCH_PATH_H
#define CLIENT_BENCH_PATH_H

#include "client/bench_layers.h"
#include "client/options.h"
#include "proto/json.h"

/* options->size, rounds, layers, streams and perhaps a model; returns the exit status. */
int bench_path(const struct options *options);

struct path_bench {
    const struct options *options;
    const char *model; /* given, or NULL */
    unsigned wanted;   /* layers, a bit each */
    unsigned refused;  /* layers that the server does not let us measure */
    uint64_t bytes;    /* of a round */
    unsigned round;
    struct bench_layers layers;

    /* For push and pull: a folder in the current one, and a model of our own. */
    char folder[32];
    char source[64], destination[64];
    char own_model[64];
    bool has_pushed; /* there may be something of it on the server */
};

/* Whether one of these layers is still to be measured. */
static inline bool bench_wants(const struct path_bench *bench, unsigned set)
{
    return (bench->wanted & ~bench->refused & set) != 0;
}

/* Keeps a figure of this round, and says it. */
void bench_note(struct path_bench *bench, enum bench_layer layer, const struct bench_rate *rate);

/* What `result` of measuring these layers means for the command: where the server refused it in the first
 * round, they are left out. */
int bench_judge(struct path_bench *bench, unsigned set, int result, struct error *err);

/* -- bench_transfer.c -- */

/* Makes the folder and what is pushed; then a push and a pull a round; then removes all of it, here and
 * there. */
int bench_transfer_prepare(struct path_bench *bench, struct error *err);
int bench_transfer_round(struct path_bench *bench, struct error *err);
void bench_transfer_clean(struct path_bench *bench);

/* -- bench_result.c -- */

struct json *bench_result_json(const struct path_bench *bench);
void bench_result_print(const struct path_bench *bench);

#endif
