/* The folder that a pull fills: its lock, its staging in DST/.mstore, and the step that shows the files under
 * their names.
 *
 *   destination_open() … staging in destination_staging_folder() … destination_show() … destination_close()
 *
 * DST and its parents are made if they are missing. One pull at a time works in a DST, by a lock on
 * DST/.mstore/lock that goes with the process. Blocking; one thread. */
#ifndef CLIENT_DESTINATION_H
#define CLIENT_DESTINATION_H

#include "client/report.h"
#include "proto/error.h"
#include "proto/listing.h"

#include <stdbool.h>

struct destination {
    const char *path;
    int folder, own, lock; /* DST, DST/.mstore and the lock file */
    char *staging_name;    /* of this model, in `own` */
};

/* mkdir -p of an operator's path: links on the way are his. */
int destination_make_folders(const char *path, struct error *err);

/* ERROR_BUSY where another pull works in DST. */
int destination_open(struct destination *destination, const char *path, const char *model, struct error *err);

/* A descriptor of DST for looking at it, -1 if it is not there. */
int destination_peek(const char *path);

/* A new descriptor of the model's staging folder, for staging_create(). */
int destination_staging_folder(const struct destination *destination, struct error *err);

/* Looks before anything moves: enough space for `bytes`, and no folder of DST in the place of a file. */
/* ERROR_NO_SPACE if the whole file system is smaller than `bytes`: looked at before memory is taken for so
 * much. */
int destination_could_hold(const struct destination *destination, uint64_t bytes, struct error *err);

int destination_check(const struct destination *destination, const struct listing *plan, uint64_t bytes,
                      struct error *err);

/* Moves the plan's files from `tree` to their names and makes that durable. A live file is replaced by a
 * rename, never written into. Once it has begun it goes on to the end, so a failure leaves the rest for the
 * next run. */
int destination_show(const struct destination *destination, int tree, const struct listing *plan,
                     struct error *err);

/* Names in the report what lies in DST and is not in `listing` (all files of the model). */
void destination_name_others(const struct destination *destination, const struct listing *listing,
                             struct report *report);

/* With `finished`, the staging and, if nothing else is in it, DST/.mstore go. */
void destination_close(struct destination *destination, bool finished);

#endif
