/* What the arguments of a command say beyond their number; options_parse() calls this. ERROR_USAGE. */
#ifndef CLIENT_ARGUMENTS_H
#define CLIENT_ARGUMENTS_H

#include "client/options.h"

/* Before they are counted: adds the model id that a source of the Hub brings, and takes the path of one file
 * from the model that it stands behind. */
int arguments_complete(struct options *options, struct error *err);

/* That arguments and options go together. */
int arguments_check(const struct options *options, struct error *err);

/* push and pull have the same two arguments in opposite order: notices when they are swapped. */
int arguments_check_order(const struct options *options, struct error *err);

#endif
