/* Whether a model on this machine is whole, as far as names, sizes and headers tell (common/model_summary.h):
 * before a push moves 400 GB of which a shard is missing, and behind a pull of what was stored so.
 *
 * Findings that stop are warnings of the report. Blocking, but reads headers only. */
#ifndef CLIENT_MODEL_CHECK_H
#define CLIENT_MODEL_CHECK_H

#include "client/options.h"
#include "client/report.h"
#include "proto/listing.h"

/* What is to be pushed, below `folder`. With --add other files may be stored already, so a missing shard is
 * no finding then. ERROR_SOME_FILES unless --allow-incomplete. */
int model_check_push(int folder, const struct listing *files, const struct options *options,
                     struct report *report, struct error *err);

/* What was pulled into `folder`; `all` is what is stored, of which a file that is not there was not asked
 * for. ERROR_SOME_FILES: it was stored incomplete. */
int model_check_pull(int folder, const struct listing *all, const struct options *options,
                     struct report *report, struct error *err);

#endif
