/* A manifest is a claim about files; a version is that claim held against what is there. */
#include "server/version.h"

#include "common/fdio.h"
#include "common/junk.h"
#include "common/log.h"
#include "common/path.h"
#include "common/sender.h"
#include "common/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_unchanged(const struct manifest *m, uint64_t i, const struct stat *st)
{
    return (uint64_t)st->st_size == m->listing.files[i].size && st->st_mtim.tv_sec == m->disk_mtime[i] &&
           (uint32_t)st->st_mtim.tv_nsec == m->disk_nsec[i];
}

/* -- holding it against the files -- */

struct joining {
    struct version *version;
    const struct manifest *claim;
    uint32_t *index; /* of the claim's listing, by path */
    uint8_t *seen;   /* of the claim's files */
};

/* Whether the manifest has files below this folder: one that was pushed with --all may hold junk. */
static bool claims_below(const struct joining *joining, const char *folder)
{
    size_t length = strlen(folder);
    for (size_t i = 0; i < joining->claim->listing.count; i++) {
        const char *path = joining->claim->listing.files[i].path;
        if (strncmp(path, folder, length) == 0 && path[length] == '/')
            return true;
    }
    return false;
}

static void join_file(struct joining *joining, const char *path, const struct stat *st, int64_t claimed)
{
    struct manifest *m = &joining->version->manifest;
    int64_t mtime = st->st_mtim.tv_sec;
    uint32_t nsec = (uint32_t)st->st_mtim.tv_nsec;
    if (claimed >= 0 && is_unchanged(joining->claim, (uint64_t)claimed, st)) {
        manifest_add(m, &joining->claim->listing.files[claimed], mtime, nsec,
                     manifest_hashes(joining->claim, (uint64_t)claimed));
        return;
    }
    struct file_entry entry = {
        .path = (char *)path, .size = (uint64_t)st->st_size, .mtime = mtime, .nsec = nsec};
    joining->version->altered = true;
    manifest_add(m, &entry, mtime, nsec, NULL);
}

static enum walk_step join_entry(void *context, const struct walk_entry *entry, struct error *err)
{
    struct joining *joining = context;
    (void)err;
    int64_t claimed = listing_find(&joining->claim->listing, joining->index, entry->path);
    if (claimed < 0 && junk_is(entry->name, entry->path) &&
        !(entry->kind == WALK_FOLDER && claims_below(joining, entry->path)))
        return WALK_SKIP;
    if (entry->kind == WALK_FILE) {
        if (claimed >= 0)
            joining->seen[claimed] = 1;
        join_file(joining, entry->path, &entry->st, claimed);
    } else if (entry->kind != WALK_FOLDER) {
        joining->version->warnings++;
    }
    return WALK_ON;
}

/* What a folder listing did not show (on a distributed file system it may lag) is asked for by name. */
static void join_unseen(struct joining *joining)
{
    struct version *v = joining->version;
    for (size_t i = 0; i < joining->claim->listing.count; i++) {
        const char *path = joining->claim->listing.files[i].path;
        struct stat st;
        if (joining->seen[i])
            continue;
        if (path_stat(v->folder, path, &st) == 0 && S_ISREG(st.st_mode)) {
            join_file(joining, path, &st, (int64_t)i);
        } else if (v->missing++ == 0) {
            v->first_missing = strdup(path);
        }
    }
}

static int join(struct version *v, const struct manifest *claim, struct error *err)
{
    const char *clash;
    struct joining joining = {.version = v, .claim = claim, .index = listing_index(&claim->listing, &clash)};
    if (!joining.index)
        return error_set(err, ERROR_FAILED, "the manifest of '%s' is damaged: it names '%s' twice", v->id,
                         clash);
    joining.seen = calloc(claim->listing.count + 1, 1);
    if (!joining.seen)
        abort();
    int result = walk_tree(v->folder, false, join_entry, &joining, err);
    if (result == 0)
        join_unseen(&joining);
    free(joining.index);
    free(joining.seen);
    return result;
}

/* -- opening -- */

/* With SWITCH held shared: folder and manifest belong together, and the pin comes before anyone can replace
 * them. */
static int open_pinned(struct version *v, const struct store *store, struct manifest *claim,
                       struct error *err)
{
    struct stat st;
    v->folder = store_open_live(store, v->id);
    if (v->folder < 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set(err, ERROR_NO_MODEL, "there is no model '%s'", v->id);
    if (v->folder < 0 || fstat(v->folder, &st) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot open the model '%s'", v->id);
    if (store_pin(v->lock_file, st.st_ino, err) < 0)
        return -1;
    int meta = store_open_meta(store, v->id, false);
    uint64_t generation;
    struct manifest_summary summary;
    struct error damage;
    if (meta >= 0 && manifest_choose(meta, st.st_ino, &generation, &summary) != 0 &&
        manifest_load(claim, meta, generation, &damage) < 0)
        log_warn("%s: %s; it is served without its hashes", v->id, damage.text);
    fdio_drop(&meta);
    return 0;
}

static void note_time(struct manifest_summary *summary, int64_t mtime, uint32_t nsec)
{
    if (mtime > summary->mtime || (mtime == summary->mtime && nsec > summary->nsec)) {
        summary->mtime = mtime;
        summary->nsec = nsec;
    }
}

/* What came or was changed by other means has no time of publishing: the newest of its files and of its
 * folder stands for it, as it does where models are listed. */
static void set_summary(struct version *v, const struct manifest *claim)
{
    struct manifest_summary *summary = &v->manifest.summary;
    struct stat st;
    (void)snprintf(summary->model, sizeof summary->model, "%s", claim->summary.model);
    summary->flawed = claim->summary.flawed; /* until somebody reads the headers again */
    if (claim->summary.files > 0 && !v->altered && v->missing == 0) {
        (void)snprintf(summary->origin, sizeof summary->origin, "%s", claim->summary.origin);
        summary->mtime = claim->summary.mtime;
        summary->nsec = claim->summary.nsec;
        return;
    }
    if (fstat(v->folder, &st) == 0)
        note_time(summary, st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec);
    for (size_t i = 0; i < v->manifest.listing.count; i++)
        note_time(summary, v->manifest.disk_mtime[i], v->manifest.disk_nsec[i]);
}

int version_open(struct version *v, const struct store *store, const char *id, struct error *err)
{
    struct manifest claim = {0};
    memset(v, 0, sizeof *v);
    v->folder = -1;
    (void)snprintf(v->id, sizeof v->id, "%s", id);
    pthread_mutex_init(&v->lock, NULL);
    v->lock_file = store_lock_file(store, id, err);
    int result = v->lock_file < 0 ? -1 : store_lock_shared(v->lock_file, err);
    if (result == 0) {
        result = open_pinned(v, store, &claim, err);
        store_unlock(v->lock_file);
    }
    if (result == 0)
        result = join(v, &claim, err);
    if (result == 0)
        set_summary(v, &claim);
    manifest_release(&claim);
    v->learned = calloc(v->manifest.listing.count + 1, sizeof *v->learned);
    v->learned_left = calloc(v->manifest.listing.count + 1, sizeof *v->learned_left);
    if (!v->learned || !v->learned_left)
        abort();
    if (result < 0)
        version_close(v);
    return result;
}

void version_close(struct version *v)
{
    for (size_t i = 0; v->learned && i < v->manifest.listing.count; i++)
        free(v->learned[i]);
    free(v->learned);
    free(v->learned_left);
    free(v->first_missing);
    manifest_release(&v->manifest);
    fdio_drop(&v->folder);
    fdio_drop(&v->lock_file);
    pthread_mutex_destroy(&v->lock);
    memset(v, 0, sizeof *v);
    v->folder = v->lock_file = -1;
}

struct file_entry version_disk_entry(const struct version *v, uint32_t file)
{
    struct file_entry entry = v->manifest.listing.files[file];
    entry.mtime = v->manifest.disk_mtime[file];
    entry.nsec = v->manifest.disk_nsec[file];
    return entry;
}

int version_open_file(const struct version *v, uint32_t file)
{
    const struct file_entry *entry = &v->manifest.listing.files[file];
    int fd = path_open(v->folder, entry->path, O_RDONLY | O_NONBLOCK, 0); /* never waits for a FIFO */
    if (fd >= 0)
        sender_advise(fd, entry->size);
    return fd;
}

const uint8_t *version_hash(const struct version *v, uint32_t file, uint64_t block)
{
    const uint8_t *hashes = manifest_hashes(&v->manifest, file);
    return hashes ? hashes + block * HASH_SIZE : NULL;
}

/* -- learning -- */

void version_learn(struct version *v, uint32_t file, uint64_t block, const uint8_t hash[HASH_SIZE])
{
    uint64_t blocks = block_count(v->manifest.listing.files[file].size);
    pthread_mutex_lock(&v->lock);
    if (!v->learned[file]) {
        v->learned[file] = calloc(blocks, HASH_SIZE + 1);
        v->learned_left[file] = blocks;
    }
    uint8_t *hashes = v->learned[file];
    if (hashes) {
        uint8_t *known = hashes + blocks * HASH_SIZE + block;
        v->learned_left[file] -= !*known;
        *known = 1;
        memcpy(hashes + block * HASH_SIZE, hash, HASH_SIZE);
    }
    pthread_mutex_unlock(&v->lock);
}

void version_note_flawed(struct version *v, bool flawed)
{
    v->noted = v->noted || flawed != v->manifest.summary.flawed;
    v->manifest.summary.flawed = flawed;
}

static bool was_learned(const struct version *v, uint32_t file)
{
    return v->learned[file] && v->learned_left[file] == 0;
}

/* The manifest with what was learned; files that changed meanwhile keep no hashes. */
static void merge(struct version *v, struct manifest *merged)
{
    const struct manifest *m = &v->manifest;
    for (uint32_t i = 0; i < m->listing.count; i++) {
        struct stat st;
        bool usable = was_learned(v, i) && path_stat(v->folder, m->listing.files[i].path, &st) == 0 &&
                      is_unchanged(m, i, &st);
        manifest_add(merged, &m->listing.files[i], m->disk_mtime[i], m->disk_nsec[i],
                     usable ? v->learned[i] : manifest_hashes(m, i));
    }
    struct stat folder;
    merged->summary.folder = fstat(v->folder, &folder) == 0 ? folder.st_ino : 0;
    (void)snprintf(merged->summary.model, sizeof merged->summary.model, "%s", v->id);
    (void)snprintf(merged->summary.origin, sizeof merged->summary.origin, "%s", m->summary.origin);
    merged->summary.flawed = m->summary.flawed;
    merged->summary.mtime = m->summary.mtime;
    merged->summary.nsec = m->summary.nsec;
}

/* Whether the version is still the live one. */
static bool is_live(const struct version *v, const struct store *store)
{
    struct stat ours, live;
    int folder = store_open_live(store, v->id);
    bool same = folder >= 0 && fstat(folder, &live) == 0 && fstat(v->folder, &ours) == 0 &&
                ours.st_ino == live.st_ino && ours.st_dev == live.st_dev;
    fdio_drop(&folder);
    return same;
}

int version_save_learned(struct version *v, const struct store *store, struct error *err)
{
    bool any = v->noted;
    for (uint32_t i = 0; i < v->manifest.listing.count; i++)
        any = any || was_learned(v, i);
    if (!any || v->missing > 0)
        return 0;
    /* A descriptor of its own: closing it lets go of the push lock and leaves the pin. */
    int lock_file = store_lock_file(store, v->id, err);
    if (lock_file < 0)
        return -1;
    int result = 0;
    if (store_lock_push(lock_file, v->id, "a pull that keeps hashes", err) == 0 && is_live(v, store)) {
        struct manifest merged = {0};
        merge(v, &merged);
        result = store_lock_exclusive(lock_file, err);
        if (result == 0)
            result = store_update_manifest(store, v->id, &merged, err);
        manifest_release(&merged);
    }
    fdio_drop(&lock_file);
    return result;
}
