/* Each layer of the path to the server alone, then all of it, round by round in turns, so that what changes
 * meanwhile meets all of them. Whatever is made is removed. */
#include "client/bench_path.h"

#include "client/bench_disk.h"
#include "client/bench_link.h"
#include "client/output.h"
#include "common/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No round moves more: enough for a figure, little enough for patience. --size may be larger: it is what is
 * predicted. */
#define MOST_BYTES (UINT64_C(2) * 1000 * 1000 * 1000)

/* -- saying how far it is -- */

static void say(const struct path_bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const struct path_bench *b, const char *format, ...)
{
    va_list args;
    if (b->options->quiet || b->options->progress == PROGRESS_NONE)
        return;
    (void)fprintf(stderr, "bench: ");
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n");
}

void bench_note(struct path_bench *b, enum bench_layer layer, const struct bench_rate *rate)
{
    char speed[UNITS_TEXT_MAX];
    bool one = layer == BENCH_LINK_UP_ONE || layer == BENCH_LINK_DOWN_ONE;
    const char *name = bench_layer_name(one ? layer - BENCH_LINK_UP_ONE + BENCH_LINK_UP : layer);
    bench_layers_add(&b->layers, layer, rate);
    say(b, "round %u of %u: %s%s %s", b->round, b->options->rounds, name, one ? " with one stream" : "",
        units_format_rate(speed, bench_rate_bytes_per_s(rate)));
}

/* A layer that this token must not measure is left out; every other failure is the command's. */
int bench_judge(struct path_bench *b, unsigned set, int result, struct error *err)
{
    if (result == 0 || err->code != ERROR_REFUSED || b->round > 1)
        return result;
    for (unsigned i = 0; i <= BENCH_PULL; i++)
        if (bench_wants(b, set & 1u << i))
            output_note(b->options, "%s is left out: %s", bench_layer_name(i), err->text);
    b->refused |= set;
    memset(err, 0, sizeof *err);
    return 0;
}

/* -- layers -- */

static int link_round(struct path_bench *b, bool up, struct error *err)
{
    struct bench_rate rate;
    enum bench_layer layer = up ? BENCH_LINK_UP : BENCH_LINK_DOWN;
    if (!bench_wants(b, 1u << layer))
        return 0;
    if (bench_link(b->options, up, b->options->streams, b->bytes, &rate, err) < 0)
        return -1;
    bench_note(b, layer, &rate);
    if (b->options->streams == 1)
        return 0;
    if (bench_link(b->options, up, 1, b->bytes, &rate, err) < 0)
        return -1;
    bench_note(b, layer - BENCH_LINK_UP + BENCH_LINK_UP_ONE, &rate);
    return 0;
}

#define SERVER_DISK (1u << BENCH_SERVER_READ | 1u << BENCH_SERVER_WRITE)
#define CLIENT_DISK (1u << BENCH_CLIENT_READ | 1u << BENCH_CLIENT_WRITE)

static int server_disk_round(struct path_bench *b, struct error *err)
{
    struct bench_rate write = {0}, read = {0};
    bool own = !b->model || (b->wanted & ~b->refused & 1u << BENCH_SERVER_WRITE);
    if (!bench_wants(b, SERVER_DISK))
        return 0;
    if (own && bench_judge(b, b->model ? 1u << BENCH_SERVER_WRITE : SERVER_DISK,
                           bench_disk_there(b->options, NULL, b->bytes, &write, &read, err), err) < 0)
        return -1;
    if (bench_wants(b, 1u << BENCH_SERVER_READ) && b->model &&
        bench_disk_there(b->options, b->model, b->bytes, &write, &read, err) < 0)
        return -1;
    if (bench_wants(b, 1u << BENCH_SERVER_WRITE))
        bench_note(b, BENCH_SERVER_WRITE, &write);
    if (bench_wants(b, 1u << BENCH_SERVER_READ))
        bench_note(b, BENCH_SERVER_READ, &read);
    return 0;
}

static int client_disk_round(struct path_bench *b, struct error *err)
{
    struct bench_rate write, read;
    if (!bench_wants(b, CLIENT_DISK))
        return 0;
    if (bench_disk_here(b->options, b->bytes, &write, &read, err) < 0)
        return -1;
    if (bench_wants(b, 1u << BENCH_CLIENT_WRITE))
        bench_note(b, BENCH_CLIENT_WRITE, &write);
    if (bench_wants(b, 1u << BENCH_CLIENT_READ))
        bench_note(b, BENCH_CLIENT_READ, &read);
    return 0;
}

/* -- all of it -- */

static int run_rounds(struct path_bench *b, struct error *err)
{
    for (b->round = 1; b->round <= b->options->rounds; b->round++)
        if (link_round(b, true, err) < 0 || link_round(b, false, err) < 0 || server_disk_round(b, err) < 0 ||
            client_disk_round(b, err) < 0 || bench_transfer_round(b, err) < 0)
            return -1;
    return 0;
}

int bench_path(const struct options *options)
{
    struct error err = {0};
    struct path_bench *b = calloc(1, sizeof *b);
    struct json *result = NULL;
    if (!b)
        abort();
    b->options = options;
    b->model = options->arguments.count > 0 ? options->arguments.items[0] : NULL;
    b->wanted = options->layers;
    b->bytes = options->size < MOST_BYTES ? options->size : MOST_BYTES;
    if (bench_transfer_prepare(b, &err) == 0 && run_rounds(b, &err) == 0) {
        if (options->json)
            result = bench_result_json(b);
        else
            bench_result_print(b);
    }
    bench_transfer_clean(b);
    free(b);
    return output_finish(options, result, &err);
}
