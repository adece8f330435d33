/* Rounds of bench read, sorted into groups of the same label, mode and cache state, and what they come to.
 *
 *   all zero, bench_table_add() …, bench_table_finish(), then reading, bench_table_release()
 *
 * Groups stand in the order in which they first came. Pure; one thread. */
#ifndef CLIENT_BENCH_TABLE_H
#define CLIENT_BENCH_TABLE_H

#include "client/bench_round.h"
#include "client/spread.h"

/* Each round looks through the groups, and a chart shows them all. */
#define BENCH_GROUPS_MAX 1000

struct bench_group {
    char *label;
    enum read_mode mode;
    enum cache_state cache;
    double *rates; /* bytes a second, of each round */
    size_t count;
    size_t suspected;    /* rounds in which a hidden cache may have answered */
    uint64_t bytes;      /* that a round reads; 0 where the rounds differ in it */
    struct spread rate;  /* from here on: after bench_table_finish() */
    double ratio;        /* median by that of the first label, same mode and cache; 0: there is nothing to
                          * compare with, as for all that is neither cold nor warm */
    double load_seconds; /* bytes by median, plus the fixed cost; 0 where `bytes` is 0 */
};

struct bench_table {
    struct bench_group *groups;
    size_t count;
};

/* Copies what it keeps. ERROR_FAILED where there would be more than BENCH_GROUPS_MAX groups. */
int bench_table_add(struct bench_table *table, const struct bench_round *round, struct error *err);

/* `load_cost_s`: what loading takes beside reading, in seconds. */
void bench_table_finish(struct bench_table *table, unsigned load_cost_s);
void bench_table_release(struct bench_table *table);

/* The table as `bench report --json` gives it. */
struct json *bench_table_json(const struct bench_table *table);

/* The same on standard output for people. `load_cost_s` as in bench_table_finish(): it is explained. */
void bench_table_print(const struct bench_table *table, unsigned load_cost_s);

#endif
