/* What the disks at both ends carry alone. */
#ifndef CLIENT_BENCH_DISK_H
#define CLIENT_BENCH_DISK_H

#include "client/bench_rate.h"
#include "client/options.h"

/* In the current folder, with a file that has no name. Written as a pull writes; read back when it has left
 * the page cache. */
int bench_disk_here(const struct options *options, uint64_t bytes, struct bench_rate *write,
                    struct bench_rate *read, struct error *err);

/* On the server, beside its models, or with `model` what it reads of that model (*write is left alone). */
int bench_disk_there(const struct options *options, const char *model, uint64_t bytes,
                     struct bench_rate *write, struct bench_rate *read, struct error *err);

#endif
