/* What the headers of a version's files tell (common/model_summary.h), in the form that clients get it. */
#ifndef SERVER_METADATA_H
#define SERVER_METADATA_H

#include "proto/json.h"
#include "server/version.h"

/* An object; free it with json_free(). Small enough for a frame: where all of it is not, only `complete` is
 * in it. Notes in the version whether it is flawed. Reads files, so in a worker; ends early when *cancelled
 * is set. */
struct json *version_metadata(struct version *version, const atomic_bool *cancelled);

/* Whether files below `folder` show that the model is not whole or cannot be loaded (finding_stops()). Reads
 * them, too, to the end: what half of them tell is not to be kept. */
bool metadata_is_flawed(int folder, const struct listing *files);

#endif
