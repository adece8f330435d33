/* The folder of files on their way in, as a whole: what a former transfer left there, what has to go, what is
 * linked in. Blocking; one thread at a time for a folder. */
#ifndef COMMON_STAGING_TREE_H
#define COMMON_STAGING_TREE_H

#include "common/journal.h"
#include "proto/error.h"
#include "proto/listing.h"

#include <stdbool.h>
#include <stddef.h>

/* Called with the number of bytes just hashed; false stops the inspection with ERROR_INTERRUPTED. */
typedef bool inspect_progress(void *context, uint64_t bytes);

/* Reads the journal of the staging folder and holds it against the files: complete ones need the recorded
 * size and mtime, and each recorded block of a partial one is hashed again. What does not hold is left out of
 * `state`; so is a file of which nothing is left. The state is sorted. `progress` may be NULL. */
int staging_tree_inspect(int folder, struct journal_state *state, inspect_progress *progress, void *context,
                         struct error *err);

/* Bytes of disk that the files of `plan` still need: partial ones of `state` have reserved theirs already. */
uint64_t staging_tree_space(int tree, const struct listing *plan, const struct journal_state *state);

/* Removes from `tree` all but the `count` paths of `kept` (sorted here), and folders that become empty. */
int staging_tree_sweep(int tree, const char **kept, size_t count, struct error *err);

/* Makes `entry`'s path in `tree` the file of that path in `live`: a hard link, or a copy where links are not
 * to be had. */
int staging_tree_link(int tree, int live, const struct file_entry *entry, struct error *err);

/* Whether each file of the plan is there under exactly its name. Where the file system takes two names for
 * one (it folds case, or composes letters) the second file has taken the place of the first: ERROR_FILE. */
int staging_tree_check_names(int tree, const struct listing *plan, struct error *err);

#endif
