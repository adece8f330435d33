/* The files of a local folder, or one file, that a push would move.
 *
 * Links to regular files are followed, links to folders are not, special files are never opened, junk is left
 * out and counted (unless --all). What cannot be read becomes a failure of the report, by name. Blocking. */
#ifndef CLIENT_SCAN_H
#define CLIENT_SCAN_H

#include "client/report.h"
#include "proto/listing.h"

struct scan {
    int folder; /* paths of the listing are below it */
    struct listing listing;
};

/* ERROR_USAGE where `source` is no file or folder, or is a Hugging Face cache folder whose snapshot should be
 * named instead; ERROR_SOME_FILES where it looks like an unfinished download. */
int scan_open(struct scan *scan, const char *source, const struct options *options, struct report *report,
              struct error *err);
void scan_release(struct scan *scan);

#endif
