/* What a push or pull, also one of the local tier, should take, said before it moves anything, and how far
 * off that was.
 *
 *   prediction_make() as soon as it is known how much will move … prediction_learn() when all is done
 *
 * By the median rate of the last runs with that server (client/history.h). One thread. */
#ifndef CLIENT_PREDICTION_H
#define CLIENT_PREDICTION_H

#include "client/options.h"
#include "client/report.h"

#include <stdint.h>

/* Puts the prediction into the report and says it, unless --quiet. Nothing where nothing is known, or for so
 * few bytes that they would not count as a run either. */
void prediction_make(struct report *report, const struct options *options, uint64_t bytes);

/* Remembers the run of a report that succeeded; not one that was held back by --bwlimit, which shows the
 * limit and not the link. */
void prediction_learn(const struct report *report, const struct options *options);

#define PREDICTION_TEXT_MAX 160

/* "predicted 2:10, 4 % too little", by what it took. Pure; returns `out`. */
const char *prediction_text(char out[PREDICTION_TEXT_MAX], double predicted_s, double took_s);

#endif
