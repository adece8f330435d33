/* Pulling one file of a model: where it goes, and what may have been meant where there is none of that name.
 */
#ifndef CLIENT_SINGLE_FILE_H
#define CLIENT_SINGLE_FILE_H

#include "proto/error.h"
#include "proto/listing.h"

struct single_file {
    char *folder, *name; /* it becomes folder/name */
    char *staging; /* a model id to stage under, not the model's own: an unfinished pull of that stays */
};

/* `dst` is a folder that is there (or ends in '/'), in which the file keeps its name, or the file's new name.
 * ERROR_USAGE where that is none. On failure nothing is left to release. */
int single_file_place(struct single_file *one, const char *model, const char *file, const char *dst,
                      struct error *err);
void single_file_release(struct single_file *one);

/* The path of the listing that is most like `file`: the same name in another folder, or a slip. NULL if there
 * is none. Borrowed from the listing. */
const char *single_file_nearest(const struct listing *listing, const char *file);

#endif
