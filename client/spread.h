/* Median and spread of a few measurements. Pure. */
#ifndef CLIENT_SPREAD_H
#define CLIENT_SPREAD_H

#include <stddef.h>

struct spread {
    double median, min, max;
    double noise; /* (max - min) / median: how far chance reaches; 0 where the median is 0 */
};

/* Of at least one value; sorts them. */
struct spread spread_of(double *values, size_t count);

#endif
