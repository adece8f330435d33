/* Under which conditions a round was measured: what the place and the machine are like, and what the disks
 * did meanwhile.
 *
 *   conditions_open(); for each round conditions_begin() … conditions_end(); conditions_close()
 *
 * What cannot be found out is left out of the object; nothing here fails. One thread. */
#ifndef CLIENT_CONDITIONS_H
#define CLIENT_CONDITIONS_H

#include "client/bench_files.h"
#include "client/place.h"
#include "proto/json.h"

#include <stdbool.h>

struct conditions {
    const struct bench_files *files; /* borrowed */
    struct place place;
    uint64_t before[BLOCK_MOST]; /* bytes each device of the place had delivered when the round began */
    uint64_t during[BLOCK_MOST]; /* and what it delivered in the last round */
    bool is_counted;             /* the two above are known */
    bool is_cache_suspected;     /* in the last round */
};

/* Looks at the place of the first file. */
void conditions_open(struct conditions *conditions, const struct bench_files *files);
void conditions_close(struct conditions *conditions);

void conditions_begin(struct conditions *conditions);

/* `expected`: bytes that were not in the page cache when the round began, so that a device has to deliver
 * them; 0 if that is not known. Sets `during` and `is_cache_suspected`. */
void conditions_end(struct conditions *conditions, uint64_t expected);

/* The object for the JSON line of the round that has just ended: paths (as given), files, mount,
 * read_ahead_kb, device, nfs_connections, nic, disks, load, uptime_seconds, kernel, memory_total,
 * memory_free. */
struct json *conditions_json(const struct conditions *conditions, const struct optparse_list *paths);

#endif
