/* A model on its way in: claims, completion, failures and names. */
#include "staging_model.h"

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
