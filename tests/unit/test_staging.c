/* A model on its way in: claims, completion, what a restart finds again and what it must not believe. */
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

static void pass_gate(void)
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

static int flush(long call, int fd)
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

static void gate_set(bool closed)
{
    pthread_mutex_lock(&gate_lock);
    gate_closed = closed;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

static void gate_await(void)
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

static void model_begin(struct model *m, struct scratch *scratch)
{
    memset(m, 0, sizeof *m);
    m->scratch = scratch;
    m->fds = count_fds();
}

static void model_add(struct model *m, const char *path, uint64_t size)
{
    void *bytes = NULL;
    assert_true(m->plan.count < COUNT_OF(m->bytes));
    assert_int_equal(posix_memalign(&bytes, 4096, (size_t)size + 4096), 0);
    m->bytes[m->plan.count] = bytes;
    fill(bytes, (size_t)size, (uint32_t)m->plan.count + 1);
    plan_add(&m->plan, path, size, FROM_SEND);
}

static int open_folder(struct model *m)
{
    (void)mkdirat(m->scratch->fd, "s", 0777);
    int fd = openat(m->scratch->fd, "s", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int tree_of(struct model *m)
{
    return staging_tree(m->staging);
}

static void set_from(struct model *m, enum file_from from)
{
    for (size_t i = 0; i < m->plan.count; i++)
        m->plan.files[i].from = from;
}

static void inspect(struct model *m, struct journal_state *state)
{
    struct error err;
    int folder = open_folder(m);
    assert_int_equal(staging_tree_inspect(folder, state, NULL, NULL, &err), 0);
    (void)close(folder);
}

static int try_create(struct model *m, enum io_mode io, struct error *err)
{
    struct journal_state state;
    struct staging_options options = {.io = io, .keep_cached = false};
    inspect(m, &state);
    int result = staging_create(&m->staging, open_folder(m), &m->plan, &state, &options, err);
    journal_state_release(&state);
    return result;
}

static void create_with(struct model *m, enum io_mode io)
{
    struct error err = {0};
    if (try_create(m, io, &err) < 0 || staging_start(m->staging, &err) < 0)
        fail_msg("%s", err.text);
}

static void create(struct model *m)
{
    create_with(m, IO_BUFFERED);
}

static void model_end(struct model *m)
{
    staging_destroy(&m->staging);
    assert_null(m->staging);
    for (size_t i = 0; i < m->plan.count; i++)
        free(m->bytes[i]);
    listing_release(&m->plan);
    assert_int_equal(count_fds(), m->fds);
}

static uint8_t *block_at(struct model *m, uint32_t file, uint64_t block)
{
    return m->bytes[file] + block * BLOCK_SIZE;
}

static size_t length_of(struct model *m, uint32_t file, uint64_t block)
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

static void put(struct model *m, uint32_t file, uint64_t block)
{
    struct claim claim;
    struct error err = {0};
    if (staging_begin(m->staging, file, block, false, &claim, &err) != STAGING_CLAIMED ||
        put_piece(m, &claim, &err) != STAGING_CLAIMED || end_claim(m, &claim, &err) != STAGING_CLAIMED)
        fail_msg("file %u block %u: %s", file, (unsigned)block, err.text);
}

static void put_missing(struct model *m)
{
    for (uint32_t f = 0; f < m->plan.count; f++)
        for (uint64_t b = 0; b < block_count(m->plan.files[f].size); b++)
            if (!staging_has(m->staging, f, b))
                put(m, f, b);
}

static int names_counted;

static int count_name(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)st;
    (void)ftw;
    names_counted += type != FTW_D;
    return 0;
}

/* Entries of the tree that are no folders. */
static int count_names(struct model *m)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/s/tree", m->scratch->path);
    names_counted = 0;
    assert_int_equal(nftw(path, count_name, 32, FTW_PHYS), 0);
    return names_counted;
}

static void expect_whole(struct model *m)
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

static void finish(struct model *m)
{
    struct error err = {0};
    assert_int_equal(staging_finish(m->staging, &err), 0);
    expect_whole(m);
}

/* -- tests -- */

static void a_file_gets_its_name_with_its_last_block(void **state)
{
    for (int io = IO_AUTO; io <= IO_DIRECT; io++) {
        struct scratch *scratch = *state;
        static struct model m;
        model_begin(&m, scratch);
        model_add(&m, "sub/dir/big.bin", 2 * BLOCK_SIZE + 1000);
        model_add(&m, "exact", BLOCK_SIZE);
        model_add(&m, "empty", 0);
        model_add(&m, "one", 1);
        create_with(&m, (enum io_mode)io);
        static const struct {
            uint32_t file;
            uint64_t block;
        } order[] = {{0, 2}, {3, 0}, {0, 0}, {2, 0}, {0, 1}, {1, 0}};
        for (size_t i = 0; i < COUNT_OF(order); i++) {
            assert_false(staging_is_complete(m.staging));
            assert_false(staging_has(m.staging, order[i].file, order[i].block));
            put(&m, order[i].file, order[i].block);
            assert_true(staging_has(m.staging, order[i].file, order[i].block));
            assert_int_equal(is_there(tree_of(&m), "sub/dir/big.bin"), i >= 4);
        }
        finish(&m);
        model_end(&m);
        assert_int_equal(path_remove_tree(scratch->fd, "s"), 0);
    }
}

static void a_block_that_is_there_is_not_claimed_again(void **state)
{
    static struct model m;
    struct claim claim;
    struct error err;
    model_begin(&m, *state);
    model_add(&m, "a", 10);
    model_add(&m, "b", BLOCK_SIZE + 1);
    create(&m);
    put(&m, 0, 0);
    put(&m, 1, 1);
    assert_int_equal(staging_begin(m.staging, 0, 0, false, &claim, &err), STAGING_HAVE);
    assert_int_equal(staging_begin(m.staging, 1, 1, false, &claim, &err), STAGING_HAVE);
    assert_int_equal(staging_begin(m.staging, 1, 0, false, &claim, &err), STAGING_CLAIMED);
    staging_abandon(m.staging, &claim);
    model_end(&m);
}

static void a_second_stream_takes_the_claim_over_and_the_first_discards(void **state)
{
    static struct model m;
    struct claim first, second;
    struct error err;
    uint8_t junk[1000], hash[HASH_SIZE] = {9};
    memset(junk, 0x55, sizeof junk);
    model_begin(&m, *state);
    model_add(&m, "a", 1000);
    model_add(&m, "b", 1);
    create(&m);
    assert_int_equal(staging_begin(m.staging, 0, 0, false, &first, &err), STAGING_CLAIMED);
    assert_int_equal(staging_write(m.staging, &first, junk, 500, 0, &err), STAGING_CLAIMED);
    assert_int_equal(staging_begin(m.staging, 0, 0, false, &second, &err),
                     STAGING_TAKEN); /* not before it is proven */
    assert_int_equal(staging_write(m.staging, &first, junk, 500, 500, &err), STAGING_CLAIMED);
    assert_int_equal(staging_begin(m.staging, 0, 0, true, &second, &err), STAGING_CLAIMED);
    assert_int_equal(staging_write(m.staging, &first, junk, 500, 500, &err), STAGING_TAKEN);
    assert_int_equal(staging_end(m.staging, &first, hash, &err), STAGING_TAKEN);
    staging_abandon(m.staging, &first); /* of no effect on the second */
    assert_false(staging_has(m.staging, 0, 0));
    assert_int_equal(put_piece(&m, &second, &err), STAGING_CLAIMED);
    assert_int_equal(end_claim(&m, &second, &err), STAGING_CLAIMED);
    assert_int_equal(staging_wait(m.staging, 0, 0, &err), STAGING_HAVE); /* and the first may say so */
    assert_int_equal(staging_write(m.staging, &first, junk, 1000, 0, &err), STAGING_TAKEN);
    assert_int_equal(staging_end(m.staging, &second, hash, &err), STAGING_TAKEN);
    assert_int_equal(staging_begin(m.staging, 0, 0, true, &first, &err), STAGING_HAVE);
    put(&m, 1, 0);
    finish(&m);
    model_end(&m);
}

static void a_stream_that_was_ousted_learns_what_became_of_the_block(void **state)
{
    static struct model m;
    struct claim first, second;
    struct error err = {0};
    model_begin(&m, *state);
    model_add(&m, "a", 1000);
    create(&m);
    assert_int_equal(staging_begin(m.staging, 0, 0, false, &first, &err), STAGING_CLAIMED);
    assert_int_equal(staging_begin(m.staging, 0, 0, true, &second, &err), STAGING_CLAIMED);
    gate_errno = ENOSPC;
    assert_int_equal(put_piece(&m, &second, &err), STAGING_FAILED);
    gate_errno = 0;
    assert_int_equal(staging_wait(m.staging, 0, 0, &err), STAGING_FAILED);
    assert_non_null(strstr(err.text, "'a'"));
    model_end(&m);
}

static void an_abandoned_block_can_be_claimed_by_anyone(void **state)
{
    static struct model m;
    struct claim claim;
    struct error err;
    model_begin(&m, *state);
    model_add(&m, "a", 1000);
    create(&m);
    for (int i = 0; i < 1000; i++) { /* more often than there is room for claims */
        assert_int_equal(staging_begin(m.staging, 0, 0, false, &claim, &err), STAGING_CLAIMED);
        staging_abandon(m.staging, &claim);
        assert_int_equal(staging_write(m.staging, &claim, m.bytes[0], 1000, 0, &err), STAGING_TAKEN);
    }
    put(&m, 0, 0);
    finish(&m);
    model_end(&m);
}

struct taker {
    struct model *m;
    struct claim claim;
    atomic_int answer; /* -2 until it has one */
    bool writes;       /* writes its claim, else begins one for block 0 of file 0 */
    bool takes_over;
    struct error err;
};

static void *taker_thread_main(void *context)
{
    struct taker *taker = context;
    taker->answer =
        (int)(taker->writes
                  ? staging_write(taker->m->staging, &taker->claim, taker->m->bytes[1], 1000, 0, &taker->err)
                  : staging_begin(taker->m->staging, 0, 0, taker->takes_over, &taker->claim, &taker->err));
    return NULL;
}

static void taking_over_waits_for_a_write_that_is_under_way(void **state)
{
    static struct model m;
    pthread_t writing, taking;
    struct taker writer = {.m = &m, .answer = -2, .writes = true},
                 taker = {.m = &m, .answer = -2, .takes_over = true};
    struct error err;
    model_begin(&m, *state);
    model_add(&m, "a", 1000);
    model_add(&m, "other", 1000);
    create(&m);
    assert_int_equal(staging_begin(m.staging, 0, 0, false, &writer.claim, &err), STAGING_CLAIMED);
    gate_set(true);
    assert_int_equal(pthread_create(&writing, NULL, taker_thread_main, &writer), 0);
    gate_await();
    assert_int_equal(pthread_create(&taking, NULL, taker_thread_main, &taker), 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(taker.answer, -2); /* it must not get the block while the writer is inside */
        (void)usleep(1000);
    }
    assert_false(staging_has(m.staging, 1, 0)); /* and the lock is free meanwhile */
    gate_set(false);
    pthread_join(writing, NULL);
    pthread_join(taking, NULL);
    assert_int_equal(writer.answer, STAGING_CLAIMED);
    assert_int_equal(taker.answer, STAGING_CLAIMED);
    assert_int_equal(staging_write(m.staging, &writer.claim, m.bytes[1], 1000, 0, &err), STAGING_TAKEN);
    assert_int_equal(put_piece(&m, &taker.claim, &err), STAGING_CLAIMED);
    assert_int_equal(end_claim(&m, &taker.claim, &err), STAGING_CLAIMED);
    put(&m, 1, 0);
    finish(&m);
    model_end(&m);
}

static void two_streams_that_meet_while_the_file_is_made_get_one_claim(void **state)
{
    static struct model m;
    pthread_t threads[2];
    static struct taker takers[2];
    struct error err;
    model_begin(&m, *state);
    model_add(&m, "a", 2000000);
    create(&m);
    gate_set(true);
    for (int i = 0; i < 2; i++) {
        takers[i] = (struct taker){.m = &m, .answer = -2};
        assert_int_equal(pthread_create(&threads[i], NULL, taker_thread_main, &takers[i]), 0);
        gate_await();
    }
    (void)usleep(20000); /* the second stands behind the first */
    gate_set(false);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    int first = takers[0].answer == STAGING_CLAIMED ? 0 : 1;
    assert_int_equal(takers[first].answer, STAGING_CLAIMED);
    assert_int_equal(takers[1 - first].answer, STAGING_TAKEN);
    assert_int_equal(staging_write(m.staging, &takers[first].claim, m.bytes[0], 1, 0, &err), STAGING_CLAIMED);
    model_end(&m);
}

/* Two streams with the same blocks and different bytes: what is there in the end is what was proven last. */
struct rival {
    struct model *m;
    uint8_t *bytes;
    uint8_t hash[HASH_SIZE];
    atomic_int *wrong;
};

#define RIVAL_SIZE ((size_t)200000)

static void *rival_thread_main(void *context)
{
    struct rival *rival = context;
    struct staging *s = rival->m->staging;
    struct error err = {0};
    for (uint32_t file = 0; file < rival->m->plan.count; file++) {
        struct claim claim;
        enum staging_answer answer = staging_begin(s, file, 0, false, &claim, &err);
        if (answer == STAGING_TAKEN)
            answer = staging_begin(s, file, 0, true, &claim, &err);
        for (size_t at = 0; at < RIVAL_SIZE && answer == STAGING_CLAIMED; at += RIVAL_SIZE / 20)
            answer = staging_write(s, &claim, rival->bytes + at, RIVAL_SIZE / 20, at, &err);
        if (answer == STAGING_CLAIMED)
            answer = staging_end(s, &claim, rival->hash, &err);
        if (answer == STAGING_TAKEN)
            answer = staging_wait(s, file, 0, &err);
        if (answer == STAGING_FAILED || !staging_has(s, file, 0))
            atomic_fetch_add(rival->wrong, 1);
    }
    return NULL;
}

static void rivals_never_mix_their_bytes(void **state)
{
    (void)state;
    static atomic_int wrong;
    for (int round = 0; round < 12; round++) {
        static struct model m;
        void *own = NULL;
        assert_int_equal(scratch_setup(&own), 0);
        model_begin(&m, own);
        for (int i = 0; i < 8; i++)
            model_add(&m, (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h"}[i], RIVAL_SIZE);
        create(&m);
        static struct rival rivals[3];
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) {
            rivals[i] = (struct rival){.m = &m, .bytes = m.bytes[i], .wrong = &wrong};
            digest_block(m.bytes[i], RIVAL_SIZE, rivals[i].hash);
            assert_int_equal(pthread_create(&threads[i], NULL, rival_thread_main, &rivals[i]), 0);
        }
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(wrong, 0);
        for (uint32_t file = 0; file < m.plan.count; file++) {
            size_t length;
            uint8_t hash[HASH_SIZE], *there = read_whole(tree_of(&m), m.plan.files[file].path, &length);
            assert_non_null(there);
            assert_int_equal(length, RIVAL_SIZE);
            digest_block(there, length, hash);
            assert_memory_equal(hash, staging_hashes(m.staging, file), HASH_SIZE);
            free(there);
        }
        model_end(&m);
        assert_int_equal(scratch_teardown(&own), 0);
    }
}

static void a_write_that_fails_fails_its_block_and_not_the_others(void **state)
{
    static struct model m;
    struct claim claim;
    struct error err = {0};
    model_begin(&m, *state);
    model_add(&m, "a", BLOCK_SIZE + 10);
    create(&m);
    assert_int_equal(staging_begin(m.staging, 0, 1, false, &claim, &err), STAGING_CLAIMED);
    gate_errno = ENOSPC;
    assert_int_equal(put_piece(&m, &claim, &err), STAGING_FAILED);
    gate_errno = 0;
    assert_int_equal(err.code, ERROR_NO_SPACE);
    assert_non_null(strstr(err.text, "'a'"));
    assert_int_equal(staging_write(m.staging, &claim, m.bytes[0], 10, 0, &err),
                     STAGING_TAKEN); /* the claim is gone */
    assert_false(staging_has(m.staging, 0, 1));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void bytes_that_were_lost_when_they_were_flushed_are_not_forgotten(void **state)
{
    for (int small = 0; small < 2; small++) { /* noticed by fdatasync of the open file, or by syncfs */
        static struct model m;
        struct error err = {0};
        void *own = NULL;
        (void)state;
        assert_int_equal(scratch_setup(&own), 0);
        model_begin(&m, own);
        model_add(&m, "a", small ? 10 : BLOCK_SIZE + 10);
        create(&m);
        flush_errno = EIO;
        put(&m, 0, 0);
        for (int i = 0; i < 2000 && flush_errno != 0; i++)
            (void)usleep(10000); /* the recorder's next round */
        assert_int_equal(flush_errno, 0);
        assert_int_equal(staging_finish(m.staging, &err), -1);
        assert_int_equal(err.sys, EIO);
        model_end(&m);
        assert_int_equal(scratch_teardown(&own), 0);
    }
}

static void a_last_flush_that_fails_fails_the_transfer(void **state)
{
    static struct model m;
    struct error err = {0};
    model_begin(&m, *state);
    model_add(&m, "a", 10);
    create(&m);
    put(&m, 0, 0);
    flush_errno = EIO;
    assert_int_equal(staging_finish(m.staging, &err), -1);
    assert_int_equal(err.sys, EIO);
    flush_errno = 0;
    model_end(&m);
}

static void a_restart_goes_on_where_it_was(void **state)
{
    static struct model m;
    struct journal_state found;
    model_begin(&m, *state);
    model_add(&m, "sub/part.bin", 3 * BLOCK_SIZE + 1000);
    model_add(&m, "whole.bin", BLOCK_SIZE + 1);
    model_add(&m, "empty", 0);
    model_add(&m, "untouched", 5);
    create(&m);
    put(&m, 0, 0);
    put(&m, 0, 3);
    put(&m, 1, 0);
    put(&m, 1, 1);
    put(&m, 2, 0);
    staging_destroy(&m.staging);

    inspect(&m, &found);
    assert_int_equal(found.count, 3);
    for (size_t i = 0; i < found.count; i++) {
        const struct journal_file *f = &found.files[i];
        bool partial = strcmp(f->entry.path, "sub/part.bin") == 0;
        assert_int_equal(f->complete, !partial);
        assert_int_equal(f->entry.source, 7);
        assert_int_equal(f->entry.mtime, 1700000000);
        if (partial)
            assert_memory_equal(f->present, "\1\0\0\1", 4);
    }
    journal_state_release(&found);

    for (size_t i = 0; i < 3; i++)
        m.plan.files[i].from = FROM_STAGED;
    create(&m);
    assert_true(staging_has(m.staging, 0, 0));
    assert_false(staging_has(m.staging, 0, 1));
    assert_false(staging_has(m.staging, 0, 2));
    assert_true(staging_has(m.staging, 0, 3));
    assert_true(staging_has(m.staging, 1, 1));
    assert_true(staging_has(m.staging, 2, 0));
    assert_false(staging_has(m.staging, 3, 0));
    put(&m, 0, 2);
    staging_destroy(&m.staging); /* and once more */

    create(&m);
    assert_true(staging_has(m.staging, 0, 0));
    assert_true(staging_has(m.staging, 0, 2));
    assert_true(staging_has(m.staging, 0, 3));
    assert_false(staging_has(m.staging, 0, 1));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void the_order_of_the_plan_may_change_between_runs(void **state)
{
    static struct model m;
    model_begin(&m, *state);
    model_add(&m, "a", 10);
    model_add(&m, "b", 20);
    model_add(&m, "c", BLOCK_SIZE + 3);
    create(&m);
    put(&m, 2, 1);
    put(&m, 1, 0);
    put(&m, 0, 0);
    staging_destroy(&m.staging);
    struct file_entry entry = m.plan.files[0];
    uint8_t *bytes = m.bytes[0];
    m.plan.files[0] = m.plan.files[2];
    m.bytes[0] = m.bytes[2];
    m.plan.files[2] = entry;
    m.bytes[2] = bytes;
    set_from(&m, FROM_STAGED);
    create(&m);
    assert_true(staging_has(m.staging, 0, 1));
    assert_false(staging_has(m.staging, 0, 0));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void what_the_plan_does_not_take_over_is_removed(void **state)
{
    static struct model m;
    model_begin(&m, *state);
    model_add(&m, "sub/a", BLOCK_SIZE + 10);
    model_add(&m, "gone/deep/b", 20);
    create(&m);
    put(&m, 0, 0);
    put(&m, 1, 0);
    write_file(tree_of(&m), "stray", "x", 1);
    assert_int_equal(symlinkat("/etc", tree_of(&m), "link"), 0);
    assert_int_equal(mkdirat(tree_of(&m), "hollow", 0777), 0);
    staging_destroy(&m.staging);
    m.plan.files[0].from = FROM_STAGED;
    m.plan.files[1].from = FROM_SEND;
    create(&m);
    assert_true(staging_has(m.staging, 0, 0));
    assert_false(staging_has(m.staging, 1, 0));
    assert_int_equal(count_names(&m), 1); /* the temporary file of sub/a */
    assert_false(is_there(tree_of(&m), "gone"));
    assert_false(is_there(tree_of(&m), "hollow"));
    assert_true(access("/etc", F_OK) == 0);
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void staged_without_an_offer_is_a_violation(void **state)
{
    static struct model m;
    struct error err = {0};
    model_begin(&m, *state);
    model_add(&m, "a", 10);
    create(&m);
    put(&m, 0, 0);
    staging_destroy(&m.staging);
    set_from(&m, FROM_STAGED);
    m.plan.files[0].size = 11;
    assert_int_equal(try_create(&m, IO_AUTO, &err), -1);
    assert_int_equal(err.code, ERROR_PROTOCOL);
    m.plan.files[0].size = 10;
    char *path = m.plan.files[0].path;
    m.plan.files[0].path = (char *)"b";
    assert_int_equal(try_create(&m, IO_AUTO, &err), -1);
    assert_int_equal(err.code, ERROR_PROTOCOL);
    m.plan.files[0].path = path;
    create(&m); /* and what was offered survives both */
    finish(&m);
    model_end(&m);
}

/* -- what a restart must not believe -- */

/* Puts all blocks but the second of a file of three and restarts. Returns the path of its temporary file. */
static char *leave_partial(struct model *m, struct scratch *scratch)
{
    struct journal_state found;
    model_begin(m, scratch);
    model_add(m, "part.bin", 2 * BLOCK_SIZE + 1000);
    create(m);
    put(m, 0, 0);
    put(m, 0, 2);
    staging_destroy(&m->staging);
    inspect(m, &found);
    assert_int_equal(found.count, 1);
    assert_memory_equal(found.files[0].present, "\1\0\1", 3);
    char *path = NULL;
    assert_true(asprintf(&path, "s/tree/%s", found.files[0].temporary) > 0);
    journal_state_release(&found);
    return path;
}

static void complete_after_restart(struct model *m)
{
    set_from(m, FROM_STAGED);
    create(m);
    put_missing(m);
    finish(m);
}

static void a_damaged_byte_costs_its_block_only(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    char *path = leave_partial(&m, scratch);
    int fd = openat(scratch->fd, path, O_RDWR);
    uint8_t byte = (uint8_t)(m.bytes[0][1000] ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, 1000), 1);
    (void)close(fd);
    inspect(&m, &found);
    assert_int_equal(found.count, 1);
    assert_memory_equal(found.files[0].present, "\0\0\1", 3);
    journal_state_release(&found);
    complete_after_restart(&m);
    free(path);
    model_end(&m);
}

static void a_temporary_file_cut_short_costs_its_tail(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    char *path = leave_partial(&m, scratch);
    int fd = openat(scratch->fd, path, O_RDWR);
    assert_int_equal(ftruncate(fd, (off_t)(2 * BLOCK_SIZE + 999)), 0);
    (void)close(fd);
    inspect(&m, &found);
    assert_memory_equal(found.files[0].present, "\1\0\0", 3);
    journal_state_release(&found);
    complete_after_restart(&m);
    free(path);
    model_end(&m);
}

static void a_temporary_file_that_is_too_long_is_cut_to_size(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    char *path = leave_partial(&m, scratch);
    int fd = openat(scratch->fd, path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    (void)close(fd);
    complete_after_restart(&m);
    free(path);
    model_end(&m);
}

static void a_temporary_file_that_is_gone_or_a_link_is_forgotten(void **state)
{
    for (int link = 0; link < 2; link++) {
        static struct model m;
        struct journal_state found;
        void *own = NULL;
        (void)state;
        assert_int_equal(scratch_setup(&own), 0);
        struct scratch *scratch = own;
        char *path = leave_partial(&m, scratch);
        if (link) {
            assert_int_equal(renameat(scratch->fd, path, scratch->fd, "elsewhere"), 0);
            assert_int_equal(symlinkat("../../elsewhere", scratch->fd, path), 0);
        } else {
            assert_int_equal(unlinkat(scratch->fd, path, 0), 0);
        }
        inspect(&m, &found);
        assert_int_equal(found.count, 0);
        journal_state_release(&found);
        create(&m);
        assert_false(staging_has(m.staging, 0, 0));
        put_missing(&m);
        finish(&m);
        assert_int_equal(is_there(scratch->fd, "elsewhere"), link);
        free(path);
        model_end(&m);
        assert_int_equal(scratch_teardown(&own), 0);
    }
}

static void a_complete_file_that_was_touched_is_forgotten(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    model_begin(&m, scratch);
    model_add(&m, "mtime", 10);
    model_add(&m, "size", 20);
    model_add(&m, "gone", 30);
    model_add(&m, "good", 40);
    create(&m);
    put_missing(&m);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1700000000, .tv_nsec = 1}};
    assert_int_equal(utimensat(tree_of(&m), "mtime", times, 0), 0);
    assert_int_equal(unlinkat(tree_of(&m), "gone", 0), 0);
    write_file(tree_of(&m), "size", "longer than it was before", 25);
    times[1].tv_nsec = 123456789;
    assert_int_equal(utimensat(tree_of(&m), "size", times, 0), 0);
    staging_destroy(&m.staging);
    inspect(&m, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.files[0].entry.path, "good");
    journal_state_release(&found);
    m.plan.files[3].from = FROM_STAGED;
    create(&m);
    assert_false(staging_has(m.staging, 0, 0));
    assert_false(staging_has(m.staging, 1, 0));
    assert_false(staging_has(m.staging, 2, 0));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static bool stop_inspection(void *context, uint64_t bytes)
{
    *(uint64_t *)context += bytes;
    return false;
}

static void an_inspection_can_be_stopped(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    struct error err;
    uint64_t bytes = 0;
    char *path = leave_partial(&m, scratch);
    int folder = open_folder(&m);
    assert_int_equal(staging_tree_inspect(folder, &found, stop_inspection, &bytes, &err), -1);
    assert_int_equal(err.code, ERROR_INTERRUPTED);
    assert_int_equal(found.count, 0);
    assert_int_equal(bytes, BLOCK_SIZE);
    (void)close(folder);
    free(path);
    model_end(&m);
}

/* Between the last rename and its record: the file has its name, and the journal knows only of blocks. */
static void a_crash_after_the_name_and_before_its_record_loses_nothing(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal *journal = NULL;
    struct error err;
    uint8_t hashes[3 * HASH_SIZE];
    model_begin(&m, scratch);
    model_add(&m, "sub/full", 2 * BLOCK_SIZE + 5);
    create(&m);
    put_missing(&m);
    staging_destroy(&m.staging);
    for (uint64_t b = 0; b < 3; b++)
        digest_block(block_at(&m, 0, b), length_of(&m, 0, b), hashes + b * HASH_SIZE);
    int folder = open_folder(&m);
    assert_int_equal(journal_create(&journal, folder, &err), 0);
    assert_int_equal(journal_file(journal, 0, &m.plan.files[0], "sub/.full.0123456789abcdef", &err), 0);
    assert_int_equal(journal_blocks(journal, 0, 0, hashes, 3, &err), 0);
    assert_int_equal(journal_commit(journal, &err), 0);
    journal_destroy(&journal);
    (void)close(folder);
    set_from(&m, FROM_STAGED);
    create(&m);
    finish(&m); /* nothing had to be put again */
    model_end(&m);
}

/* The death of the process: no destroy, no last record. The parent finds what was recorded before. */
static void what_was_recorded_before_a_kill_is_there(void **state)
{
    static struct model m;
    struct journal_state found;
    struct scratch *scratch = *state;
    model_begin(&m, scratch);
    model_add(&m, "part", 2 * BLOCK_SIZE + 5);
    model_add(&m, "small", 5);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct claim claim;
        struct error err;
        struct stat st;
        struct staging_options options = {.io = IO_BUFFERED};
        struct journal_state none = {0};
        int folder = open_folder(&m);
        if (staging_create(&m.staging, folder, &m.plan, &none, &options, &err) < 0 ||
            staging_start(m.staging, &err) < 0)
            _exit(1);
        if (staging_begin(m.staging, 0, 1, false, &claim, &err) != STAGING_CLAIMED ||
            put_piece(&m, &claim, &err) < 0 || end_claim(&m, &claim, &err) < 0 ||
            staging_begin(m.staging, 1, 0, false, &claim, &err) != STAGING_CLAIMED ||
            put_piece(&m, &claim, &err) < 0 || end_claim(&m, &claim, &err) < 0)
            _exit(2);
        for (int i = 0; i < 3000; i++) { /* until the journal has grown beyond its magic bytes */
            if (fstatat(folder, JOURNAL_NAME, &st, 0) == 0 && st.st_size > 180)
                break;
            (void)usleep(10000);
        }
        if (staging_begin(m.staging, 0, 0, false, &claim, &err) != STAGING_CLAIMED ||
            put_piece(&m, &claim, &err) < 0)
            _exit(3);
        _exit(0); /* in the middle of a block */
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    inspect(&m, &found);
    assert_int_equal(found.count, 2);
    journal_state_release(&found);
    set_from(&m, FROM_STAGED);
    create(&m);
    assert_false(staging_has(m.staging, 0, 0));
    assert_true(staging_has(m.staging, 0, 1));
    assert_true(staging_has(m.staging, 1, 0));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

/* -- names -- */

static void names_up_to_the_limit_work_and_survive_a_restart(void **state)
{
    static struct model m;
    char names[4][256], path[600];
    static const size_t lengths[] = {255, 254, 240};
    model_begin(&m, *state);
    for (size_t i = 0; i < 3; i++) {
        memset(names[i], 'a' + (int)i, lengths[i]);
        names[i][lengths[i]] = '\0';
        model_add(&m, names[i], BLOCK_SIZE + i);
    }
    for (size_t i = 0; i < 85; i++)
        memcpy(names[3] + 3 * i, "\xed\x95\x9c", 3);
    names[3][255] = '\0';
    (void)snprintf(path, sizeof path, "%s/%s", names[3], names[3]);
    model_add(&m, path, 300);
    create(&m);
    for (uint32_t i = 0; i < 3; i++)
        put(&m, i, 0);
    put(&m, 3, 0);
    staging_destroy(&m.staging);
    m.plan.files[1].from = m.plan.files[2].from = m.plan.files[3].from = FROM_STAGED;
    create(&m);
    assert_true(staging_has(m.staging, 1, 0));
    assert_true(staging_has(m.staging, 3, 0));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void paths_of_the_greatest_length_work(void **state)
{
    static struct model m;
    char path[LIMIT_PATH + 1];
    struct error err = {0};
    model_begin(&m, *state);
    memset(path, 'p', sizeof path - 1);
    for (size_t i = 255; i < LIMIT_PATH; i += 256)
        path[i] = '/';
    path[LIMIT_PATH] = '\0';
    assert_true(path[LIMIT_PATH - 1] != '/');
    model_add(&m, path, 10);
    create(&m);
    struct claim claim;
    if (staging_begin(m.staging, 0, 0, false, &claim, &err) != STAGING_CLAIMED)
        fail_msg("%s", err.text);
    assert_int_equal(put_piece(&m, &claim, &err), STAGING_CLAIMED);
    assert_int_equal(end_claim(&m, &claim, &err), STAGING_CLAIMED);
    assert_true(staging_is_complete(m.staging));
    staging_destroy(&m.staging);
    set_from(&m, FROM_STAGED);
    create(&m); /* its temporary path is longer still, and must do no harm to the journal */
    assert_true(staging_is_complete(m.staging));
    model_end(&m);
}

static void a_name_that_is_taken_is_never_replaced(void **state)
{
    static struct model m;
    struct claim claim;
    struct error err = {0};
    model_begin(&m, *state);
    model_add(&m, "a", 10);
    model_add(&m, "b", 10);
    create(&m);
    write_file(tree_of(&m), "a", "theirs", 6);
    assert_int_equal(staging_begin(m.staging, 0, 0, false, &claim, &err), STAGING_CLAIMED);
    assert_int_equal(put_piece(&m, &claim, &err), STAGING_CLAIMED);
    assert_int_equal(end_claim(&m, &claim, &err), STAGING_FAILED);
    assert_int_equal(err.code, ERROR_FILE);
    assert_non_null(strstr(err.text, "'a'"));
    assert_true(file_equals(tree_of(&m), "a", "theirs", 6));
    put(&m, 1, 0);
    assert_false(staging_is_complete(m.staging));
    assert_int_equal(count_names(&m), 2); /* and its temporary file is gone */
    model_end(&m);
}

static void a_file_that_cannot_be_made_fails_by_name_and_alone(void **state)
{
    static struct model m;
    struct claim claim;
    struct error err = {0};
    struct scratch *scratch = *state;
    model_begin(&m, scratch);
    model_add(&m, "afile/x", 10);
    model_add(&m, "alink/x", 10);
    model_add(&m, "good", 10);
    create(&m);
    write_file(tree_of(&m), "afile", "", 0);
    int outside = make_dir(scratch->fd, "outside");
    assert_int_equal(symlinkat("../../outside", tree_of(&m), "alink"), 0);
    for (uint32_t file = 0; file < 2; file++) {
        assert_int_equal(staging_begin(m.staging, file, 0, false, &claim, &err), STAGING_FAILED);
        assert_int_equal(err.code, ERROR_FILE);
        assert_non_null(strstr(err.text, m.plan.files[file].path));
        assert_true(err.sys == ENOTDIR || err.sys == ELOOP);
        assert_int_equal(staging_begin(m.staging, file, 0, false, &claim, &err),
                         STAGING_FAILED); /* it stays failed */
    }
    put(&m, 2, 0);
    assert_false(staging_is_complete(m.staging));
    assert_int_equal(unlinkat(scratch->fd, "outside", AT_REMOVEDIR), 0); /* nothing was written there */
    (void)close(outside);
    model_end(&m);
}

static void a_tree_that_vanished_is_an_error_of_the_file(void **state)
{
    static struct model m;
    struct claim claim;
    struct error err = {0};
    struct scratch *scratch = *state;
    model_begin(&m, scratch);
    model_add(&m, "sub/x", 10);
    create(&m);
    assert_int_equal(unlinkat(scratch->fd, "s/tree", AT_REMOVEDIR), 0);
    assert_int_equal(staging_begin(m.staging, 0, 0, false, &claim, &err), STAGING_FAILED);
    assert_int_equal(err.sys, ENOENT);
    assert_non_null(strstr(err.text, "'sub/x'"));
    model_end(&m);
}

static void linked_files_share_the_stored_bytes(void **state)
{
    static struct model m;
    struct scratch *scratch = *state;
    struct error err = {0};
    struct stat stored, linked;
    uint8_t hashes[2 * HASH_SIZE];
    model_begin(&m, scratch);
    model_add(&m, "sub/known", BLOCK_SIZE + 9);
    model_add(&m, "unknown", 5);
    model_add(&m, "missing/x", 5);
    set_from(&m, FROM_LIVE);
    int live = make_dir(scratch->fd, "live"), sub = make_dir(live, "sub");
    write_file(sub, "known", m.bytes[0], BLOCK_SIZE + 9);
    write_file(live, "unknown", m.bytes[1], 5);
    fill(hashes, sizeof hashes, 3);
    create(&m);
    assert_int_equal(staging_link(m.staging, 0, live, hashes, &err), 0);
    assert_int_equal(staging_link(m.staging, 1, live, NULL, &err), 0);
    assert_int_equal(staging_link(m.staging, 2, live, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_FILE);
    assert_non_null(strstr(err.text, "'missing/x'"));
    assert_memory_equal(staging_hashes(m.staging, 0), hashes, sizeof hashes);
    assert_null(staging_hashes(m.staging, 1));
    assert_true(staging_has(m.staging, 0, 1));
    assert_int_equal(fstatat(sub, "known", &stored, 0), 0);
    assert_int_equal(fstatat(tree_of(&m), "sub/known", &linked, 0), 0);
    assert_int_equal(stored.st_ino, linked.st_ino);
    assert_false(staging_is_complete(m.staging));
    (void)close(live);
    (void)close(sub);
    model_end(&m);
}

static void names_are_looked_for_exactly(void **state)
{
    struct model m;
    struct error err = {0};
    model_begin(&m, *state);
    model_add(&m, "Config.json", 3);
    model_add(&m, "config.json", 4);
    create(&m);
    put_missing(&m);
    assert_int_equal(staging_tree_check_names(tree_of(&m), &m.plan, &err), 0);
    /* What a file system that folds case makes of the two. */
    assert_int_equal(unlinkat(tree_of(&m), "config.json", 0), 0);
    assert_int_equal(staging_finish(m.staging, &err), -1);
    assert_int_equal(err.code, ERROR_FILE);
    assert_non_null(strstr(err.text, "'config.json'"));
    assert_int_equal(staging_tree_check_names(-1, &m.plan, &err), -1);
    model_end(&m);
}

static void an_empty_plan_is_complete(void **state)
{
    static struct model m;
    model_begin(&m, *state);
    create(&m);
    finish(&m);
    model_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(a_file_gets_its_name_with_its_last_block),
        scratch_test(a_block_that_is_there_is_not_claimed_again),
        scratch_test(a_second_stream_takes_the_claim_over_and_the_first_discards),
        scratch_test(a_stream_that_was_ousted_learns_what_became_of_the_block),
        scratch_test(an_abandoned_block_can_be_claimed_by_anyone),
        scratch_test(taking_over_waits_for_a_write_that_is_under_way),
        scratch_test(two_streams_that_meet_while_the_file_is_made_get_one_claim),
        cmocka_unit_test(rivals_never_mix_their_bytes),
        scratch_test(a_write_that_fails_fails_its_block_and_not_the_others),
        cmocka_unit_test(bytes_that_were_lost_when_they_were_flushed_are_not_forgotten),
        scratch_test(a_last_flush_that_fails_fails_the_transfer),
        scratch_test(a_restart_goes_on_where_it_was),
        scratch_test(the_order_of_the_plan_may_change_between_runs),
        scratch_test(what_the_plan_does_not_take_over_is_removed),
        scratch_test(staged_without_an_offer_is_a_violation),
        scratch_test(a_damaged_byte_costs_its_block_only),
        scratch_test(a_temporary_file_cut_short_costs_its_tail),
        scratch_test(a_temporary_file_that_is_too_long_is_cut_to_size),
        cmocka_unit_test(a_temporary_file_that_is_gone_or_a_link_is_forgotten),
        scratch_test(a_complete_file_that_was_touched_is_forgotten),
        scratch_test(an_inspection_can_be_stopped),
        scratch_test(a_crash_after_the_name_and_before_its_record_loses_nothing),
        scratch_test(what_was_recorded_before_a_kill_is_there),
        scratch_test(names_up_to_the_limit_work_and_survive_a_restart),
        scratch_test(paths_of_the_greatest_length_work),
        scratch_test(a_name_that_is_taken_is_never_replaced),
        scratch_test(a_file_that_cannot_be_made_fails_by_name_and_alone),
        scratch_test(a_tree_that_vanished_is_an_error_of_the_file),
        scratch_test(linked_files_share_the_stored_bytes),
        scratch_test(names_are_looked_for_exactly),
        scratch_test(an_empty_plan_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
