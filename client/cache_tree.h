/* A version's folder in the local tier, looked at and taken over. Links and special files in it are what
 * somebody put there: they are never followed and count as a difference. Blocking. */
#ifndef CLIENT_CACHE_TREE_H
#define CLIENT_CACHE_TREE_H

#include "proto/error.h"
#include "proto/listing.h"

#include <stdbool.h>

struct cache_tree {
    uint64_t files, bytes; /* of regular files, without what a pull keeps below .mstore */
    uint64_t own;          /* thereof with no other name: what goes when the folder goes */
    uint64_t odd;          /* entries that are neither file nor folder */
};

/* -1 if it cannot be read. `listing`, if not NULL, gets the files and is the caller's to release. */
int cache_tree_look(int folder, struct cache_tree *tree, struct listing *listing, struct error *err);

/* The fingerprint of a folder that holds just files; 0 if it cannot be read or holds something odd. */
uint64_t cache_tree_fingerprint(int folder);

/* Gives every file of `from` a second name in `to`, where none is. What cannot be linked is left out, and so
 * is what desktops and NAS systems put among files (common/junk.h): no pull would take it away again. */
void cache_tree_link(int from, int to);

#endif
