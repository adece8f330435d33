/* The `metadata` object (docs/formats.md) for people. It came from a server, so every member may be of any
 * type or absent, and no text is printed as it is. */
#ifndef CLIENT_METADATA_TEXT_H
#define CLIENT_METADATA_TEXT_H

#include "proto/json.h"

#include <stdbool.h>

/* Lines of "name  value" on standard output, then the findings. */
void metadata_print(const struct json *metadata);

/* The findings alone, on standard error. */
void metadata_print_findings(const struct json *metadata);

/* False if it says that a shard is missing, a file is cut, or the like. */
bool metadata_is_complete(const struct json *metadata);

#endif
