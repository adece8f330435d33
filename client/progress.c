/* One state, three ways of showing it. */
#include "client/progress.h"

#include "client/screen.h"
#include "common/clock.h"
#include "common/units.h"
#include "proto/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_EVERY_MS    100
#define JSON_EVERY_MS   1000
#define PLAIN_EVERY_MS  10000
#define BAR_COLUMNS     24
#define RATE_EVERY_MS   500
#define RATE_SETTLED_MS 5000

static bool can_draw(void)
{
    return screen_can_draw(STDERR_FILENO);
}

void progress_begin(struct progress *p, const struct options *options, const char *verb)
{
    const char *no_color = getenv("NO_COLOR");
    memset(p, 0, sizeof *p);
    p->verb = verb;
    p->mode = options->progress;
    if (options->quiet && p->mode == PROGRESS_AUTO)
        p->mode = PROGRESS_NONE;
    if (p->mode == PROGRESS_AUTO)
        p->mode = can_draw() ? PROGRESS_BAR : PROGRESS_PLAIN;
    if (p->mode == PROGRESS_BAR && !can_draw())
        p->mode = PROGRESS_PLAIN;
    p->colour = !(no_color && *no_color);
    p->begun_ms = p->shown_ms = p->rate_ms = clock_ms();
    if (p->mode == PROGRESS_BAR)
        p->shown_ms = 0;
}

/* At first the average so far, then one that forgets within a few seconds; steady on bursty links. */
static void update_rate(struct progress *p, const struct progress_state *state, uint64_t now)
{
    uint64_t passed = now - p->rate_ms, whole = now - p->begun_ms;
    if (passed < RATE_EVERY_MS)
        return;
    double current = (double)(state->moved - p->rate_bytes) * 1000.0 / (double)passed;
    p->rate = whole < RATE_SETTLED_MS ? (double)state->moved * 1000.0 / (double)whole
                                      : 0.8 * p->rate + 0.2 * current;
    p->rate_ms = now;
    p->rate_bytes = state->moved;
}

static uint64_t eta_ms(const struct progress *p, const struct progress_state *state)
{
    double left = (double)(state->total - state->bytes);
    return p->rate >= 1 ? (uint64_t)(left / p->rate * 1000.0) : 0;
}

static unsigned percent(const struct progress_state *state)
{
    if (state->total == 0)
        return 100;
    return (unsigned)((double)state->bytes * 100.0 / (double)state->total);
}

static unsigned columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void status_text(const struct progress *p, const struct progress_state *state, char *out, size_t size)
{
    char done[UNITS_TEXT_MAX], total[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX], eta[UNITS_TEXT_MAX];
    (void)snprintf(out, size, "%3u%%  %s of %s  %s  %s left  %" PRIu64 "/%" PRIu64 " files", percent(state),
                   units_format_bytes(done, state->bytes), units_format_bytes(total, state->total),
                   units_format_rate(rate, (uint64_t)p->rate),
                   p->rate >= 1 ? units_format_duration(eta, eta_ms(p, state)) : "-", state->files,
                   state->file_total);
}

static void draw_bar(struct progress *p, const struct progress_state *state)
{
    char text[256], bar[BAR_COLUMNS + 1];
    unsigned filled = percent(state) * BAR_COLUMNS / 100, width = columns();
    memset(bar, '#', filled);
    memset(bar + filled, '-', BAR_COLUMNS - filled);
    bar[BAR_COLUMNS] = '\0';
    status_text(p, state, text, sizeof text);
    /* One column is left free: a full line would wrap and could not be wiped. */
    int room = (int)width - 1;
    if (room >= BAR_COLUMNS + 20)
        (void)fprintf(stderr, "\r\033[K%s[%s]%s %.*s", p->colour ? "\033[32m" : "", bar,
                      p->colour ? "\033[0m" : "", room - BAR_COLUMNS - 3, text);
    else
        (void)fprintf(stderr, "\r\033[K%.*s", room, text);
    (void)fflush(stderr);
    p->drawn = true;
}

static void print_json(const struct progress *p, const struct progress_state *state)
{
    struct json *line = json_object();
    double rate = p->reading ? 0 : p->rate;
    json_add_size(line, "bytes", state->bytes);
    json_add_size(line, "total", state->total);
    json_add_size(line, "bytes_per_second", (uint64_t)rate);
    if (rate >= 1)
        json_add_size(line, "eta_seconds", eta_ms(p, state) / 1000);
    else
        json_add_null(line, "eta_seconds");
    char *text = json_print(line);
    (void)fprintf(stderr, "%s\n", text);
    free(text);
    json_free(line);
}

static void print_plain(const struct progress *p, const struct progress_state *state)
{
    char text[256];
    status_text(p, state, text, sizeof text);
    (void)fprintf(stderr, "%s: %s\n", p->verb, text);
}

/* Takes note of it. */
static bool is_due(struct progress *p, const struct progress_state *state)
{
    static const unsigned every_ms[] = {
        [PROGRESS_BAR] = BAR_EVERY_MS, [PROGRESS_PLAIN] = PLAIN_EVERY_MS, [PROGRESS_JSON] = JSON_EVERY_MS};
    uint64_t now = clock_ms();
    update_rate(p, state, now);
    if (p->mode == PROGRESS_NONE || now - p->shown_ms < every_ms[p->mode])
        return false;
    p->shown_ms = now;
    return true;
}

/* When something else begins, or another attempt counts anew. */
static void restart_rate(struct progress *p)
{
    uint64_t now = clock_ms();
    if (!p->reading)
        p->moving_ms += now - p->begun_ms;
    p->begun_ms = p->rate_ms = now;
    p->rate_bytes = 0;
    p->rate = 0;
}

void progress_show_reading(struct progress *p, uint64_t bytes_read, uint64_t total)
{
    const struct progress_state state = {.bytes = p->bytes, .total = total, .moved = bytes_read};
    char bytes[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX];
    if (!p->reading)
        restart_rate(p);
    p->reading = true;
    if (!is_due(p, &state))
        return;
    (void)units_format_bytes(bytes, bytes_read);
    (void)units_format_rate(rate, (uint64_t)p->rate);
    if (p->mode == PROGRESS_JSON) {
        print_json(p, &state);
    } else if (p->mode == PROGRESS_PLAIN) {
        (void)fprintf(stderr, "%s: reading what is here: %s  %s\n", p->verb, bytes, rate);
    } else {
        (void)fprintf(stderr, "\r\033[Kreading what is here: %s  %s", bytes, rate);
        (void)fflush(stderr);
        p->drawn = true;
    }
}

void progress_show(struct progress *p, const struct progress_state *state)
{
    if (p->reading || state->moved < p->rate_bytes)
        restart_rate(p);
    p->reading = false;
    p->bytes = state->bytes;
    if (!is_due(p, state))
        return;
    if (p->mode == PROGRESS_BAR)
        draw_bar(p, state);
    else if (p->mode == PROGRESS_JSON)
        print_json(p, state);
    else
        print_plain(p, state);
}

void progress_end(struct progress *p, const struct progress_state *state)
{
    if (p->drawn)
        (void)fprintf(stderr, "\r\033[K");
    (void)fflush(stderr);
    restart_rate(p);
    p->drawn = p->reading = false;
    if (p->moving_ms > 0)
        p->rate = (double)state->moved * 1000.0 / (double)p->moving_ms;
    if (p->mode == PROGRESS_JSON)
        print_json(p, state);
}
