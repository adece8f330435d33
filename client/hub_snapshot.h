/* A snapshot in the Hub's cache as the source of a push (docs/layouts.md).
 *
 *   hub_snapshot_find() … scan_open() of its path … hub_snapshot_judge() … hub_snapshot_release()
 *
 * A snapshot is a folder of links into the blobs of its repo, whose names are the SHA-256 (large files) or
 * Git's id (the others) of what they hold. Blocking; one thread. */
#ifndef CLIENT_HUB_SNAPSHOT_H
#define CLIENT_HUB_SNAPSHOT_H

#include "client/report.h"
#include "proto/error.h"
#include "proto/listing.h"

struct hub_snapshot {
    char *repo_folder; /* its real path */
    char *path;        /* of the snapshot's folder */
    char origin[LIMIT_ORIGIN + 1];
};

/* Finds what `source`, hf:ORG/MODEL[@REVISION], names: a ref, a commit, or the unique beginning of one, of at
 * least 4 digits. ERROR_USAGE says what is not there and where it was looked for. On failure nothing is left
 * to release. */
int hub_snapshot_find(struct hub_snapshot *snapshot, const char *source, struct error *err);

/* Takes files out of the listing of the snapshot's folder that lie outside of the repo's folder, as failures
 * of the report; the others learn from the name of their blob what it is the hash of. Warns of a download of
 * the repo that is not complete, unless --all. */
void hub_snapshot_judge(const struct hub_snapshot *snapshot, struct listing *listing,
                        const struct options *options, struct report *report);

void hub_snapshot_release(struct hub_snapshot *snapshot);

#endif
