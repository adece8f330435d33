/* Whoever can write the user's state folder can write anything into these files: they are read with a limit,
 * line by line, and believed only within limits. */
#include "client/history.h"

#include "client/spread.h"
#include "common/fdio.h"
#include "common/path.h"
#include "proto/json.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Several times what HISTORY_RUNS lines take; of a longer file the rest is not read. */
#define FILE_MAX 8192

/* "push-" and a server; more than NAME_MAX, so that a name which is too long is refused and not cut. */
#define NAME_SIZE (HOSTPORT_TEXT_MAX + 8)

/* A year: longer than any transfer, and far from where sums overflow. */
#define RUN_MAX_MS (UINT64_C(365) * 24 * 3600 * 1000)

/* -- pure -- */

bool history_add(struct history *history, const struct history_run *run)
{
    if (run->bytes < HISTORY_MIN_BYTES || run->bytes > LIMIT_SIZE || run->ms == 0 || run->ms > RUN_MAX_MS)
        return false;
    if (history->count == HISTORY_RUNS)
        memmove(history->runs, history->runs + 1, --history->count * sizeof *history->runs);
    history->runs[history->count++] = *run;
    return true;
}

static void parse_line(struct history *history, const char *line, size_t length)
{
    struct history_run run;
    struct json *object = json_parse(line, length, 1);
    if (json_is_object(object) && json_as_size(json_get(object, "bytes"), &run.bytes) &&
        json_as_size(json_get(object, "ms"), &run.ms))
        (void)history_add(history, &run);
    json_free(object);
}

void history_parse(struct history *history, const char *text, size_t length)
{
    for (const char *end = text + length; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline)
            return; /* cut off */
        parse_line(history, text, (size_t)(newline - text));
        text = newline + 1;
    }
}

char *history_print(const struct history *history)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        abort();
    for (size_t i = 0; i < history->count; i++)
        (void)fprintf(out, "{\"bytes\":%" PRIu64 ",\"ms\":%" PRIu64 "}\n", history->runs[i].bytes,
                      history->runs[i].ms);
    if (fclose(out) != 0)
        abort();
    return text;
}

double history_rate(const struct history *history, size_t *runs)
{
    double rates[HISTORY_USED];
    *runs = history->count < HISTORY_USED ? history->count : HISTORY_USED;
    const struct history_run *last = history->runs + history->count - *runs;
    for (size_t i = 0; i < *runs; i++)
        rates[i] = (double)last[i].bytes * 1000.0 / (double)last[i].ms;
    return *runs > 0 ? spread_of(rates, *runs).median : 0;
}

/* -- files -- */

/* The folder of this program's state; NULL where there is no home. free() it. Relative ones are to be
 * ignored, says the XDG Base Directory Specification. */
static char *state_folder(void)
{
    const char *home = getenv("HOME"), *base = getenv("XDG_STATE_HOME"), *below = "/mstore";
    char *folder;
    if (!base || base[0] != '/') {
        base = home;
        below = "/.local/state/mstore";
    }
    if (!base || base[0] != '/')
        return NULL;
    if (asprintf(&folder, "%s%s", base, below) < 0)
        abort();
    return folder;
}

/* 0700 is the specification's. What cannot be made shows when it is opened. */
static int open_folder(bool make)
{
    char *folder = state_folder();
    if (folder && make)
        (void)path_make_folders(folder, 0700);
    int fd = folder ? fdio_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
    free(folder);
    return fd;
}

/* "push-nas:7420". The zone of an IPv6 address may hold any character. */
static void file_name(char name[NAME_SIZE], const struct hostport *server, enum history_direction direction)
{
    char text[HOSTPORT_TEXT_MAX];
    (void)snprintf(name, NAME_SIZE, "%s-%s", direction == HISTORY_PUSH ? "push" : "pull",
                   hostport_format(text, server));
    for (char *c = name; *c; c++)
        if (*c == '/')
            *c = '_';
}

/* Not a FIFO, which would be waited for, nor a device. */
static void read_runs(struct history *history, int folder, const char *name)
{
    char text[FILE_MAX];
    struct stat st;
    int fd = fdio_openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    ssize_t length =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdio_read(fd, text, sizeof text) : -1;
    if (length > 0)
        history_parse(history, text, (size_t)length);
    fdio_drop(&fd);
}

/* Not flushed: after a crash there may be an empty file, which costs a few predictions. Another run, perhaps
 * on another machine, may write at the same time: each has a file of its own until it is whole. */
static void write_runs(const struct history *history, int folder, const char *name)
{
    uint64_t number;
    char temporary[32];
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return;
    (void)snprintf(temporary, sizeof temporary, ".new-%016" PRIx64, number);
    int fd = fdio_openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    char *text = history_print(history);
    bool written = fdio_write(fd, text, strlen(text)) >= 0;
    free(text);
    if (fdio_close(&fd) < 0 || !written || renameat(folder, temporary, folder, name) < 0)
        (void)unlinkat(folder, temporary, 0);
}

void history_load(struct history *history, const struct hostport *server, enum history_direction direction)
{
    char name[NAME_SIZE];
    int folder = open_folder(false);
    history->count = 0;
    file_name(name, server, direction);
    if (folder >= 0)
        read_runs(history, folder, name);
    fdio_drop(&folder);
}

void history_record(const struct hostport *server, enum history_direction direction,
                    const struct history_run *run)
{
    struct history history = {.count = 0};
    char name[NAME_SIZE];
    if (run->bytes < HISTORY_MIN_BYTES)
        return;
    int folder = open_folder(true);
    file_name(name, server, direction);
    if (folder >= 0) {
        read_runs(&history, folder, name);
        if (history_add(&history, run))
            write_runs(&history, folder, name);
    }
    fdio_drop(&folder);
}
