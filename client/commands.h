/* The commands: each takes the parsed options and returns the exit status. They say what they have to say
 * themselves. */
#ifndef CLIENT_COMMANDS_H
#define CLIENT_COMMANDS_H

#include "client/options.h"

int command_push(const struct options *options);
int command_pull(const struct options *options);
int command_list(const struct options *options);
int command_info(const struct options *options);
int command_remove(const struct options *options);
int command_verify(const struct options *options);
int command_bench_read(const struct options *options);
int command_bench_report(const struct options *options);

#endif
