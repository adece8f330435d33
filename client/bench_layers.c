/* Medians, because one round in a few meets something else on the machine. */
#include "client/bench_layers.h"

#include "client/read_mode.h"
#include "client/spread.h"

#include <string.h>

static const char *const names[BENCH_LAYER_COUNT] = {
    [BENCH_LINK_UP] = "link-up",
    [BENCH_LINK_DOWN] = "link-down",
    [BENCH_SERVER_READ] = "server-disk-read",
    [BENCH_SERVER_WRITE] = "server-disk-write",
    [BENCH_CLIENT_READ] = "client-disk-read",
    [BENCH_CLIENT_WRITE] = "client-disk-write",
    [BENCH_PUSH] = "push",
    [BENCH_PULL] = "pull",
};

/* A push reads here, goes up and is written there; a pull the other way. */
static const enum bench_layer path[2][3] = {
    {BENCH_SERVER_READ, BENCH_LINK_DOWN, BENCH_CLIENT_WRITE},
    {BENCH_CLIENT_READ, BENCH_LINK_UP, BENCH_SERVER_WRITE},
};

void bench_layers_add(struct bench_layers *layers, enum bench_layer layer, const struct bench_rate *rate)
{
    if (layers->count[layer] < BENCH_MAX_ROUNDS)
        layers->rounds[layer][layers->count[layer]++] = *rate;
}

static bool reads_a_disk(enum bench_layer layer)
{
    return layer == BENCH_SERVER_READ || layer == BENCH_CLIENT_READ;
}

static const char *cache_label(uint64_t cached, uint64_t bytes)
{
    return cache_state_names[cache_state_of(bytes > 0 ? (double)cached / (double)bytes : 0)];
}

bool bench_layers_summary(const struct bench_layers *layers, enum bench_layer layer,
                          struct bench_summary *summary)
{
    double rates[BENCH_MAX_ROUNDS];
    uint64_t cached = 0, bytes = 0;
    size_t count = layers->count[layer];
    for (size_t i = 0; i < count; i++) {
        rates[i] = (double)bench_rate_bytes_per_s(&layers->rounds[layer][i]);
        cached += layers->rounds[layer][i].cached;
        bytes += layers->rounds[layer][i].bytes;
    }
    if (count == 0)
        return false;
    struct spread spread = spread_of(rates, count);
    summary->median = (uint64_t)spread.median;
    summary->min = (uint64_t)spread.min;
    summary->max = (uint64_t)spread.max;
    summary->cache = reads_a_disk(layer) ? cache_label(cached, bytes) : NULL;
    return true;
}

enum bench_layer bench_layers_binds(const struct bench_layers *layers, bool push)
{
    enum bench_layer slowest = BENCH_LAYER_COUNT;
    struct bench_summary least = {0}, one;
    for (size_t i = 0; i < 3; i++)
        if (bench_layers_summary(layers, path[push][i], &one) &&
            (slowest == BENCH_LAYER_COUNT || one.median < least.median)) {
            slowest = path[push][i];
            least = one;
        }
    return slowest;
}

double bench_layers_seconds(const struct bench_layers *layers, bool push, uint64_t bytes)
{
    struct bench_summary summary;
    enum bench_layer binds = bench_layers_binds(layers, push);
    bool known = bench_layers_summary(layers, push ? BENCH_PUSH : BENCH_PULL, &summary) ||
                 (binds != BENCH_LAYER_COUNT && bench_layers_summary(layers, binds, &summary));
    return known && summary.median > 0 ? (double)bytes / (double)summary.median : 0;
}

const char *bench_layer_name(enum bench_layer layer)
{
    return names[layer];
}

int bench_layers_parse(const char *text, unsigned *set, struct error *err)
{
    *set = 0;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ","), i = 0;
        while (i <= BENCH_PULL && (strlen(names[i]) != length || memcmp(names[i], word, length) != 0))
            i++;
        if (i > BENCH_PULL)
            return error_set(
                err, ERROR_USAGE,
                "no layer '%.*s': there are link-up, link-down, server-disk-read, server-disk-write, "
                "client-disk-read, client-disk-write, push and pull",
                (int)length, word);
        *set |= 1u << i;
        word += length + (word[length] == ',');
    }
    return *set ? 0 : error_set(err, ERROR_USAGE, "--layer needs the name of a layer");
}
