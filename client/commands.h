/* The commands: each takes the parsed options and returns the exit status. They say what they have to say
 * themselves. */
#ifndef CLIENT_COMMANDS_H
#define CLIENT_COMMANDS_H

#include "client/options.h"
#include "client/report.h"

int command_push(const struct options *options);
int command_pull(const struct options *options);
int command_list(const struct options *options);
int command_info(const struct options *options);
int command_remove(const struct options *options);
int command_verify(const struct options *options);
int command_status(const struct options *options);
int command_bench_read(const struct options *options);
int command_bench_report(const struct options *options);
int command_doctor(const struct options *options);
int command_get(const struct options *options);
int command_run(const struct options *options);
int command_cache_list(const struct options *options);
int command_cache_remove(const struct options *options);
int command_cache_pin(const struct options *options);
int command_cache_unpin(const struct options *options);
int command_cache_prune(const struct options *options);
int command_cache_paths(const struct options *options);

/* A push or pull as a part of something else: nothing is printed. *report becomes the caller's to release,
 * also after a failure; it borrows from the options. */
int push_run(const struct options *options, struct report *report, struct error *err);
int pull_run(const struct options *options, struct report *report, struct error *err);

/* `rm` of one model, in an open session: the model, and what an unfinished push has left of it. */
struct control;
int remove_model(struct control *control, const char *model, struct error *err);

#endif
