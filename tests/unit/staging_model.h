/* What the tests of a staging share: a gate in front of the system calls that write, flushes that fail, and a
 * model that is put into a staging block by block. Once a program: it takes the place of libc's functions. */
#ifndef UNIT_STAGING_MODEL_H
#define UNIT_STAGING_MODEL_H

#include "support.h"

#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/journal.h"
#include "common/recorder.h"
#include "common/staging.h"
#include "common/staging_tree.h"

/* -- a gate in front of pwrite: the test decides when a write goes on, and whether it fails -- */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gate_closed;
static int gate_waiting;
static atomic_int gate_errno;

static inline void pass_gate(void)
{
    pthread_mutex_lock(&gate_lock);
    gate_waiting++;
    pthread_cond_broadcast(&gate_changed);
    while (gate_closed)
        pthread_cond_wait(&gate_changed, &gate_lock);
    gate_waiting--;
    pthread_mutex_unlock(&gate_lock);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    pass_gate();
    if (gate_errno != 0) {
        errno = gate_errno;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, length, offset);
}

/* The same gate, where a file is made. */
int fallocate(int fd, int mode, off_t offset, off_t length)
{
    pass_gate();
    return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

/* Flushes that fail, once: the kernel tells of lost bytes only to whoever asks first. */
static atomic_int flush_errno;

static inline int flush(long call, int fd)
{
    int wrong = atomic_exchange(&flush_errno, 0);
    errno = wrong;
    return wrong ? -1 : (int)syscall(call, fd);
}

int fdatasync(int fd)
{
    return flush(SYS_fdatasync, fd);
}

int syncfs(int fd)
{
    return flush(SYS_syncfs, fd);
}

static inline void gate_set(bool closed)
{
    pthread_mutex_lock(&gate_lock);
    gate_closed = closed;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

static inline void gate_await(void)
{
    pthread_mutex_lock(&gate_lock);
    while (gate_waiting == 0)
        pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

/* -- a model of the test: a plan, and the bytes of its files. Static, for a test that fails leaves its
 * threads -- */

struct model {
    struct scratch *scratch;
    struct listing plan;
    uint8_t *bytes[8];
    struct staging *staging;
    int fds;
};

static inline void model_begin(struct model *m, struct scratch *scratch)
{
    memset(m, 0, sizeof *m);
    m->scratch = scratch;
    m->fds = count_fds();
}

static inline void model_add(struct model *m, const char *path, uint64_t size)
{
    void *bytes = NULL;
    assert_true(m->plan.count < COUNT_OF(m->bytes));
    assert_int_equal(posix_memalign(&bytes, 4096, (size_t)size + 4096), 0);
    m->bytes[m->plan.count] = bytes;
    fill(bytes, (size_t)size, (uint32_t)m->plan.count + 1);
    plan_add(&m->plan, path, size, FROM_SEND);
}

static inline int open_folder(struct model *m)
{
    (void)mkdirat(m->scratch->fd, "s", 0777);
    int fd = openat(m->scratch->fd, "s", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static inline int tree_of(struct model *m)
{
    return staging_tree(m->staging);
}

static inline void set_from(struct model *m, enum file_from from)
{
    for (size_t i = 0; i < m->plan.count; i++)
        m->plan.files[i].from = from;
}

static inline void inspect(struct model *m, struct journal_state *state)
{
    struct error err;
    int folder = open_folder(m);
    assert_int_equal(staging_tree_inspect(folder, state, NULL, NULL, &err), 0);
    (void)close(folder);
}

static inline int try_create(struct model *m, enum io_mode io, struct error *err)
{
    struct journal_state state;
    struct staging_options options = {.io = io, .keep_cached = false};
    inspect(m, &state);
    int result = staging_create(&m->staging, open_folder(m), &m->plan, &state, &options, err);
    journal_state_release(&state);
    return result;
}

static inline void create_with(struct model *m, enum io_mode io)
{
    struct error err = {0};
    if (try_create(m, io, &err) < 0 || staging_start(m->staging, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void create(struct model *m)
{
    create_with(m, IO_BUFFERED);
}

static inline void model_end(struct model *m)
{
    staging_destroy(&m->staging);
    assert_null(m->staging);
    for (size_t i = 0; i < m->plan.count; i++)
        free(m->bytes[i]);
    listing_release(&m->plan);
    assert_int_equal(count_fds(), m->fds);
}

static inline uint8_t *block_at(struct model *m, uint32_t file, uint64_t block)
{
    return m->bytes[file] + block * BLOCK_SIZE;
}

static inline size_t length_of(struct model *m, uint32_t file, uint64_t block)
{
    return (size_t)block_length(m->plan.files[file].size, block);
}

static enum staging_answer put_piece(struct model *m, const struct claim *claim, struct error *err)
{
    size_t length = length_of(m, claim->file, claim->block);
    return length == 0
               ? STAGING_CLAIMED
               : staging_write(m->staging, claim, block_at(m, claim->file, claim->block), length, 0, err);
}

static enum staging_answer end_claim(struct model *m, const struct claim *claim, struct error *err)
{
    uint8_t hash[HASH_SIZE];
    digest_block(block_at(m, claim->file, claim->block), length_of(m, claim->file, claim->block), hash);
    return staging_end(m->staging, claim, hash, err);
}

static inline void put(struct model *m, uint32_t file, uint64_t block)
{
    struct claim claim;
    struct error err = {0};
    if (staging_begin(m->staging, file, block, false, &claim, &err) != STAGING_CLAIMED ||
        put_piece(m, &claim, &err) != STAGING_CLAIMED || end_claim(m, &claim, &err) != STAGING_CLAIMED)
        fail_msg("file %u block %u: %s", file, (unsigned)block, err.text);
}

static inline void put_missing(struct model *m)
{
    for (uint32_t f = 0; f < m->plan.count; f++)
        for (uint64_t b = 0; b < block_count(m->plan.files[f].size); b++)
            if (!staging_has(m->staging, f, b))
                put(m, f, b);
}

static int names_counted;

static inline int count_name(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)st;
    (void)ftw;
    names_counted += type != FTW_D;
    return 0;
}

/* Entries of the tree that are no folders. */
static inline int count_names(struct model *m)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/s/tree", m->scratch->path);
    names_counted = 0;
    assert_int_equal(nftw(path, count_name, 32, FTW_PHYS), 0);
    return names_counted;
}

static inline void expect_whole(struct model *m)
{
    assert_true(staging_is_complete(m->staging));
    for (uint32_t f = 0; f < m->plan.count; f++) {
        struct stat st;
        const struct file_entry *entry = &m->plan.files[f];
        assert_true(file_equals(tree_of(m), entry->path, m->bytes[f], (size_t)entry->size));
        assert_int_equal(fstatat(tree_of(m), entry->path, &st, 0), 0);
        assert_int_equal(st.st_mtim.tv_sec, entry->mtime);
        assert_int_equal(st.st_mtim.tv_nsec, entry->nsec);
        for (uint64_t b = 0; b < block_count(entry->size); b++) {
            uint8_t hash[HASH_SIZE];
            digest_block(block_at(m, f, b), length_of(m, f, b), hash);
            assert_memory_equal(staging_hashes(m->staging, f) + b * HASH_SIZE, hash, HASH_SIZE);
        }
    }
    assert_int_equal(count_names(m), (int)m->plan.count);
}

static inline void finish(struct model *m)
{
    struct error err = {0};
    assert_int_equal(staging_finish(m->staging, &err), 0);
    expect_whole(m);
}

#endif
