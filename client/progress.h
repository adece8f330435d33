/* Progress of a transfer on standard error, in the form that --progress asks for.
 *
 *   progress_begin() … progress_show() at any rate … progress_end()
 *
 * A bar redraws at most ten times a second and is wiped at the end; plain lines come every ten seconds; JSON
 * lines every second and once more at the end. What was there already counts as done, but not as speed. One
 * thread. */
#ifndef CLIENT_PROGRESS_H
#define CLIENT_PROGRESS_H

#include "client/options.h"

#include <stdbool.h>
#include <stdint.h>

struct progress {
    enum progress_mode mode; /* never PROGRESS_AUTO */
    const char *verb;        /* "push" */
    uint64_t begun_ms, shown_ms, rate_ms, rate_bytes;
    uint64_t moving_ms; /* in which something moved, before begun_ms */
    uint64_t bytes;     /* done, at the last progress_show() */
    double rate;        /* bytes a second, smoothed over a few seconds */
    bool drawn, colour, reading;
};

struct progress_state {
    uint64_t bytes, total; /* done, what was there included; of all */
    uint64_t moved;        /* done by this run: the speed */
    uint64_t files, file_total;
};

void progress_begin(struct progress *progress, const struct options *options, const char *verb);
void progress_show(struct progress *progress, const struct progress_state *state);
/* Before anything of the `total` moves: how much was read of what is here already, to compare or hash it.
 * JSON lines say that nothing more is done; the speed is counted anew from the first progress_show() on. */
void progress_show_reading(struct progress *progress, uint64_t bytes_read, uint64_t total);
/* Says a last time where it stands (JSON), wipes a bar. */
void progress_end(struct progress *progress, const struct progress_state *state);

#endif
