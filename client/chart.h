/* A bar chart of a table of rounds, as SVG text: a bar for each group with its median as the length, a
 * whisker from the slowest to the fastest round, and an axis in MB/s. It has a ground of its own and changes
 * its colours where the viewer prefers dark ones. */
#ifndef CLIENT_CHART_H
#define CLIENT_CHART_H

#include "client/bench_table.h"

#include <stdio.h>

/* The table is finished and has a group at least. Pure, but for `out`. */
void chart_print(FILE *out, const struct bench_table *table);

/* Whether the name ends in .svg or .png. */
bool chart_is_name(const char *file);

/* Writes the chart into a file, in the form that its name says. A PNG is made by rsvg-convert; where that is
 * not installed, the error names its package. */
int chart_write(const struct bench_table *table, const char *file, struct error *err);

#endif
