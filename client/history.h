/* How fast earlier transfers with a server were, and what the next one should take by them.
 *
 *   history_load() … history_seconds() … history_record()
 *
 * The last runs of each server and direction are kept as JSON lines in a file of their own,
 * `$XDG_STATE_HOME/mstore/push-HOST:PORT` (or `~/.local/state/mstore/…`), newest last:
 *
 *   {"bytes":12000000000,"ms":15234}
 *
 * The file is advice and nothing more. What is not there, cannot be read or is no such line counts as not
 * there; where nothing can be written nothing is remembered; no transfer fails for it. It is replaced as a
 * whole by a rename, so readers and runs that end at once never see half of one; of two that end together one
 * may be forgotten.
 *
 * Blocking; any thread. The parts that touch no file are pure. */
#ifndef CLIENT_HISTORY_H
#define CLIENT_HISTORY_H

#include "common/hostport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_RUNS 20 /* that are kept */
#define HISTORY_USED 10 /* thereof, for the estimate: it should follow a change of disks or cables */
/* What moves less shows how long it takes to begin, not how fast bytes move. */
#define HISTORY_MIN_BYTES UINT64_C(64000000)

enum history_direction { HISTORY_PUSH, HISTORY_PULL };

struct history_run {
    uint64_t bytes; /* that were moved */
    uint64_t ms;    /* until all was durable and shown */
};

struct history {
    struct history_run runs[HISTORY_RUNS]; /* the oldest first */
    size_t count;
};

/* -- pure -- */

/* Adds the lines of a text that are runs, and passes over all others. */
void history_parse(struct history *history, const char *text, size_t length);

/* The lines; free() them. */
char *history_print(const struct history *history);

/* Adds one that counts: enough bytes, some time; the oldest goes if there are too many. */
bool history_add(struct history *history, const struct history_run *run);

/* Median rate of the last runs, bytes a second, and their number. 0 where there are none. */
double history_rate(const struct history *history, size_t *runs);

/* -- files -- */

/* All that is known; an empty history where nothing is. */
void history_load(struct history *history, const struct hostport *server, enum history_direction direction);

/* Remembers a run, if it counts. */
void history_record(const struct hostport *server, enum history_direction direction,
                    const struct history_run *run);

#endif
