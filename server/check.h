/* Reads the files of a version and holds them against their kept hashes: for `verify`, and for a push that
 * decides by content. Blocking; one thread a check. */
#ifndef SERVER_CHECK_H
#define SERVER_CHECK_H

#include "proto/message.h"
#include "server/version.h"

#include <stdatomic.h>

struct check {
    struct version *version;
    const atomic_bool *cancelled;
    _Atomic uint64_t *bytes; /* grows by what was read, for others to look at */
};

/* Whether every block of the file can be read and has its kept hash; `bad` gets the numbers of those that do
 * not, LIMIT_BATCH_HASHES at most. Hashes of blocks that had none are learned (version_learn()). */
bool check_file(const struct check *check, uint32_t file, struct size_list *bad);

/* Reads all files that have hashes, and takes the hash from the listing's entry of each that does not match
 * it. */
void check_listing(const struct check *check);

#endif
