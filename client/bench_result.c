/* The figures of a bench, for people and for programs. */
#include "client/bench_path.h"

#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>

static void add_layer_json(struct json *array, const struct path_bench *b, enum bench_layer layer,
                           const char *name, unsigned streams)
{
    struct bench_summary summary;
    if (!bench_layers_summary(&b->layers, layer, &summary))
        return;
    struct json *object = json_add(array, NULL, json_object());
    json_add_text(object, "layer", name);
    json_add_size(object, "bytes_per_second", summary.median);
    json_add_size(object, "min", summary.min);
    json_add_size(object, "max", summary.max);
    if (streams > 0)
        json_add_size(object, "streams", streams);
    if (summary.cache)
        json_add_text(object, "cache", summary.cache);
    else
        json_add_null(object, "cache");
}

static void add_binds_json(struct json *binds, struct json *seconds, const struct path_bench *b, bool push)
{
    const char *name = push ? "push" : "pull";
    enum bench_layer layer = bench_layers_binds(&b->layers, push);
    double predicted = bench_layers_seconds(&b->layers, push, b->options->size);
    if (layer != BENCH_LAYER_COUNT)
        json_add_text(binds, name, bench_layer_name(layer));
    else
        json_add_null(binds, name);
    if (predicted > 0)
        json_add_number(seconds, name, predicted);
    else
        json_add_null(seconds, name);
}

struct json *bench_result_json(const struct path_bench *b)
{
    struct json *result = json_object(), *layers = json_add(result, "layers", json_array());
    unsigned streams = b->options->streams;
    for (unsigned i = 0; i <= BENCH_PULL; i++)
        add_layer_json(layers, b, i, bench_layer_name(i), i <= BENCH_LINK_DOWN ? streams : 0);
    add_layer_json(layers, b, BENCH_LINK_UP_ONE, bench_layer_name(BENCH_LINK_UP), 1);
    add_layer_json(layers, b, BENCH_LINK_DOWN_ONE, bench_layer_name(BENCH_LINK_DOWN), 1);
    struct json *binds = json_add(result, "binds", json_object());
    struct json *seconds = json_add(result, "predicted_seconds", json_object());
    add_binds_json(binds, seconds, b, true);
    add_binds_json(binds, seconds, b, false);
    return result;
}

static void print_layer(const struct path_bench *b, enum bench_layer layer, const char *name,
                        unsigned streams)
{
    struct bench_summary s;
    char title[64];
    if (!bench_layers_summary(&b->layers, layer, &s))
        return;
    (void)snprintf(title, sizeof title, streams ? "%s, %u stream%s" : "%s", name, streams,
                   streams == 1 ? "" : "s");
    (void)printf("%-24s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "  %s\n", title, s.median / 1000000,
                 s.min / 1000000, s.max / 1000000, s.cache ? s.cache : "");
}

static void print_binds(const struct path_bench *b, bool push)
{
    struct bench_summary ceiling, reached;
    char size[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX];
    enum bench_layer layer = bench_layers_binds(&b->layers, push);
    double seconds = bench_layers_seconds(&b->layers, push, b->options->size);
    if (seconds <= 0)
        return;
    (void)printf("%s: ", push ? "push" : "pull");
    if (layer != BENCH_LAYER_COUNT && bench_layers_summary(&b->layers, layer, &ceiling)) {
        (void)printf("%s binds", bench_layer_name(layer));
        if (bench_layers_summary(&b->layers, push ? BENCH_PUSH : BENCH_PULL, &reached))
            (void)printf("; %.0f %% of it was reached",
                         100 * (double)reached.median / (double)ceiling.median);
        (void)printf("; ");
    }
    (void)printf("%s would take %s\n", units_format_bytes(size, b->options->size),
                 units_format_duration(time, (uint64_t)(seconds * 1000)));
}

void bench_result_print(const struct path_bench *b)
{
    (void)printf("%-24s %9s %9s %9s  %s\n", "LAYER", "MB/s", "MIN", "MAX", "CACHE");
    for (unsigned i = 0; i <= BENCH_PULL; i++) {
        print_layer(b, i, bench_layer_name(i), i <= BENCH_LINK_DOWN ? b->options->streams : 0);
        if (i <= BENCH_LINK_DOWN)
            print_layer(b, i + BENCH_LINK_UP_ONE - BENCH_LINK_UP, bench_layer_name(i), 1);
    }
    print_binds(b, true);
    print_binds(b, false);
}
