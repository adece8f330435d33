/* The median, for one round that a neighbour has disturbed says nothing about the others. */
#include "client/spread.h"

#include <assert.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct spread spread_of(double *values, size_t count)
{
    assert(count > 0);
    qsort(values, count, sizeof *values, by_size);
    size_t middle = count / 2;
    struct spread spread = {
        .median = count % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2,
        .min = values[0],
        .max = values[count - 1],
    };
    spread.noise = spread.median > 0 ? (spread.max - spread.min) / spread.median : 0;
    return spread;
}
