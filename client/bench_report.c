/* bench report: reads what bench read has written, one line at a time, and compares. */
#include "client/bench_table.h"
#include "client/chart.h"
#include "client/commands.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "common/fdio.h"
#include "common/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The paths of a command line fit, which Linux limits to 2 MiB by default, at their worst escaping; nothing
 * longer was written by bench read. */
#define LINE_MAX_BYTES ((size_t)16 << 20)
#define PIECE          ((size_t)64 << 10)

/* A file that is read in lines. */
struct lines {
    const char *name;
    int fd;
    char *buffer;
    size_t size, used; /* of the buffer */
    size_t line;       /* number of the next one */
    bool ended;
};

static int refuse(const struct lines *lines, const char *why, struct error *err)
{
    return error_set(err, ERROR_FAILED, "%s, in line %zu of '%s'", why, lines->line, lines->name);
}

/* Reads on, into a larger buffer if this one is full. */
static int fill(struct lines *lines, struct error *err)
{
    if (lines->used == lines->size) {
        lines->size += lines->size ? lines->size : PIECE;
        lines->buffer = realloc(lines->buffer, lines->size);
        if (!lines->buffer)
            abort();
    }
    ssize_t n = fdio_read(lines->fd, lines->buffer + lines->used, lines->size - lines->used);
    if (n < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot read '%s'", lines->name);
    lines->ended = lines->used + (size_t)n < lines->size;
    lines->used += (size_t)n;
    return 0;
}

static bool is_blank(const char *line, size_t length)
{
    while (length > 0 && strchr(" \t\r", line[length - 1]) && line[length - 1] != '\0')
        length--;
    return length == 0;
}

static int take_line(const struct lines *lines, const char *line, size_t length, struct bench_table *table,
                     struct error *err)
{
    struct bench_round round;
    struct error cause;
    if (is_blank(line, length))
        return 0;
    if (bench_round_parse(&round, line, length, &cause) < 0)
        return refuse(lines, cause.text, err);
    int result = bench_table_add(table, &round, &cause);
    bench_round_release(&round);
    return result < 0 ? refuse(lines, cause.text, err) : 0;
}

/* Takes the lines that are whole, or at the end of the file all, and moves the rest to the front. */
static int take_lines(struct lines *lines, struct bench_table *table, struct error *err)
{
    size_t at = 0;
    while (at < lines->used) {
        char *start = lines->buffer + at, *end = memchr(start, '\n', lines->used - at);
        if (!end && !lines->ended)
            break;
        size_t length = end ? (size_t)(end - start) : lines->used - at;
        if (take_line(lines, start, length, table, err) < 0)
            return -1;
        at += length + (end != NULL);
        lines->line++;
    }
    lines->used -= at;
    memmove(lines->buffer, lines->buffer + at, lines->used);
    return lines->used < LINE_MAX_BYTES ? 0 : refuse(lines, "more bytes than a line can have", err);
}

static int read_file(const char *name, struct bench_table *table, struct error *err)
{
    struct lines lines = {.name = name, .line = 1};
    lines.fd = fdio_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    if (lines.fd < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot read '%s'", name);
    int result = 0;
    while (result == 0 && !lines.ended) {
        result = interrupt_check(err) < 0 ? -1 : fill(&lines, err);
        if (result == 0)
            result = take_lines(&lines, table, err);
    }
    free(lines.buffer);
    fdio_drop(&lines.fd);
    return result;
}

static int read_files(const struct options *options, struct bench_table *table, struct error *err)
{
    for (size_t i = 0; i < options->arguments.count; i++)
        if (read_file(options->arguments.items[i], table, err) < 0)
            return -1;
    if (table->count == 0)
        return error_set(err, ERROR_FAILED, "there is no round in '%s'", options->arguments.items[0]);
    bench_table_finish(table, options->load_cost_s);
    return 0;
}

static void say_table(const struct bench_table *table, unsigned load_cost_s)
{
    char label[512];
    bench_table_print(table, load_cost_s);
    (void)printf("NOISE is (max - min) / median; RATIO is to '%s', cold to cold and warm to warm\n",
                 printable(table->groups[0].label, label, sizeof label));
}

int command_bench_report(const struct options *options)
{
    struct bench_table table = {0};
    struct error err = {0};
    struct json *result = NULL;
    if (read_files(options, &table, &err) == 0) {
        if (options->json)
            result = bench_table_json(&table);
        else
            say_table(&table, options->load_cost_s);
        if (options->chart && chart_write(&table, options->chart, &err) == 0 && result)
            json_add_path(result, "chart", options->chart, true);
    }
    bench_table_release(&table);
    return output_finish(options, result, &err);
}
