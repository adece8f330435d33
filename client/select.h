/* Which files of a folder or a listing count: --include and --exclude. Pure.
 *
 * A pattern is held against the whole path and against the last part; `*` also matches `/`. Without --include
 * every file is in; --exclude beats --include. */
#ifndef CLIENT_SELECT_H
#define CLIENT_SELECT_H

#include "client/options.h"

#include <stdbool.h>

bool select_is_in(const struct options *options, const char *path);

#endif
