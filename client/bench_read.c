/* bench read: how fast files are read, from wherever they lie. A figure is called cold or warm by what was
 * measured right before it, never by what was asked for. */
#include "client/bench_table.h"
#include "client/commands.h"
#include "client/conditions.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "client/read_pass.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DROP_CACHES "/proc/sys/vm/drop_caches"

/* A cold round that is so many times as fast as the first one was not read from the same place. */
#define HIDDEN_FACTOR 2

struct bench_read {
    const struct options *options;
    struct bench_files files;
    struct conditions conditions;
    struct bench_table table;
    void *buffer;        /* of READ_PASS_BUFFER bytes */
    int out;             /* of --out, or -1 */
    const char *dropped; /* how the cache was dropped before this round, or NULL */
    double first_cold;   /* bytes a second of the first cold round; 0 before it */
};

/* ---- before a round ---- */

/* Files in memory are nothing but page cache. */
static bool is_in_memory(const struct bench_read *bench)
{
    const struct place *place = &bench->conditions.place;
    return place->has_mount &&
           (strcmp(place->mount.type, "tmpfs") == 0 || strcmp(place->mount.type, "ramfs") == 0);
}

/* Empties the page cache of the whole machine, for pages that would not drop one file at a time. Only root
 * can; where that fails, the measured share tells. */
static bool drop_all(void)
{
    int fd = geteuid() == 0 ? fdio_openat(AT_FDCWD, DROP_CACHES, O_WRONLY | O_CLOEXEC, 0) : -1;
    bool done = fd >= 0 && fdio_write(fd, "1", 1) == 1;
    fdio_drop(&fd);
    return done;
}

static bool is_cold(const struct bench_read *bench, uint64_t cached)
{
    return cache_state_of((double)cached / (double)bench->files.bytes) == CACHE_COLD;
}

static int make_cold(struct bench_read *bench, struct error *err)
{
    bool known;
    uint64_t cached;
    bench->dropped = "fadvise";
    if (bench_files_drop(&bench->files, err) < 0 ||
        bench_files_resident(&bench->files, &known, &cached, err) < 0)
        return -1;
    bool is_left = !known || !is_cold(bench, cached);
    if (is_left && !is_in_memory(bench) && drop_all())
        bench->dropped = "fadvise and drop_caches";
    return 0;
}

static int prepare(struct bench_read *bench, struct error *err)
{
    switch (bench->options->cache) {
    case CACHE_WISH_COLD:
        return make_cold(bench, err);
    case CACHE_WISH_WARM:
        return read_pass(&bench->files, READ_MODE_READ, bench->buffer, err);
    case CACHE_WISH_NONE:
        break;
    }
    return 0;
}

/* ---- behind a round ---- */

static int append_line(const struct bench_read *bench, const struct json *line, struct error *err)
{
    char *text = json_print(line);
    size_t length = strlen(text);
    text[length] = '\n'; /* in the place of the NUL: one write, so that lines of several writers do not mix */
    int result = fdio_write(bench->out, text, length + 1) < 0
                     ? error_set_sys(err, ERROR_FILE, errno, "cannot write '%s'", bench->options->out)
                     : 0;
    free(text);
    return result;
}

static void say_hidden_cache(const struct bench_read *bench, const struct bench_round *round,
                             uint64_t expected)
{
    const struct block_stack *stack = &bench->conditions.place.stack;
    char wanted[UNITS_TEXT_MAX], came[UNITS_TEXT_MAX];
    (void)printf("         hidden cache suspected: ");
    if (!bench->conditions.is_cache_suspected) {
        (void)printf("%.1f times as fast as the first cold round; something below this machine's page cache "
                     "keeps the files\n",
                     round->bytes_per_s / bench->first_cold);
        return;
    }
    (void)printf("%s were not in the page cache", units_format_bytes(wanted, expected));
    for (size_t i = 0; i < stack->count; i++)
        (void)printf(", %s delivered %s", stack->devices[i].name,
                     units_format_bytes(came, bench->conditions.during[i]));
    (void)printf(" (compressed files look the same)\n");
}

static void say_place(const struct bench_read *bench)
{
    char text[PLACE_TEXT_MAX];
    if (bench->options->json)
        return;
    output_text(place_text(&bench->conditions.place, text));
    (void)printf("\n");
}

static void say_round(const struct bench_read *bench, unsigned number, const struct bench_round *round,
                      uint64_t expected)
{
    char rate[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX], share[64] = "what was cached before is not known";
    if (round->is_cached_known)
        (void)snprintf(share, sizeof share, "%.1f%% cached before", 100 * round->cached_before);
    (void)printf("round %-3u%10s  %-5s  %s in %.2f s, %s\n", number,
                 units_format_rate(rate, (uint64_t)round->bytes_per_s), cache_state_names[round->cache],
                 units_format_bytes(bytes, round->bytes), round->seconds, share);
    if (round->is_cache_suspected)
        say_hidden_cache(bench, round, expected);
    (void)fflush(stdout); /* a round may take minutes */
}

/* What was asked for and what was had are two things. */
static void note_wish(const struct bench_read *bench, const struct bench_round *round)
{
    bool is_had = bench->options->cache == CACHE_WISH_NONE ||
                  strcmp(cache_wish_names[bench->options->cache], cache_state_names[round->cache]) == 0;
    if (is_had)
        return;
    if (!round->is_cached_known)
        output_note(bench->options,
                    "notice: the kernel tells what is cached only to the owner of a file, to who "
                    "may write it, and to root: the round counts as mixed");
    else
        output_note(bench->options, "notice: not %s as asked for: %.1f%% were cached before the round",
                    cache_wish_names[bench->options->cache], 100 * round->cached_before);
}

static int publish(struct bench_read *bench, unsigned number, const struct bench_round *round,
                   uint64_t expected, struct error *err)
{
    struct json *conditions = conditions_json(&bench->conditions, &bench->options->arguments);
    if (bench->dropped)
        json_add_text(conditions, "dropped_by", bench->dropped);
    struct json *line = bench_round_json(round, conditions);
    note_wish(bench, round);
    int result = bench->out >= 0 ? append_line(bench, line, err) : 0;
    if (!bench->options->json) {
        say_round(bench, number, round, expected);
        json_free(line);
    } else {
        output_json(line);
        (void)fflush(stdout);
    }
    return result < 0 ? -1 : bench_table_add(&bench->table, round, err);
}

/* ---- rounds ---- */

/* What the disks' counters cannot show: a NAS, a controller or a hypervisor that keeps what was read once. */
static bool is_faster_than_first(struct bench_read *bench, const struct bench_round *round)
{
    if (round->cache != CACHE_COLD)
        return false;
    if (bench->first_cold == 0)
        bench->first_cold = round->bytes_per_s;
    return round->bytes_per_s > HIDDEN_FACTOR * bench->first_cold;
}

static int run_round(struct bench_read *bench, unsigned number, struct error *err)
{
    const struct options *options = bench->options;
    struct bench_round round = {.label = options->label ? options->label : options->arguments.items[0],
                                .mode = options->read_mode};
    bool known;
    uint64_t cached;
    if (prepare(bench, err) < 0 || bench_files_resident(&bench->files, &known, &cached, err) < 0)
        return -1;
    uint64_t expected = known ? bench->files.bytes - cached : 0;
    conditions_begin(&bench->conditions);
    uint64_t began = clock_ns();
    if (read_pass(&bench->files, options->read_mode, bench->buffer, err) < 0)
        return -1;
    double seconds = (double)(clock_ns() - began + 1) / 1e9;
    conditions_end(&bench->conditions, expected);
    bench_round_set(&round, bench->files.bytes, seconds, known, cached);
    round.is_cache_suspected = is_faster_than_first(bench, &round) || bench->conditions.is_cache_suspected;
    return publish(bench, number, &round, expected, err);
}

static void say_summary(struct bench_read *bench)
{
    if (bench->options->json)
        return;
    bench_table_finish(&bench->table, bench->options->load_cost_s);
    (void)printf("\n");
    bench_table_print(&bench->table, bench->options->load_cost_s);
}

static int run(struct bench_read *bench, struct error *err)
{
    const struct options *options = bench->options;
    if (options->out) {
        bench->out = fdio_openat(AT_FDCWD, options->out, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (bench->out < 0)
            return error_set_sys(err, ERROR_FILE, errno, "cannot write '%s'", options->out);
    }
    bench->buffer = read_pass_buffer();
    if (!bench->buffer)
        return error_set(err, ERROR_FAILED, "no memory for a buffer of %zu bytes", READ_PASS_BUFFER);
    say_place(bench);
    for (unsigned number = 1; number <= options->rounds; number++)
        if (run_round(bench, number, err) < 0)
            return -1;
    if (fdio_close(&bench->out) < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot write '%s'", options->out);
    say_summary(bench);
    return 0;
}

/* Without an error the lines are the result: no object is printed behind them. */
static int finish(const struct options *options, struct error *err)
{
    if (err->code != ERROR_NONE)
        return output_finish(options, NULL, err);
    if (output_flush(err) < 0)
        output_error("%s", err->text);
    return error_exit_status(err->code);
}

int command_bench_read(const struct options *options)
{
    struct bench_read bench = {.options = options, .out = -1};
    struct error err = {0};
    if (bench_files_collect(&bench.files, &options->arguments, &err) == 0) {
        conditions_open(&bench.conditions, &bench.files);
        (void)run(&bench, &err);
        conditions_close(&bench.conditions);
        bench_table_release(&bench.table);
        bench_files_release(&bench.files);
        fdio_drop(&bench.out);
        free(bench.buffer);
    }
    return finish(options, &err);
}
