/* Which models there are. A published model is known by the first line of its manifest; one that came by
 * other means is counted by a walk; one that is still on its way in, by plan and journal. */
#include "common/fdio.h"
#include "common/journal.h"
#include "common/junk.h"
#include "common/path.h"
#include "common/walk.h"
#include "proto/json.h"
#include "proto/name.h"
#include "server/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ids {
    char **list;
    size_t count;
    int failed; /* errno of a namespace that cannot be read; one that just went is none */
};

static void add_id(struct ids *ids, const char *namespace, const char *model)
{
    if ((ids->count & (ids->count - 1)) == 0) {
        ids->list = realloc(ids->list, (ids->count ? 2 * ids->count : 1) * sizeof *ids->list);
        if (!ids->list)
            abort();
    }
    if (asprintf(&ids->list[ids->count++], "%s/%s", namespace, model) < 0)
        abort();
}

/* Not every file system tells the type with the name. */
static bool is_folder(int dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Calls back for each folder in `dir` that can be a part of a model id. */
static int each_folder(int dir, void (*call)(void *context, int dir, const char *name), void *context)
{
    int copy = fdio_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!stream) {
        fdio_drop(&copy);
        return -1;
    }
    while ((errno = 0, entry = readdir(stream)) != NULL)
        if (name_is_id_part(entry->d_name, strlen(entry->d_name)) && is_folder(dir, entry))
            call(context, dir, entry->d_name);
    int saved = errno;
    (void)closedir(stream);
    errno = saved;
    return saved == 0 ? 0 : -1;
}

struct collecting {
    struct ids *ids;
    const char *namespace;
};

static void collect_model(void *context, int dir, const char *name)
{
    (void)dir;
    struct collecting *collecting = context;
    add_id(collecting->ids, collecting->namespace, name);
}

static void collect_namespace(void *context, int dir, const char *name)
{
    struct ids *ids = context;
    struct collecting inner = {ids, name};
    int fd = fdio_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if ((fd < 0 || each_folder(fd, collect_model, &inner) < 0) && errno != ENOENT && errno != ENOTDIR &&
        errno != ELOOP)
        ids->failed = errno;
    fdio_drop(&fd);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* -- one model -- */

static bool is_newer(const struct stat *st, const struct message_model *model)
{
    return st->st_mtim.tv_sec > model->mtime ||
           (st->st_mtim.tv_sec == model->mtime && (uint32_t)st->st_mtim.tv_nsec > model->nsec);
}

static void note_time(struct message_model *model, const struct stat *st)
{
    if (is_newer(st, model)) {
        model->mtime = st->st_mtim.tv_sec;
        model->nsec = (uint32_t)st->st_mtim.tv_nsec;
    }
}

static enum walk_step count_entry(void *context, const struct walk_entry *entry, struct error *err)
{
    (void)err;
    struct message_model *model = context;
    if (junk_is(entry->name, entry->path))
        return WALK_SKIP;
    if (entry->kind == WALK_FILE) {
        model->files++;
        model->bytes += (uint64_t)entry->st.st_size;
        note_time(model, &entry->st);
    } else if (entry->kind != WALK_FOLDER) {
        model->warnings++;
    }
    return WALK_ON;
}

static bool take_manifest(const struct store *store, const char *id, uint64_t inode,
                          struct message_model *model)
{
    struct manifest_summary summary;
    uint64_t generation;
    int meta = store_open_meta(store, id, false);
    bool found = meta >= 0 && manifest_choose(meta, inode, &generation, &summary) > 0;
    fdio_drop(&meta);
    if (found) {
        model->files = summary.files;
        model->bytes = summary.bytes;
        model->mtime = summary.mtime;
        model->nsec = summary.nsec;
        model->flawed = summary.flawed;
    }
    return found;
}

static void count_files(const struct store *store, const char *id, const struct stat *folder,
                        struct message_model *model)
{
    struct error ignored;
    int live = store_open_live(store, id);
    *model = (struct message_model){.name = (char *)id};
    note_time(model, folder);
    if (live >= 0)
        (void)walk_tree(live, false, count_entry, model, &ignored);
    fdio_drop(&live);
}

static bool describe_live(const struct store *store, const char *id, struct message_model *model)
{
    struct stat st;
    if (path_stat(store->root, id, &st) < 0 || !S_ISDIR(st.st_mode))
        return false;
    /* A folder newer than the manifest: something was put into it or taken out by other means. (Below its top
     * that goes unseen here; a pull and info look at every file.) */
    if (!take_manifest(store, id, st.st_ino, model) || is_newer(&st, model))
        count_files(store, id, &st, model);
    model->state = (char *)"complete";
    model->present = model->bytes;
    return true;
}

/* Bytes of the blocks that the journal vouches for. */
static uint64_t staged_bytes(int folder)
{
    struct journal_state state;
    uint64_t bytes = 0;
    journal_load(&state, folder);
    for (size_t i = 0; i < state.count; i++)
        for (uint64_t b = 0; b < state.files[i].blocks; b++)
            if (state.files[i].present[b])
                bytes += block_length(state.files[i].entry.size, b);
    journal_state_release(&state);
    return bytes;
}

static bool read_plan(int folder, struct message_model *model)
{
    char text[256];
    int fd = fdio_openat(folder, "plan.json", O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    ssize_t n = fd < 0 ? -1 : fdio_read(fd, text, sizeof text);
    fdio_drop(&fd);
    struct json *plan = n > 0 ? json_parse(text, (size_t)n, 1) : NULL;
    bool good = json_is_object(plan) && json_as_size(json_get(plan, "files"), &model->files) &&
                json_as_size(json_get(plan, "bytes"), &model->bytes) &&
                json_as_whole(json_get(plan, "mtime"), &model->mtime);
    json_free(plan);
    return good;
}

static bool describe_staged(const struct store *store, const char *id, struct message_model *model)
{
    int folder = path_open(store->staging, id, O_RDONLY | O_DIRECTORY, 0);
    bool found = folder >= 0 && read_plan(folder, model);
    if (found) {
        model->present = staged_bytes(folder);
        if (model->present > model->bytes)
            model->present = model->bytes;
        model->state = (char *)"incomplete";
    }
    fdio_drop(&folder);
    return found;
}

static bool describe(const struct store *store, const char *id, store_visitor *add, void *context)
{
    struct message_model model = {.name = (char *)id};
    if (!describe_live(store, id, &model)) {
        model = (struct message_model){.name = (char *)id};
        if (!describe_staged(store, id, &model))
            return false;
    }
    add(context, &model);
    return true;
}

int store_describe(const struct store *store, const char *id, store_visitor *add, void *context,
                   struct error *err)
{
    if (!describe(store, id, add, context))
        return error_set(err, ERROR_NO_MODEL, "there is no model '%s'", id);
    return 0;
}

int store_list(const struct store *store, store_visitor *add, void *context, struct error *err)
{
    struct ids ids = {0};
    int result = each_folder(store->root, collect_namespace, &ids);
    if (result == 0)
        result = each_folder(store->staging, collect_namespace, &ids);
    if (result < 0 || ids.failed != 0) {
        error_set_sys(err, ERROR_FAILED, result < 0 ? errno : ids.failed, "cannot read the root");
        result = -1;
    }
    if (ids.count > 0)
        qsort(ids.list, ids.count, sizeof *ids.list, compare_ids);
    for (size_t i = 0; i < ids.count; i++) {
        if (result == 0 && (i == 0 || strcmp(ids.list[i], ids.list[i - 1]) != 0))
            (void)describe(store, ids.list[i], add, context);
        if (i > 0)
            free(ids.list[i - 1]);
    }
    if (ids.count > 0)
        free(ids.list[ids.count - 1]);
    free(ids.list);
    return result;
}
