/* Paths below a folder that may not be left: openat2() with RESOLVE_BENEATH and no links, or the same
 * by hand, part by part with O_NOFOLLOW, where the kernel is older than 5.6.
 *
 * `path` must have passed name_is_path(). `root` is a descriptor of the folder, borrowed. Results are
 * -1 with errno set. Thread-safe. */
#ifndef COMMON_PATH_H
#define COMMON_PATH_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The last part of a path, and the length of what stands before it (with the slash). Pure. */
const char *path_name(const char *path);
size_t path_folder_length(const char *path);

/* Opens `path` below `root` with O_CLOEXEC and O_NOFOLLOW added; a link on the way gives ELOOP. With O_CREAT,
 * `mode` counts. */
int path_open(int root, const char *path, int flags, mode_t mode);

/* Makes the folders that lead to `path` (not `path` itself), mode 0777 less umask. A folder that is there is
 * fine; a link or file in its place gives ENOTDIR or ELOOP. */
int path_make_parents(int root, const char *path);

/* Opens the folder that holds `path` and points *name at its last part. Close the result. */
int path_open_parent(int root, const char *path, const char **name);

/* fstatat without following a last link, below the root. */
int path_stat(int root, const char *path, struct stat *st);

/* Removes `name` in folder `dir` with all below it; links are removed, never followed. What is not there is
 * no error. Stops at the first failure. */
int path_remove_tree(int dir, const char *name);

/* Removes the folders that lead to `path` from the inside out while they are empty. */
void path_prune_parents(int root, const char *path);

/* Opens (and makes if missing) the folder `name` in `dir`. `name` is one part. */
int path_make_dir(int dir, const char *name);

/* Makes the folder `path` and those above it that are missing. The path is one that the user gave: any that
 * the system takes, through links as well. */
int path_make_folders(const char *path, mode_t mode);

#endif
