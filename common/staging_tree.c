/* A journal says what was there; only the files themselves can say what is. */
#include "common/staging_tree.h"

#include "common/block_pass.h"
#include "common/fdio.h"
#include "common/partfile.h"
#include "common/path.h"
#include "common/staging.h"
#include "common/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- inspecting -- */

static bool is_as_recorded(int tree, const struct file_entry *entry)
{
    struct stat st;
    return path_stat(tree, entry->path, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size == entry->size && st.st_mtim.tv_sec == entry->mtime &&
           (uint32_t)st.st_mtim.tv_nsec == entry->nsec;
}

/* After a crash between the rename and its record the file has its final name already: it gets the temporary
 * one back. */
static int open_temporary(int tree, const struct journal_file *file)
{
    int fd = path_open(tree, file->temporary, O_RDONLY, 0);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    const char *from, *to;
    int folder = path_open_parent(tree, file->entry.path, &from);
    int other = path_open_parent(tree, file->temporary, &to);
    if (folder >= 0 && other >= 0 && renameat(folder, from, other, to) == 0)
        fd = path_open(tree, file->temporary, O_RDONLY, 0);
    fdio_drop(&folder);
    fdio_drop(&other);
    return fd;
}

struct inspection {
    inspect_progress *progress;
    void *context;
    struct journal_file *file; /* the one that is read */
};

/* Drops a block that does not hold. */
static bool check_block(void *context, uint64_t block, const uint8_t *hash)
{
    struct inspection *in = context;
    if (!hash || memcmp(hash, in->file->hashes + block * HASH_SIZE, HASH_SIZE) != 0)
        in->file->present[block] = 0;
    return !in->progress || in->progress(in->context, block_length(in->file->entry.size, block));
}

static int inspect_partial(struct inspection *in, int tree, struct journal_file *file, struct error *err)
{
    int fd = file->temporary ? open_temporary(tree, file) : -1;
    if (fd < 0) {
        file->blocks = 0;
        return 0;
    }
    in->file = file;
    bool over = block_pass(fd, file->entry.size, file->blocks, file->present, check_block, in);
    fdio_drop(&fd);
    return over ? 0 : error_set(err, ERROR_INTERRUPTED, "interrupted");
}

static bool has_anything(const struct journal_file *file)
{
    return file->blocks > 0 && memchr(file->present, 1, file->blocks);
}

static void drop_empty(struct journal_state *state)
{
    size_t kept = 0;
    for (size_t i = 0; i < state->count; i++) {
        struct journal_file file = state->files[i];
        if (has_anything(&file)) {
            state->files[i] = state->files[kept];
            state->files[kept++] = file;
        }
    }
    for (size_t i = kept; i < state->count; i++)
        journal_file_release(&state->files[i]);
    state->count = kept;
}

int staging_tree_inspect(int folder, struct journal_state *state, inspect_progress *progress, void *context,
                         struct error *err)
{
    struct inspection in = {progress, context, NULL};
    int tree = fdio_openat(folder, STAGING_TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    int result = 0;
    journal_load(state, folder);
    for (size_t i = 0; result == 0 && i < state->count; i++) {
        struct journal_file *file = &state->files[i];
        if (!file->complete)
            result = inspect_partial(&in, tree, file, err);
        else if (!is_as_recorded(tree, &file->entry))
            file->blocks = 0;
    }
    drop_empty(state);
    journal_state_sort(state);
    fdio_drop(&tree);
    if (result < 0)
        journal_state_release(state);
    return result;
}

static uint64_t space_for(int tree, const struct file_entry *entry, const struct journal_state *state)
{
    const struct journal_file *staged =
        entry->from == FROM_STAGED ? journal_state_find(state, entry->path) : NULL;
    struct stat st;
    if (entry->from == FROM_LIVE || (staged && staged->complete))
        return 0;
    if (!staged || !staged->temporary || path_stat(tree, staged->temporary, &st) < 0)
        return entry->size;
    uint64_t reserved = (uint64_t)st.st_blocks * 512;
    return reserved < entry->size ? entry->size - reserved : 0;
}

uint64_t staging_tree_space(int tree, const struct listing *plan, const struct journal_state *state)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < plan->count; i++)
        bytes += space_for(tree, &plan->files[i], state);
    return bytes;
}

/* -- sweeping -- */

struct sweep {
    int tree;
    const char **kept;
    size_t count;
    char **folders;
    size_t folder_count;
};

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum walk_step sweep_entry(void *context, const struct walk_entry *entry, struct error *err)
{
    struct sweep *sweep = context;
    const char *name;
    if (entry->kind == WALK_FOLDER) {
        sweep->folders = realloc(sweep->folders, (sweep->folder_count + 1) * sizeof *sweep->folders);
        if (!sweep->folders || !(sweep->folders[sweep->folder_count++] = strdup(entry->path)))
            abort();
        return WALK_ON;
    }
    if (bsearch(&entry->path, sweep->kept, sweep->count, sizeof *sweep->kept, compare_paths))
        return WALK_ON;
    int folder = path_open_parent(sweep->tree, entry->path, &name);
    if (folder < 0 || (unlinkat(folder, name, 0) < 0 && errno != ENOENT)) {
        error_set_sys(err, ERROR_FAILED, errno, "cannot remove '%s' from the staging folder", entry->path);
        fdio_drop(&folder);
        return WALK_STOP;
    }
    fdio_drop(&folder);
    return WALK_ON;
}

int staging_tree_sweep(int tree, const char **kept, size_t count, struct error *err)
{
    struct sweep sweep = {.tree = tree, .kept = kept, .count = count};
    if (count > 0)
        qsort(kept, count, sizeof *kept, compare_paths);
    int result = walk_tree(tree, false, sweep_entry, &sweep, err);
    /* Folders come before what they hold, so backwards is from the inside out. Those in use are not empty. */
    for (size_t i = sweep.folder_count; i-- > 0;) {
        const char *name;
        int folder = path_open_parent(tree, sweep.folders[i], &name);
        if (folder >= 0)
            (void)unlinkat(folder, name, AT_REMOVEDIR);
        fdio_drop(&folder);
        free(sweep.folders[i]);
    }
    free(sweep.folders);
    return result;
}

/* -- linking -- */

static int copy_bytes(int from, struct partfile *part, const struct file_entry *entry, struct error *err)
{
    static const size_t piece = (size_t)1 << 20;
    uint8_t *buffer = malloc(piece);
    int result = 0;
    if (!buffer)
        abort();
    for (uint64_t at = 0; result == 0 && at < entry->size;) {
        size_t length = entry->size - at < piece ? (size_t)(entry->size - at) : piece;
        if (fdio_pread(from, buffer, length, at) != (ssize_t)length)
            result = error_set(err, ERROR_FILE, "cannot read the stored '%s'", entry->path);
        else
            result = partfile_write(part, entry, buffer, length, at, err);
        at += length;
    }
    free(buffer);
    return result;
}

static int copy_file(int tree, int from, const struct file_entry *entry, struct error *err)
{
    struct partfile part;
    if (partfile_create(&part, tree, entry, false, err) < 0)
        return -1;
    if (copy_bytes(from, &part, entry, err) < 0) {
        partfile_discard(&part);
        return -1;
    }
    return partfile_publish(&part, entry, false, err);
}

static int link_file(int tree, int live, const struct file_entry *entry)
{
    const char *from_name, *to_name;
    int from = path_open_parent(live, entry->path, &from_name);
    int to = from < 0 ? -1 : path_open_parent(tree, entry->path, &to_name);
    if (to < 0 && from >= 0 && errno == ENOENT && path_make_parents(tree, entry->path) == 0)
        to = path_open_parent(tree, entry->path, &to_name);
    int result = to < 0 ? -1 : linkat(from, from_name, to, to_name, 0);
    int saved = errno;
    fdio_drop(&from);
    fdio_drop(&to);
    errno = saved;
    return result;
}

int staging_tree_link(int tree, int live, const struct file_entry *entry, struct error *err)
{
    if (link_file(tree, live, entry) == 0)
        return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK && errno != EXDEV)
        return error_set_sys(err, ERROR_FILE, errno, "cannot take over the stored '%s'", entry->path);
    int from = path_open(live, entry->path, O_RDONLY, 0);
    if (from < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot open the stored '%s'", entry->path);
    int result = copy_file(tree, from, entry, err);
    fdio_drop(&from);
    return result;
}

/* -- names -- */

struct naming {
    const struct listing *plan;
    const uint32_t *index;
    uint8_t *seen;
};

static enum walk_step see_name(void *context, const struct walk_entry *entry, struct error *err)
{
    struct naming *naming = context;
    (void)err;
    int64_t found = listing_find(naming->plan, naming->index, entry->path);
    if (found >= 0)
        naming->seen[found] = 1;
    return WALK_ON;
}

int staging_tree_check_names(int tree, const struct listing *plan, struct error *err)
{
    const char *clash;
    uint32_t *index = listing_index(plan, &clash);
    struct naming naming = {plan, index, calloc(plan->count + 1, 1)};
    if (!naming.seen)
        abort();
    int result = index ? walk_tree(tree, false, see_name, &naming, err)
                       : error_set(err, ERROR_PROTOCOL, "the plan names '%s' twice", clash);
    const uint8_t *unseen = memchr(naming.seen, 0, plan->count);
    if (result == 0 && unseen)
        result = error_set(err, ERROR_FILE,
                           "'%s' and another file of the model have names that the file system takes for one",
                           plan->files[unseen - naming.seen].path);
    free(naming.seen);
    free(index);
    return result;
}
