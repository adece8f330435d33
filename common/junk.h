/* What is left out by default when a folder is pushed or a foreign model is listed (design: book-keeping of
 * downloaders, desktop systems and NAS systems), and what tells of an unfinished download.
 *
 * The list is part of the contract: `--all` turns it off, except for names that end in or hold `.mstore`.
 * Pure. */
#ifndef COMMON_JUNK_H
#define COMMON_JUNK_H

#include <stdbool.h>

/* Whether a file or folder called `name`, whose path below the model is `path`, is junk. */
bool junk_is(const char *name, const char *path);

/* Whether the name is that of a download under way: *.incomplete, *.aria2, *.crdownload,
 * *.downloadInProgress. */
bool junk_is_unfinished(const char *name);

#endif
