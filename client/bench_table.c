/* A cold figure is compared with cold figures only, and what is neither cold nor warm with none. */
#include "client/bench_table.h"

#include "common/printable.h"
#include "common/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_COLUMN_MAX 48

static struct bench_group *find(const struct bench_table *table, const char *label, enum read_mode mode,
                                enum cache_state cache)
{
    for (size_t i = 0; i < table->count; i++) {
        struct bench_group *group = &table->groups[i];
        if (group->mode == mode && group->cache == cache && strcmp(group->label, label) == 0)
            return group;
    }
    return NULL;
}

static struct bench_group *make(struct bench_table *table, const struct bench_round *round)
{
    table->groups = realloc(table->groups, (table->count + 1) * sizeof *table->groups);
    char *label = strdup(round->label);
    if (!table->groups || !label)
        abort();
    struct bench_group *group = &table->groups[table->count++];
    *group = (struct bench_group){
        .label = label, .mode = round->mode, .cache = round->cache, .bytes = round->bytes};
    return group;
}

int bench_table_add(struct bench_table *table, const struct bench_round *round, struct error *err)
{
    struct bench_group *group = find(table, round->label, round->mode, round->cache);
    if (!group && table->count == BENCH_GROUPS_MAX)
        return error_set(err, ERROR_FAILED, "more than %d groups of label, mode and cache", BENCH_GROUPS_MAX);
    if (!group)
        group = make(table, round);
    if ((group->count & (group->count - 1)) == 0) { /* full at each power of two */
        size_t room = group->count ? 2 * group->count : 1;
        group->rates = realloc(group->rates, room * sizeof *group->rates);
        if (!group->rates)
            abort();
    }
    group->rates[group->count++] = round->bytes_per_s;
    group->suspected += round->is_cache_suspected;
    if (group->bytes != round->bytes)
        group->bytes = 0;
    return 0;
}

void bench_table_finish(struct bench_table *table, unsigned load_cost_s)
{
    for (size_t i = 0; i < table->count; i++) {
        struct bench_group *group = &table->groups[i];
        group->rate = spread_of(group->rates, group->count);
        if (group->bytes > 0)
            group->load_seconds = (double)group->bytes / group->rate.median + load_cost_s;
    }
    for (size_t i = 0; i < table->count; i++) {
        struct bench_group *group = &table->groups[i];
        const struct bench_group *first = find(table, table->groups[0].label, group->mode, group->cache);
        if (first && group->cache != CACHE_MIXED)
            group->ratio = group->rate.median / first->rate.median;
    }
}

void bench_table_release(struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->groups[i].label);
        free(table->groups[i].rates);
    }
    free(table->groups);
    memset(table, 0, sizeof *table);
}

/* ---- showing it ---- */

static void add_known(struct json *object, const char *key, double value)
{
    if (value > 0)
        json_add_number(object, key, value);
    else
        json_add_null(object, key);
}

struct json *bench_table_json(const struct bench_table *table)
{
    struct json *result = json_object(), *groups = json_add(result, "groups", json_array());
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_group *group = &table->groups[i];
        struct json *object = json_add(groups, NULL, json_object());
        json_add_text(object, "label", group->label);
        json_add_text(object, "mode", read_mode_names[group->mode]);
        json_add_text(object, "cache", cache_state_names[group->cache]);
        json_add_size(object, "rounds", group->count);
        add_known(object, "bytes", (double)group->bytes);
        json_add_number(object, "bytes_per_second", group->rate.median);
        json_add_number(object, "min", group->rate.min);
        json_add_number(object, "max", group->rate.max);
        json_add_number(object, "noise", group->rate.noise);
        add_known(object, "ratio", group->ratio);
        add_known(object, "load_seconds", group->load_seconds);
        json_add_size(object, "hidden_cache", group->suspected);
    }
    return result;
}

static int label_width(const struct bench_table *table)
{
    char clean[4 * LABEL_COLUMN_MAX];
    size_t width = strlen("LABEL");
    for (size_t i = 0; i < table->count; i++) {
        size_t length = strlen(printable(table->groups[i].label, clean, sizeof clean));
        width = length > width ? length : width;
    }
    return width < LABEL_COLUMN_MAX ? (int)width : LABEL_COLUMN_MAX;
}

static void print_group(const struct bench_group *group, int width)
{
    char label[4 * LABEL_COLUMN_MAX], load[UNITS_TEXT_MAX] = "-", ratio[32] = "-";
    char median[UNITS_TEXT_MAX], min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];
    if (group->load_seconds > 0)
        units_format_duration(load, (uint64_t)llround(fmin(group->load_seconds * 1000, 1e15)));
    if (group->ratio > 0)
        (void)snprintf(ratio, sizeof ratio, "%.2f", group->ratio);
    (void)printf("%-*s  %-4s  %-5s %6zu %11s %11s %11s %5.0f%% %6s %9s\n", width,
                 printable(group->label, label, sizeof label), read_mode_names[group->mode],
                 cache_state_names[group->cache], group->count,
                 units_format_rate(median, (uint64_t)group->rate.median),
                 units_format_rate(min, (uint64_t)group->rate.min),
                 units_format_rate(max, (uint64_t)group->rate.max), 100 * group->rate.noise, ratio, load);
}

static void print_suspicion(const struct bench_group *group)
{
    char label[512];
    if (group->suspected > 0)
        (void)printf("hidden cache suspected in %zu of %zu rounds: %s, %s, %s\n", group->suspected,
                     group->count, printable(group->label, label, sizeof label), read_mode_names[group->mode],
                     cache_state_names[group->cache]);
}

static void print_legend(unsigned load_cost_s)
{
    char cost[UNITS_TEXT_MAX];
    if (load_cost_s > 0)
        (void)printf("LOAD is size by median, plus %s (--load-cost)\n",
                     units_format_duration(cost, (uint64_t)load_cost_s * 1000));
    else
        (void)printf("LOAD is size by median; --load-cost SECONDS adds what loading takes beside reading\n");
}

void bench_table_print(const struct bench_table *table, unsigned load_cost_s)
{
    int width = label_width(table);
    (void)printf("%-*s  %-4s  %-5s %6s %11s %11s %11s %6s %6s %9s\n", width, "LABEL", "MODE", "CACHE",
                 "ROUNDS", "MEDIAN", "MIN", "MAX", "NOISE", "RATIO", "LOAD");
    for (size_t i = 0; i < table->count; i++)
        print_group(&table->groups[i], width);
    for (size_t i = 0; i < table->count; i++)
        print_suspicion(&table->groups[i]);
    print_legend(load_cost_s);
}
