/* A walk over a folder tree: every entry below it, folders before what they hold, in the order of strcmp.
 *
 * Links to regular files can be followed, links to folders never are, so a walk always ends. FIFOs, sockets
 * and devices are reported but never opened. Blocking; any thread; one walk a call. */
#ifndef COMMON_WALK_H
#define COMMON_WALK_H

#include "proto/error.h"

#include <stdbool.h>
#include <sys/stat.h>

enum walk_kind {
    WALK_FILE, /* regular, or a link to a regular file if followed */
    WALK_FOLDER,
    WALK_LINK,     /* a link that is not followed: to a folder, or any where links are not followed */
    WALK_DANGLING, /* a link to nothing (only where links are followed) */
    WALK_SPECIAL,  /* FIFO, socket, device */
    WALK_FAILED,   /* cannot be looked at; `sys` says why */
};

struct walk_entry {
    const char *path; /* relative to the top */
    const char *name; /* its last part */
    enum walk_kind kind;
    int sys;
    struct stat st; /* of WALK_FILE */
};

enum walk_step { WALK_ON, WALK_SKIP /* do not enter this folder */, WALK_STOP };

/* Called for each entry; WALK_STOP ends the walk with the error that the visitor has set. */
typedef enum walk_step walk_visitor(void *context, const struct walk_entry *entry, struct error *err);

/* `top` is a descriptor of the folder, borrowed. -1 if the top itself cannot be read or the visitor stopped.
 */
int walk_tree(int top, bool follow_links, walk_visitor *visit, void *context, struct error *err);

#endif
