/* Walks. */
#include "client/cache_tree.h"

#include "common/fdio.h"
#include "common/fingerprint.h"
#include "common/junk.h"
#include "common/path.h"
#include "common/walk.h"

#include <string.h>
#include <unistd.h>

#define STAGING ".mstore"
/* What NFS makes of a file that is removed while it is open. */
#define NFS_SILLY ".nfs"

struct look {
    struct cache_tree *tree;
    struct listing *listing;
};

static enum walk_step look_at(void *context, const struct walk_entry *entry, struct error *err)
{
    struct look *look = context;
    (void)err;
    if (entry->kind == WALK_FOLDER && strcmp(entry->path, STAGING) == 0)
        return WALK_SKIP;
    if (entry->kind == WALK_FOLDER || strncmp(entry->name, NFS_SILLY, sizeof NFS_SILLY - 1) == 0)
        return WALK_ON;
    if (entry->kind != WALK_FILE) {
        look->tree->odd++;
        return WALK_ON;
    }
    uint64_t size = (uint64_t)entry->st.st_size;
    look->tree->files++;
    look->tree->bytes += size;
    look->tree->own += entry->st.st_nlink == 1 ? size : 0;
    if (look->listing)
        listing_add(look->listing, &(struct file_entry){.path = (char *)entry->path,
                                                        .size = size,
                                                        .mtime = entry->st.st_mtim.tv_sec,
                                                        .nsec = (uint32_t)entry->st.st_mtim.tv_nsec});
    return WALK_ON;
}

int cache_tree_look(int folder, struct cache_tree *tree, struct listing *listing, struct error *err)
{
    struct look look = {tree, listing};
    *tree = (struct cache_tree){0};
    return walk_tree(folder, false, look_at, &look, err);
}

uint64_t cache_tree_fingerprint(int folder)
{
    struct cache_tree tree;
    struct listing listing = {0};
    struct error ignored;
    uint64_t number = 0;
    if (cache_tree_look(folder, &tree, &listing, &ignored) == 0 && tree.odd == 0)
        number = fingerprint_of(&listing);
    listing_release(&listing);
    return number;
}

struct linking {
    int from, to;
};

static enum walk_step link_one(void *context, const struct walk_entry *entry, struct error *err)
{
    const struct linking *linking = context;
    const char *name;
    (void)err;
    if (junk_is(entry->name, entry->path)) /* the staging, too */
        return WALK_SKIP;
    if (entry->kind != WALK_FILE || path_make_parents(linking->to, entry->path) < 0)
        return WALK_ON;
    int from = path_open_parent(linking->from, entry->path, &name);
    int to = path_open_parent(linking->to, entry->path, &name);
    if (from >= 0 && to >= 0)
        (void)linkat(from, name, to, name, 0);
    fdio_drop(&from);
    fdio_drop(&to);
    return WALK_ON;
}

void cache_tree_link(int from, int to)
{
    struct linking linking = {from, to};
    struct error ignored;
    (void)walk_tree(from, false, link_one, &linking, &ignored);
}
