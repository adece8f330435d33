/* One state byte and one hash for each block of the plan, one small record for each file, a short list of
 * claims. Which thread finishes a file is decided under the lock; the work on it is done outside. */
#include "common/staging.h"

#include "common/disk.h"
#include "common/fdio.h"
#include "common/partfile.h"
#include "common/path.h"
#include "common/recorder.h"
#include "common/staging_tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum file_state { FILE_ABSENT, FILE_OPENING, FILE_OPEN, FILE_COMPLETE, FILE_FAILED };

struct staged_file {
    uint64_t first_block; /* in the arrays of all blocks */
    uint64_t left;        /* blocks missing */
    enum file_state state;
    bool has_hashes;
    struct partfile *part; /* while open */
    char *temporary;       /* of an adopted partial, until it is opened */
    struct error *failure; /* of FILE_FAILED: the first one */
};

struct staging {
    int folder, tree;
    const struct listing *plan;
    struct staging_options options;
    bool in_memory; /* writing around the page cache is no gain */
    struct staged_file *files;
    uint8_t *received, *hashes; /* of all blocks */
    struct recorder *recorder;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a file opened, a write ended, a claim went */
    struct claim_list claims;
    uint64_t files_left;
    struct error lost; /* the first write error that only a flush has shown */
};

static void *must_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

static uint8_t *hash_at(struct staging *s, uint32_t file, uint64_t block)
{
    return s->hashes + (s->files[file].first_block + block) * HASH_SIZE;
}

static uint8_t *received_at(struct staging *s, uint32_t file, uint64_t block)
{
    return s->received + s->files[file].first_block + block;
}

static uint64_t blocks_of(const struct staging *s, uint32_t file)
{
    return block_count(s->plan->files[file].size);
}

/* -- setting up; one thread -- */

static void adopt(struct staging *s, uint32_t file, const struct journal_file *from)
{
    struct staged_file *f = &s->files[file];
    for (uint64_t b = 0; b < from->blocks; b++) {
        if (!from->present[b])
            continue;
        memcpy(hash_at(s, file, b), from->hashes + b * HASH_SIZE, HASH_SIZE);
        *received_at(s, file, b) = true;
        f->left--;
    }
    f->has_hashes = true;
    if (from->complete) {
        f->state = FILE_COMPLETE;
        s->files_left--;
    } else {
        f->temporary = strdup(from->temporary);
    }
}

static int adopt_staged(struct staging *s, const struct journal_state *state, struct error *err)
{
    for (uint32_t i = 0; i < s->plan->count; i++) {
        const struct file_entry *entry = &s->plan->files[i];
        if (entry->from != FROM_STAGED)
            continue;
        const struct journal_file *from = journal_state_find(state, entry->path);
        if (!from || from->entry.size != entry->size)
            return error_set(err, ERROR_PROTOCOL, "'%s' was not offered as staged", entry->path);
        adopt(s, i, from);
    }
    return 0;
}

/* Removes all that the plan does not take over. */
static int sweep(struct staging *s, struct error *err)
{
    const char **kept = must_alloc(s->plan->count, sizeof *kept);
    size_t count = 0;
    for (uint32_t i = 0; i < s->plan->count; i++) {
        struct staged_file *f = &s->files[i];
        if (f->temporary || f->state == FILE_COMPLETE)
            kept[count++] = f->temporary ? f->temporary : s->plan->files[i].path;
    }
    int result = staging_tree_sweep(s->tree, kept, count, err);
    free(kept);
    return result;
}

static int complete_file(struct staging *s, uint32_t file, struct partfile *part, struct error *err);

/* A former process may have ended between the last block of a file and its name. */
static int complete_adopted(struct staging *s, struct error *err)
{
    for (uint32_t i = 0; i < s->plan->count; i++) {
        struct staged_file *f = &s->files[i];
        if (f->left > 0 || f->state == FILE_COMPLETE)
            continue;
        struct partfile *part = must_alloc(1, sizeof *part);
        if (partfile_reopen(part, s->tree, &s->plan->files[i], f->temporary, false, err) < 0) {
            free(part);
            return -1;
        }
        free(f->temporary);
        f->temporary = NULL;
        if (complete_file(s, i, part, err) < 0)
            return -1;
    }
    return 0;
}

int staging_create(struct staging **out, int folder, const struct listing *plan,
                   const struct journal_state *state, const struct staging_options *options,
                   struct error *err)
{
    struct staging *s = must_alloc(1, sizeof *s);
    s->folder = folder;
    s->plan = plan;
    s->options = *options;
    s->files = must_alloc(plan->count, sizeof *s->files);
    s->files_left = plan->count;
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        s->files[i].first_block = blocks;
        s->files[i].left = blocks_of(s, i);
        blocks += s->files[i].left;
    }
    s->received = must_alloc(blocks, 1);
    s->hashes = must_alloc(blocks, HASH_SIZE);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->tree = path_make_dir(folder, STAGING_TREE);
    s->in_memory = disk_is_memory(s->tree);
    int result = s->tree < 0 ? error_set_sys(err, ERROR_FAILED, errno, "cannot make the staging folder") : 0;
    if (result == 0 && (adopt_staged(s, state, err) < 0 || sweep(s, err) < 0 || complete_adopted(s, err) < 0))
        result = -1;
    if (result < 0)
        staging_destroy(&s);
    else
        *out = s;
    return result;
}

int staging_link(struct staging *s, uint32_t file, int live, const uint8_t *hashes, struct error *err)
{
    struct staged_file *f = &s->files[file];
    if (staging_tree_link(s->tree, live, &s->plan->files[file], err) < 0)
        return -1;
    if (hashes)
        memcpy(hash_at(s, file, 0), hashes, blocks_of(s, file) * HASH_SIZE);
    memset(received_at(s, file, 0), true, blocks_of(s, file));
    f->left = 0;
    f->has_hashes = hashes != NULL;
    f->state = FILE_COMPLETE;
    s->files_left--;
    return 0;
}

/* The first reason is the one that everyone hears. Under the lock. */
static void note_failure(struct staging *s, uint32_t file, const struct error *error)
{
    struct staged_file *f = &s->files[file];
    if (!f->failure) {
        f->failure = must_alloc(1, sizeof *f->failure);
        *f->failure = *error;
    }
}

/* The file fails as a whole. Under the lock. */
static void set_failed(struct staging *s, uint32_t file, const struct error *error)
{
    note_failure(s, file, error);
    s->files[file].state = FILE_FAILED;
    pthread_cond_broadcast(&s->changed);
}

/* The disk has lost bytes of this file, or of some file (-1). The kernel tells of it once, to whoever flushes
 * first, so it is kept for staging_finish(). */
static void lose_file(struct staging *s, int64_t file, const struct error *error)
{
    pthread_mutex_lock(&s->lock);
    if (s->lost.code == ERROR_NONE)
        s->lost = *error;
    if (file >= 0 && s->files[file].state == FILE_OPEN)
        set_failed(s, (uint32_t)file, error);
    pthread_mutex_unlock(&s->lock);
}

/* -- what the recorder asks; its thread -- */

static void view_lost(void *context, int64_t file, const struct error *error)
{
    lose_file(context, file, error);
}

static int view_open_copy(void *context, uint32_t file)
{
    struct staging *s = context;
    pthread_mutex_lock(&s->lock);
    struct partfile *part = s->files[file].part;
    int copy = part ? fcntl(part->fd, F_DUPFD_CLOEXEC, 0) : -1;
    pthread_mutex_unlock(&s->lock);
    return copy;
}

static char *view_temporary(void *context, uint32_t file)
{
    struct staging *s = context;
    struct staged_file *f = &s->files[file];
    pthread_mutex_lock(&s->lock);
    char *path = f->part        ? partfile_path(f->part, &s->plan->files[file])
                 : f->temporary ? strdup(f->temporary)
                                : NULL;
    pthread_mutex_unlock(&s->lock);
    return path;
}

static bool view_is_complete(void *context, uint32_t file)
{
    struct staging *s = context;
    pthread_mutex_lock(&s->lock);
    bool complete = s->files[file].state == FILE_COMPLETE;
    pthread_mutex_unlock(&s->lock);
    return complete;
}

static const uint8_t *view_hashes(void *context, uint32_t file)
{
    return hash_at(context, file, 0);
}

/* The adopted files are the first that the new journal records; then it takes the place of the old one. */
int staging_start(struct staging *s, struct error *err)
{
    struct recorder_view view = {s, view_open_copy, view_temporary, view_is_complete, view_hashes, view_lost};
    if (recorder_create(&s->recorder, s->folder, s->tree, s->plan, &view, err) < 0)
        return -1;
    for (uint32_t i = 0; i < s->plan->count; i++)
        for (uint64_t b = 0; s->plan->files[i].from == FROM_STAGED && b < blocks_of(s, i); b++)
            if (*received_at(s, i, b))
                recorder_add(s->recorder, i, b);
    return recorder_commit(s->recorder, err) < 0 ? -1 : recorder_run(s->recorder, err);
}

/* -- claims; the lock is held -- */

static void drop_claim(struct staging *s, struct active_claim *claim)
{
    claims_drop(&s->claims, claim);
    pthread_cond_broadcast(&s->changed);
}

/* Waits until nobody is inside a write of the block, and ends the claim of who was. */
static void oust_holder(struct staging *s, uint32_t file, uint64_t block)
{
    struct active_claim *holder;
    while ((holder = claims_holder(&s->claims, file, block)) != NULL) {
        if (!holder->writing) {
            drop_claim(s, holder);
            return;
        }
        pthread_cond_wait(&s->changed, &s->lock);
    }
}

static bool wants_direct(const struct staging *s, uint64_t size)
{
    return s->options.io == IO_DIRECT || (s->options.io == IO_AUTO && size >= STAGING_DIRECT_MIN &&
                                          !s->options.keep_cached && !s->in_memory);
}

bool staging_is_direct(const struct staging *s, uint32_t file)
{
    return wants_direct(s, s->plan->files[file].size);
}

/* Opens the file of an absent entry; the lock is given up meanwhile, and FILE_OPENING keeps others away. */
static int open_file(struct staging *s, uint32_t file, struct error *err)
{
    struct staged_file *f = &s->files[file];
    const struct file_entry *entry = &s->plan->files[file];
    struct partfile *part = must_alloc(1, sizeof *part);
    f->state = FILE_OPENING;
    pthread_mutex_unlock(&s->lock);
    bool direct = wants_direct(s, entry->size);
    int result = f->temporary ? partfile_reopen(part, s->tree, entry, f->temporary, direct, err)
                              : partfile_create(part, s->tree, entry, direct, err);
    pthread_mutex_lock(&s->lock);
    if (result < 0) {
        free(part);
    } else {
        f->part = part;
        free(f->temporary);
        f->temporary = NULL;
    }
    f->state = FILE_OPEN;
    if (result < 0)
        set_failed(s, file, err);
    pthread_cond_broadcast(&s->changed);
    return result;
}

static int make_open(struct staging *s, uint32_t file, struct error *err)
{
    struct staged_file *f = &s->files[file];
    while (f->state == FILE_OPENING)
        pthread_cond_wait(&s->changed, &s->lock);
    if (f->state == FILE_ABSENT)
        return open_file(s, file, err);
    if (f->state != FILE_FAILED)
        return 0;
    *err = *f->failure;
    return -1;
}

/* One try; STAGING_TAKEN if another stream has the block, or came first while the lock was given up for
 * opening. */
static enum staging_answer try_claim(struct staging *s, uint32_t file, uint64_t block, struct claim *claim,
                                     struct error *err)
{
    if (*received_at(s, file, block))
        return STAGING_HAVE;
    if (claims_holder(&s->claims, file, block))
        return STAGING_TAKEN;
    if (make_open(s, file, err) < 0)
        return STAGING_FAILED;
    if (claims_holder(&s->claims, file, block) || *received_at(s, file, block))
        return STAGING_TAKEN;
    *claim = claims_add(&s->claims, file, block);
    return STAGING_CLAIMED;
}

enum staging_answer staging_begin(struct staging *s, uint32_t file, uint64_t block, bool take_over,
                                  struct claim *claim, struct error *err)
{
    enum staging_answer answer;
    pthread_mutex_lock(&s->lock);
    assert(file < s->plan->count && block < blocks_of(s, file));
    do {
        if (take_over && !*received_at(s, file, block))
            oust_holder(s, file, block);
        answer = try_claim(s, file, block, claim, err);
    } while (take_over && answer == STAGING_TAKEN);
    pthread_mutex_unlock(&s->lock);
    return answer;
}

enum staging_answer staging_wait(struct staging *s, uint32_t file, uint64_t block, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    while (!*received_at(s, file, block) && claims_holder(&s->claims, file, block))
        pthread_cond_wait(&s->changed, &s->lock);
    bool there = *received_at(s, file, block);
    if (!there && s->files[file].failure)
        *err = *s->files[file].failure;
    else if (!there)
        error_set(err, ERROR_FILE, "another stream could not store its copy of '%s'",
                  s->plan->files[file].path);
    pthread_mutex_unlock(&s->lock);
    return there ? STAGING_HAVE : STAGING_FAILED;
}

/* Looks up a claim and marks it as inside a write, so that its file stays open. NULL if it was taken over. */
static struct partfile *enter_write(struct staging *s, const struct claim *claim)
{
    pthread_mutex_lock(&s->lock);
    struct active_claim *active = claims_find(&s->claims, claim);
    struct partfile *part = active ? s->files[claim->file].part : NULL;
    if (part)
        active->writing = true;
    pthread_mutex_unlock(&s->lock);
    return part;
}

static void leave_write(struct staging *s, const struct claim *claim, const struct error *failed)
{
    pthread_mutex_lock(&s->lock);
    struct active_claim *active = claims_find(&s->claims, claim);
    active->writing = false;
    pthread_cond_broadcast(&s->changed);
    if (failed) {
        note_failure(s, claim->file, failed);
        drop_claim(s, active);
    }
    pthread_mutex_unlock(&s->lock);
}

enum staging_answer staging_write(struct staging *s, const struct claim *claim, const void *bytes,
                                  size_t length, uint64_t offset_in_block, struct error *err)
{
    struct partfile *part = enter_write(s, claim);
    if (!part)
        return STAGING_TAKEN;
    int result = partfile_write(part, &s->plan->files[claim->file], bytes, length,
                                claim->block * BLOCK_SIZE + offset_in_block, err);
    leave_write(s, claim, result < 0 ? err : NULL);
    return result < 0 ? STAGING_FAILED : STAGING_CLAIMED;
}

void staging_abandon(struct staging *s, const struct claim *claim)
{
    pthread_mutex_lock(&s->lock);
    struct active_claim *active = claims_find(&s->claims, claim);
    if (active)
        drop_claim(s, active);
    pthread_mutex_unlock(&s->lock);
}

/* Keeps the dirty pages of large files few, so that the flush at the end has little to do. The claim is gone
 * after STAGING_TAKEN and STAGING_FAILED. */
static enum staging_answer pace_claim(struct staging *s, const struct claim *claim, struct error *err)
{
    const struct file_entry *entry = &s->plan->files[claim->file];
    struct partfile *part = enter_write(s, claim);
    int result = 0;
    if (!part)
        return STAGING_TAKEN;
    if (entry->size > STAGING_AHEAD_BLOCKS * BLOCK_SIZE) {
        result = partfile_start_writeback(part, entry, claim->block * BLOCK_SIZE, BLOCK_SIZE, err);
        if (result == 0 && claim->block >= STAGING_AHEAD_BLOCKS)
            result =
                partfile_finish_writeback(part, entry, (claim->block - STAGING_AHEAD_BLOCKS) * BLOCK_SIZE,
                                          BLOCK_SIZE, !s->options.keep_cached, err);
    }
    leave_write(s, claim, result < 0 ? err : NULL);
    if (result < 0)
        lose_file(s, claim->file, err);
    return result < 0 ? STAGING_FAILED : STAGING_CLAIMED;
}

static int complete_file(struct staging *s, uint32_t file, struct partfile *part, struct error *err)
{
    const struct file_entry *entry = &s->plan->files[file];
    int result = partfile_publish(part, entry, entry->size > BLOCK_SIZE, err);
    free(part);
    pthread_mutex_lock(&s->lock);
    struct staged_file *f = &s->files[file];
    if (result == 0) {
        f->state = FILE_COMPLETE;
        f->has_hashes = true;
        s->files_left--;
    } else {
        set_failed(s, file, err);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* The block is there; the claim goes. Under the lock. */
static void settle(struct staging *s, const struct claim *claim)
{
    *received_at(s, claim->file, claim->block) = true;
    s->files[claim->file].left--;
    drop_claim(s, claims_find(&s->claims, claim));
}

/* The last block of a file counts when the file has its name: until then its claim stands, as if it were
 * being written, so that nobody hears that it is there. */
static int settle_last(struct staging *s, const struct claim *claim, struct error *err)
{
    struct staged_file *f = &s->files[claim->file];
    struct partfile *part = f->part;
    f->part = NULL;
    f->state = FILE_OPENING; /* nobody else touches it */
    claims_find(&s->claims, claim)->writing = true;
    pthread_mutex_unlock(&s->lock);
    int result = complete_file(s, claim->file, part, err);
    pthread_mutex_lock(&s->lock);
    if (result == 0)
        settle(s, claim);
    else
        drop_claim(s, claims_find(&s->claims, claim));
    return result;
}

enum staging_answer staging_end(struct staging *s, const struct claim *claim, const uint8_t hash[HASH_SIZE],
                                struct error *err)
{
    enum staging_answer answer = pace_claim(s, claim, err);
    if (answer != STAGING_CLAIMED)
        return answer;
    pthread_mutex_lock(&s->lock);
    if (!claims_find(&s->claims, claim)) {
        answer = STAGING_TAKEN;
    } else if (s->files[claim->file].state == FILE_FAILED) {
        *err = *s->files[claim->file].failure;
        drop_claim(s, claims_find(&s->claims, claim));
        answer = STAGING_FAILED;
    } else {
        memcpy(hash_at(s, claim->file, claim->block), hash, HASH_SIZE);
        if (s->files[claim->file].left > 1)
            settle(s, claim);
        else if (settle_last(s, claim, err) < 0)
            answer = STAGING_FAILED;
    }
    pthread_mutex_unlock(&s->lock);
    if (answer == STAGING_CLAIMED)
        recorder_add(s->recorder, claim->file, claim->block);
    return answer;
}

/* -- the end -- */

bool staging_has(struct staging *s, uint32_t file, uint64_t block)
{
    pthread_mutex_lock(&s->lock);
    bool has = *received_at(s, file, block);
    pthread_mutex_unlock(&s->lock);
    return has;
}

bool staging_is_complete(struct staging *s)
{
    pthread_mutex_lock(&s->lock);
    bool complete = s->files_left == 0;
    pthread_mutex_unlock(&s->lock);
    return complete;
}

int staging_finish(struct staging *s, struct error *err)
{
    recorder_destroy(&s->recorder, true); /* what follows may fail, and then nothing is sent again */
    if (s->lost.code != ERROR_NONE) {
        *err = s->lost;
        return -1;
    }
    if (fdio_syncfs(s->tree) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot flush the received files");
    return staging_tree_check_names(s->tree, s->plan, err);
}

const uint8_t *staging_hashes(struct staging *s, uint32_t file)
{
    return s->files[file].has_hashes ? hash_at(s, file, 0) : NULL;
}

int staging_tree(struct staging *s)
{
    return s->tree;
}

void staging_destroy(struct staging **staging)
{
    struct staging *s = *staging;
    *staging = NULL;
    if (!s)
        return;
    recorder_destroy(&s->recorder, true);
    for (uint32_t i = 0; i < s->plan->count; i++) {
        if (s->files[i].part)
            partfile_leave(s->files[i].part);
        free(s->files[i].part);
        free(s->files[i].temporary);
        free(s->files[i].failure);
    }
    fdio_drop(&s->tree);
    fdio_drop(&s->folder);
    free(s->files);
    free(s->received);
    free(s->hashes);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
