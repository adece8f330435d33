/* The layers of the path between client and server, their figures, and what follows from them. Pure. */
#ifndef CLIENT_BENCH_LAYERS_H
#define CLIENT_BENCH_LAYERS_H

#include "client/bench_rate.h"
#include "proto/error.h"

#include <stdbool.h>
#include <stddef.h>

enum bench_layer {
    BENCH_LINK_UP,
    BENCH_LINK_DOWN,
    BENCH_SERVER_READ,
    BENCH_SERVER_WRITE,
    BENCH_CLIENT_READ,
    BENCH_CLIENT_WRITE,
    BENCH_PUSH,
    BENCH_PULL,
    BENCH_LINK_UP_ONE, /* the link with one stream: not asked for by a name of its own */
    BENCH_LINK_DOWN_ONE,
    BENCH_LAYER_COUNT
};

#define BENCH_MAX_ROUNDS 1000

/* Those that have names. */
#define BENCH_ALL_LAYERS ((1u << (BENCH_PULL + 1)) - 1)

struct bench_layers {
    struct bench_rate rounds[BENCH_LAYER_COUNT][BENCH_MAX_ROUNDS];
    size_t count[BENCH_LAYER_COUNT];
};

void bench_layers_add(struct bench_layers *layers, enum bench_layer layer, const struct bench_rate *rate);

struct bench_summary {
    uint64_t median, min, max; /* bytes a second */
    const char *cache;         /* "cold", "warm", "mixed": of a layer that reads a disk; else NULL */
};

/* False where the layer was not measured. */
bool bench_layers_summary(const struct bench_layers *layers, enum bench_layer layer,
                          struct bench_summary *summary);

/* The slowest of the layers that a push or pull goes through; BENCH_LAYER_COUNT if none was measured. */
enum bench_layer bench_layers_binds(const struct bench_layers *layers, bool push);

/* What a push or pull of this size takes: by its own measured rate, else by the layer that binds. 0: not
 * known. */
double bench_layers_seconds(const struct bench_layers *layers, bool push, uint64_t bytes);

/* "link-up"; NULL for the two that have none of their own. */
const char *bench_layer_name(enum bench_layer layer);

/* A bit for each layer of a list "link-up,push". ERROR_USAGE. */
int bench_layers_parse(const char *text, unsigned *set, struct error *err);

#endif
