/* Every step is a rename of something finished, in the order in which a reader follows: blob, snapshot, ref.
 */
#include "client/hub_place.h"

#include "client/interrupt.h"
#include "client/plan.h"
#include "client/select.h"
#include "client/sha256_pass.h"
#include "common/fdio.h"
#include "common/path.h"
#include "common/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the staging folder of the pull, until they are renamed: */
#define NEW_SNAPSHOT "snapshot"
#define NEW_LINK     "link"
#define NEW_REF      "ref"

/* "../" for each folder of the longest path, the way out of the snapshot, and the blob. */
#define TARGET_MAX (3 * LIMIT_PARTS + 16 + HUB_BLOB_MAX)

int hub_place_choose(struct hub_place *place, const char *cache, const char *model, const char *origin,
                     struct error *err)
{
    struct hub_name name;
    char *folder = hub_cache_folder(cache, err);
    memset(place, 0, sizeof *place);
    if (!folder)
        return -1;
    if (origin && hub_parse_origin(&name, origin)) {
        memcpy(place->commit, name.revision, sizeof place->commit);
        place->folder = hub_repo_folder(folder, name.repo);
    } else {
        place->folder = hub_repo_folder(folder, model);
    }
    free(folder);
    return 0;
}

void hub_place_release(struct hub_place *place)
{
    free(place->folder);
    place->folder = NULL;
}

char *hub_place_snapshot(const struct hub_place *place)
{
    char *path;
    if (asprintf(&path, "%s/snapshots/%s", place->folder, place->commit) < 0)
        abort();
    return path;
}

bool hub_blob_name(const struct file_entry *entry, char out[HUB_BLOB_MAX])
{
    if (entry->has_sha256)
        (void)hex_print(out, entry->sha256, SHA256_SIZE);
    else if (entry->has_git_blob)
        (void)hex_print(out, entry->git_blob, GIT_BLOB_SIZE);
    else if (entry->has_hash)
        (void)hex_print(out, entry->hash, HASH_SIZE);
    return entry->has_sha256 || entry->has_git_blob || entry->has_hash;
}

bool hub_blob_path(const struct file_entry *entry, char out[HUB_BLOB_PATH_MAX])
{
    static const char folder[] = "blobs/";
    memcpy(out, folder, sizeof folder);
    return hub_blob_name(entry, out + sizeof folder - 1);
}

bool hub_place_has(int folder, const struct file_entry *entry, bool checksum, _Atomic uint64_t *bytes_read)
{
    char path[HUB_BLOB_PATH_MAX];
    uint8_t hash[HASH_SIZE];
    struct stat st;
    struct error ignored;
    if (folder < 0 || !hub_blob_path(entry, path) || path_stat(folder, path, &st) < 0 ||
        !S_ISREG(st.st_mode) || (uint64_t)st.st_size != entry->size)
        return false;
    return !checksum ||
           (entry->has_hash && plan_hash_file(folder, path, entry->size, hash, bytes_read, &ignored) == 0 &&
            memcmp(hash, entry->hash, HASH_SIZE) == 0);
}

void hub_make_commit(const struct listing *model, char commit[HUB_COMMIT_DIGITS + 1])
{
    const char *clash;
    struct sha256 sum;
    uint8_t out[SHA256_SIZE];
    uint32_t *order = listing_index(model, &clash); /* NULL only for a listing that was refused before */
    sha256_begin(&sum);
    for (size_t i = 0; order && i < model->count; i++) {
        const struct file_entry *file = &model->files[order[i]];
        char state[64];
        int length = snprintf(state, sizeof state, "%" PRIu64 " ", file->size);
        if (file->has_hash)
            (void)hex_print(state + length, file->hash, HASH_SIZE);
        else
            (void)snprintf(state + length, sizeof state - (size_t)length, "%" PRId64 ".%09" PRIu32,
                           file->mtime, file->nsec);
        sha256_update(&sum, file->path, strlen(file->path) + 1);
        sha256_update(&sum, state, strlen(state) + 1);
    }
    sha256_finish(&sum, out);
    free(order);
    (void)hex_print(commit, out, HUB_COMMIT_DIGITS / 2);
}

/* -- showing -- */

struct showing {
    const struct destination *destination;
    int staging; /* the pull's own folder */
    const struct listing *model;
    const struct options *options;
};

static int show_error(const struct showing *s, const char *what, struct error *err)
{
    return error_set_sys(err, ERROR_FILE, errno, "cannot make %s in '%s'", what, s->destination->path);
}

struct named {
    const struct file_entry *file;
    char blob[HUB_BLOB_MAX];
};

static int compare_blobs(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->blob, ((const struct named *)b)->blob);
}

static bool is_same_content(const struct file_entry *a, const struct file_entry *b)
{
    return a->size == b->size && (!a->has_hash || !b->has_hash || memcmp(a->hash, b->hash, HASH_SIZE) == 0);
}

/* Names of blobs are what somebody said of the files: two files of one name must be one content, or one of
 * them would be shown with the bytes of the other. */
static int check_names(const struct showing *s, struct error *err)
{
    struct named *named = calloc(s->model->count + 1, sizeof *named);
    size_t count = 0;
    int result = 0;
    if (!named)
        abort();
    for (size_t i = 0; i < s->model->count; i++) {
        named[count].file = &s->model->files[i];
        count += select_is_in(s->options, named[count].file->path) &&
                 hub_blob_name(named[count].file, named[count].blob);
    }
    qsort(named, count, sizeof *named, compare_blobs);
    for (size_t i = 1; i < count && result == 0; i++)
        if (compare_blobs(&named[i - 1], &named[i]) == 0 &&
            !is_same_content(named[i - 1].file, named[i].file))
            result =
                error_set(err, ERROR_CORRUPT,
                          "'%s' and '%s' are said to be the same blob, and are not: push them again with "
                          "--sha256 from another place than the cache",
                          named[i - 1].file->path, named[i].file->path);
    free(named);
    return result;
}

/* Whether the file is what its record says. Only the block hashes are proven of what came: a SHA-256 is the
 * server's word. */
static int prove_sha256(int folder, const char *name, const struct file_entry *file, struct error *err)
{
    uint8_t sum[SHA256_SIZE];
    _Atomic uint64_t unseen = 0;
    if (!sha256_file(folder, name, file->size, sum, &unseen))
        return interrupt_check(err) < 0
                   ? -1
                   : error_set(err, ERROR_FILE, "cannot read '%s' as it was staged", file->path);
    if (memcmp(sum, file->sha256, SHA256_SIZE) == 0)
        return 0;
    return error_set(err, ERROR_CORRUPT,
                     "'%s' does not have the SHA-256 that the server tells: the blob of that name is kept",
                     file->path);
}

static bool exists(int folder, const char *name)
{
    struct stat unused;
    return fstatat(folder, name, &unused, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* A blob that is there may belong to other snapshots: it makes way for the bytes of its name only. */
static int move_blob(const struct showing *s, int from, const char *name, int blobs,
                     const struct file_entry *file, struct error *err)
{
    char blob[HUB_BLOB_MAX];
    if (!hub_blob_name(file, blob))
        return error_set(err, ERROR_FILE, "nothing names the blob of '%s'", file->path);
    if (file->has_sha256 && exists(blobs, blob) && prove_sha256(from, name, file, err) < 0)
        return -1;
    return renameat(from, name, blobs, blob) < 0 ? show_error(s, "a blob", err) : 0;
}

static int move_blobs(const struct showing *s, int tree, const struct listing *plan, const uint32_t *numbers,
                      struct error *err)
{
    int result = 0, blobs = path_make_dir(s->destination->folder, "blobs");
    if (blobs < 0)
        return show_error(s, "the folder 'blobs'", err);
    for (size_t i = 0; result == 0 && i < plan->count; i++) {
        const char *name;
        int from = path_open_parent(tree, plan->files[i].path, &name);
        result = from < 0 ? show_error(s, "a blob", err)
                          : move_blob(s, from, name, blobs, &s->model->files[numbers[i]], err);
        fdio_drop(&from);
    }
    fdio_drop(&blobs);
    return result;
}

/* From a snapshot's folder, snapshots/<commit>, or one below it. */
static void blob_target(const char *path, const char *blob, char target[TARGET_MAX])
{
    char *end = mempcpy(target, "../../", 6);
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        end = mempcpy(end, "../", 3); /* at most LIMIT_PARTS: the path was checked */
    (void)snprintf(end, TARGET_MAX - (size_t)(end - target), "blobs/%s", blob);
}

static bool is_link_to(int folder, const char *name, const char *target)
{
    char now[TARGET_MAX];
    ssize_t length = readlinkat(folder, name, now, sizeof now);
    return length == (ssize_t)strlen(target) && memcmp(now, target, (size_t)length) == 0;
}

/* One file's link, under a name of the staging first: what is there is replaced and never missing. */
static int make_link(const struct showing *s, int snapshot, const struct file_entry *file)
{
    char blob[HUB_BLOB_MAX] = "", target[TARGET_MAX];
    const char *name;
    if (!hub_blob_name(file, blob) || path_make_parents(snapshot, file->path) < 0)
        return -1;
    int folder = path_open_parent(snapshot, file->path, &name);
    if (folder < 0)
        return -1;
    blob_target(file->path, blob, target);
    int result = 0;
    if (!is_link_to(folder, name, target)) {
        (void)unlinkat(s->staging, NEW_LINK, 0);
        result = symlinkat(target, s->staging, NEW_LINK);
        if (result == 0)
            result = renameat(s->staging, NEW_LINK, folder, name);
    }
    int saved = errno;
    fdio_drop(&folder);
    errno = saved;
    return result;
}

static int make_links(const struct showing *s, int snapshot, struct error *err)
{
    for (size_t i = 0; i < s->model->count; i++) {
        const struct file_entry *file = &s->model->files[i];
        if (select_is_in(s->options, file->path) && make_link(s, snapshot, file) < 0)
            return error_set_sys(err, ERROR_FILE, errno, "cannot make the link '%s' in '%s'", file->path,
                                 s->destination->path);
    }
    return 0;
}

/* A new snapshot is made aside; one that is there is added to, for what a commit holds does not change. */
static int show_snapshot(const struct showing *s, const char *commit, struct error *err)
{
    int snapshots = path_make_dir(s->destination->folder, "snapshots");
    int snapshot = snapshots < 0 ? -1 : path_open(snapshots, commit, O_RDONLY | O_DIRECTORY, 0);
    bool is_new = snapshots >= 0 && snapshot < 0 && errno == ENOENT;
    if (is_new && path_remove_tree(s->staging, NEW_SNAPSHOT) == 0)
        snapshot = path_make_dir(s->staging, NEW_SNAPSHOT);
    int result = snapshot < 0 ? show_error(s, "the snapshot", err) : make_links(s, snapshot, err);
    if (result == 0 && is_new && renameat(s->staging, NEW_SNAPSHOT, snapshots, commit) < 0)
        result = show_error(s, "the snapshot", err);
    fdio_drop(&snapshot);
    fdio_drop(&snapshots);
    return result;
}

/* refs/main: the commit without a newline, for its readers do not expect one. */
static int show_ref(const struct showing *s, const char *commit, struct error *err)
{
    int refs = path_make_dir(s->destination->folder, "refs");
    int fd = refs < 0 ? -1
                      : fdio_openat(s->staging, NEW_REF,
                                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool good =
        fd >= 0 && fdio_write(fd, commit, HUB_COMMIT_DIGITS) == HUB_COMMIT_DIGITS && fdio_fdatasync(fd) == 0;
    good = fd >= 0 && fdio_close(&fd) == 0 && good && renameat(s->staging, NEW_REF, refs, HUB_MAIN) == 0;
    int result = good ? 0 : show_error(s, "'refs/" HUB_MAIN "'", err);
    fdio_drop(&refs);
    return result;
}

static int flush(const struct showing *s, struct error *err)
{
    if (fdio_syncfs(s->destination->folder) == 0)
        return 0;
    return error_set_sys(err, ERROR_FILE, errno, "cannot flush '%s'", s->destination->path);
}

int hub_place_show(struct hub_place *place, const struct destination *destination, int tree,
                   const struct listing *plan, const uint32_t *numbers, const struct listing *model,
                   const struct options *options, struct error *err)
{
    struct showing s = {destination, destination_staging_folder(destination, err), model, options};
    if (s.staging < 0)
        return -1;
    if (!place->commit[0])
        hub_make_commit(model, place->commit);
    int result = check_names(&s, err);
    if (result == 0)
        result = move_blobs(&s, tree, plan, numbers, err);
    if (result == 0)
        result = flush(&s, err);
    if (result == 0)
        result = show_snapshot(&s, place->commit, err);
    if (result == 0)
        result = show_ref(&s, place->commit, err);
    if (result == 0)
        result = flush(&s, err);
    fdio_drop(&s.staging);
    return result;
}
