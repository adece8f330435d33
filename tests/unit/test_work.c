/* The queue: in which order blocks are handed out, and what becomes of those that fail or come back. */
#include "work_fixture.h"

static void the_largest_file_comes_first_and_front_to_back(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){1, 3, 2, 3}, 4, 1);
    expect(&f, 0, 1, 0);
    expect(&f, 0, 1, 1);
    expect(&f, 0, 1, 2);
    expect(&f, 0, 3, 0); /* of equal size: in the order of the plan */
    expect(&f, 0, 3, 1);
    expect(&f, 0, 3, 2);
    expect(&f, 0, 2, 0);
    expect(&f, 0, 2, 1);
    expect(&f, 0, 0, 0);
    struct work_item item;
    assert_int_equal(work_take(f.queue, 0, &item, 0), WORK_WAIT);
    assert_true(work_answer(f.queue, 0, 9));
    assert_int_equal(work_take(f.queue, 0, &item, 0), WORK_DONE);
    end(&f);
}

static void each_stream_gets_a_file_of_its_own_while_there_are_any(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){4, 5, 6}, 3, 3);
    expect(&f, 0, 2, 0);
    expect(&f, 1, 1, 0);
    expect(&f, 2, 0, 0);
    expect(&f, 1, 1, 1);
    expect(&f, 0, 2, 1);
    end(&f);
}

static void an_idle_stream_takes_the_back_half_of_the_largest_remainder(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){9, 4}, 2, 4);
    expect(&f, 0, 0, 0); /* 8 left: 1 to 8 */
    expect(&f, 1, 1, 0); /* 3 left: 1 to 3 */
    expect(&f, 2, 0, 5); /* the back half of 8: 5 to 8 */
    expect(&f, 3, 0, 3); /* of 1 to 4: 3 and 4 */
    expect(&f, 0, 0, 1);
    expect(&f, 0, 0, 2);
    expect(&f, 0, 1, 2); /* its own run ended at 2; of stream 1's 1 to 3 the back half */
    end(&f);
}

static void the_last_block_of_a_remainder_can_be_taken_too(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, (uint64_t[]){2}, 1, 2);
    expect(&f, 0, 0, 0);
    expect(&f, 1, 0, 1);
    assert_int_equal(work_take(f.queue, 0, &item, 0), WORK_WAIT);
    end(&f);
}

/* However many streams ask in whatever order: every block once, as whole blocks of their files. */
static void splitting_neither_loses_nor_doubles_a_block(void **state)
{
    (void)state;
    for (unsigned streams = 1; streams <= 64; streams += 7) {
        struct fixture f;
        uint8_t seen[3][400] = {{0}};
        begin(&f, (uint64_t[]){257, 1, 390}, 3, streams);
        uint32_t random = 1 + streams;
        for (unsigned i = 0; i < 257 + 1 + 390; i++) {
            random = random * 1103515245u + 12345u;
            struct work_item item = take(&f, (random >> 16) % streams);
            assert_true(item.file < 3 && item.block < block_count(f.plan.files[item.file].size));
            assert_int_equal(seen[item.file][item.block]++, 0);
        }
        end(&f);
    }
}

static void an_empty_file_is_one_block_of_no_bytes(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, (uint64_t[]){0, 0}, 2, 2);
    assert_int_equal(work_pieces(f.queue), 2);
    assert_int_equal(work_bytes_left(f.queue), 0);
    expect(&f, 0, 0, 0);
    expect(&f, 1, 1, 0);
    answer(&f, 0);
    answer(&f, 1);
    assert_int_equal(work_files_done(f.queue), 2);
    assert_int_equal(work_take(f.queue, 0, &item, 0), WORK_DONE);
    end(&f);
}

static void no_files_are_done_at_once(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, NULL, 0, 3);
    assert_true(work_is_done(f.queue));
    assert_int_equal(work_take(f.queue, 2, &item, 1000), WORK_DONE);
    end(&f);
}

static void files_that_are_not_wanted_are_never_handed_out(void **state)
{
    (void)state;
    struct listing plan = {0};
    plan_add(&plan, "a", 3 * BLOCK_SIZE, FROM_LIVE);
    plan_add(&plan, "b", 5, FROM_SEND);
    struct work_queue *queue = work_create(&plan, (uint8_t[]){0, 1}, 1);
    struct work_item item;
    assert_int_equal(work_bytes_left(queue), 5);
    assert_int_equal(work_take(queue, 0, &item, 0), WORK_ITEM);
    assert_int_equal(item.file, 1);
    assert_true(work_answer(queue, 0, 1));
    assert_true(work_is_done(queue));
    work_destroy(&queue);
    listing_release(&plan);
}

static void what_is_there_already_counts_as_resumed_and_is_not_moved(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){4, 1}, 2, 1);
    work_skip(f.queue, 0, 0);
    work_skip(f.queue, 0, 2);
    work_skip(f.queue, 0, 2); /* twice is once */
    assert_int_equal(work_bytes_skipped(f.queue), 2 * BLOCK_SIZE);
    assert_int_equal(work_bytes_left(f.queue), 3 * BLOCK_SIZE);
    assert_int_equal(work_bytes_done(f.queue), 0);
    expect(&f, 0, 0, 1);
    expect(&f, 0, 0, 3);
    expect(&f, 0, 1, 0);
    assert_true(work_answer(f.queue, 0, 3));
    assert_int_equal(work_bytes_done(f.queue), 3 * BLOCK_SIZE);
    assert_int_equal(work_bytes_left(f.queue), 0);
    assert_int_equal(work_files_done(f.queue), 2);
    end(&f);
}

static void a_file_that_is_there_whole_is_passed_over(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){2, 1}, 2, 1);
    work_skip(f.queue, 0, 0);
    work_skip(f.queue, 0, 1);
    assert_int_equal(work_files_done(f.queue), 1);
    expect(&f, 0, 1, 0);
    end(&f);
}

static void what_a_dead_stream_had_goes_to_the_others(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){4}, 1, 2);
    expect(&f, 0, 0, 0);
    expect(&f, 0, 0, 1);
    answer(&f, 0); /* 0:0 is through */
    assert_int_equal(work_under_way(f.queue, 0), 1);
    work_give_back(f.queue, 0);
    assert_int_equal(work_under_way(f.queue, 0), 0);
    expect(&f, 1, 0, 1);
    expect(&f, 1, 0, 3);
    expect(&f, 1, 0, 2);
    assert_true(work_answer(f.queue, 1, 3));
    assert_true(work_is_done(f.queue));
    assert_int_equal(work_bytes_done(f.queue), 4 * BLOCK_SIZE);
    end(&f);
}

static void blocks_come_back_in_the_order_of_the_file(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){3}, 1, 2);
    take(&f, 0);
    take(&f, 0);
    take(&f, 0);
    work_give_back(f.queue, 0);
    expect(&f, 1, 0, 0);
    expect(&f, 1, 0, 1);
    expect(&f, 1, 0, 2);
    end(&f);
}

static void a_stream_that_answers_more_than_it_had_broke_the_protocol(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){3}, 1, 1);
    take(&f, 0);
    take(&f, 0);
    assert_false(work_answer(f.queue, 0, 3));
    assert_false(work_answer(f.queue, 0, UINT64_MAX));
    assert_true(work_answer(f.queue, 0, 0));
    assert_true(work_answer(f.queue, 0, 2));
    assert_false(work_answer(f.queue, 0, 1));
    end(&f);
}

static void answers_are_for_the_oldest_first(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item oldest;
    begin(&f, (uint64_t[]){40}, 1, 1);
    assert_false(work_oldest(f.queue, 0, &oldest));
    for (uint64_t b = 0; b < 40; b++) {
        expect(&f, 0, 0, b);
        if (b % 3 == 2) {
            assert_true(work_oldest(f.queue, 0, &oldest));
            assert_int_equal(oldest.block, b / 3);
            answer(&f, 0);
        }
    }
    end(&f);
}

static void a_block_that_did_not_match_is_moved_once_more(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uint64_t[]){2}, 1, 2);
    struct work_item bad = take(&f, 0);
    note(&f, 0, bad, ERROR_CORRUPT);
    assert_int_equal(work_bytes_done(f.queue), 0);
    answer(&f, 0);
    assert_int_equal(work_bytes_done(f.queue), 0);
    assert_int_equal(work_pieces(f.queue), 2);
    expect(&f, 1, 0, 0); /* any stream may take it */
    answer(&f, 1);
    assert_int_equal(work_bytes_done(f.queue), BLOCK_SIZE);
    expect(&f, 1, 0, 1);
    answer(&f, 1);
    assert_int_equal(work_files_done(f.queue), 1);
    size_t count;
    (void)work_failures(f.queue, &count);
    assert_int_equal(count, 0);
    end(&f);
}

static void a_block_that_does_not_match_twice_fails_its_file(void **state)
{
    (void)state;
    struct fixture f;
    size_t count;
    begin(&f, (uint64_t[]){3, 1}, 2, 1);
    expect(&f, 0, 0, 0);
    answer(&f, 0);
    struct work_item bad = take(&f, 0);
    assert_int_equal(bad.block, 1);
    note(&f, 0, bad, ERROR_CORRUPT);
    answer(&f, 0);
    expect(&f, 0, 0, 1);
    note(&f, 0, bad, ERROR_CORRUPT);
    answer(&f, 0);
    const struct work_failure *failures = work_failures(f.queue, &count);
    assert_int_equal(count, 1);
    assert_int_equal(failures[0].file, 0);
    assert_int_equal(failures[0].block, 1);
    assert_int_equal(failures[0].error.code, ERROR_CORRUPT);
    assert_string_equal(failures[0].error.text, "noted '0'");
    assert_int_equal(work_files_done(f.queue), 0);
    assert_int_equal(work_bytes_left(f.queue), BLOCK_SIZE); /* the other file's */
    expect(&f, 0, 1, 0);                                    /* and nothing of the failed one any more */
    answer(&f, 0);
    assert_true(work_is_done(f.queue));
    assert_int_equal(work_files_done(f.queue), 1);
    end(&f);
}

static void any_other_trouble_fails_the_file_at_once(void **state)
{
    (void)state;
    struct fixture f;
    size_t count;
    begin(&f, (uint64_t[]){4, 2}, 2, 2);
    struct work_item item = take(&f, 0);
    expect(&f, 0, 0, 1);
    note(&f, 0, item, ERROR_CHANGED);
    answer(&f, 0); /* fails file 0 while its block 1 is still under way */
    assert_int_equal(work_under_way(f.queue, 0), 1);
    expect(&f, 1, 1, 0);
    answer(&f, 0);
    expect(&f, 0, 1, 1);
    const struct work_failure *failures = work_failures(f.queue, &count);
    assert_int_equal(count, 1);
    assert_int_equal(failures[0].error.code, ERROR_CHANGED);
    assert_int_equal(work_bytes_done(f.queue),
                     0); /* a block of a failed file that arrives later does not count */
    end(&f);
}

static void only_the_first_failure_of_a_file_is_kept(void **state)
{
    (void)state;
    struct fixture f;
    size_t count;
    begin(&f, (uint64_t[]){3, 1}, 2, 1);
    struct work_item first = take(&f, 0), second = take(&f, 0);
    note(&f, 0, first, ERROR_FILE);
    note(&f, 0, second, ERROR_CHANGED);
    answer(&f, 0);
    answer(&f, 0);
    const struct work_failure *failures = work_failures(f.queue, &count);
    assert_int_equal(count, 1);
    assert_int_equal(failures[0].error.code, ERROR_FILE);
    assert_int_equal(work_bytes_left(f.queue), BLOCK_SIZE);
    assert_int_equal(work_pieces(f.queue), 1);
    end(&f);
}

static void a_note_is_forgotten_when_its_stream_dies(void **state)
{
    (void)state;
    struct fixture f;
    size_t count;
    begin(&f, (uint64_t[]){1}, 1, 2);
    struct work_item item = take(&f, 0);
    note(&f, 0, item, ERROR_FILE);
    work_give_back(f.queue, 0);
    expect(&f, 1, 0, 0);
    answer(&f, 1);
    (void)work_failures(f.queue, &count);
    assert_int_equal(count, 0);
    assert_int_equal(work_files_done(f.queue), 1);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_file_comes_first_and_front_to_back),
        cmocka_unit_test(each_stream_gets_a_file_of_its_own_while_there_are_any),
        cmocka_unit_test(an_idle_stream_takes_the_back_half_of_the_largest_remainder),
        cmocka_unit_test(the_last_block_of_a_remainder_can_be_taken_too),
        cmocka_unit_test(splitting_neither_loses_nor_doubles_a_block),
        cmocka_unit_test(an_empty_file_is_one_block_of_no_bytes),
        cmocka_unit_test(no_files_are_done_at_once),
        cmocka_unit_test(files_that_are_not_wanted_are_never_handed_out),
        cmocka_unit_test(what_is_there_already_counts_as_resumed_and_is_not_moved),
        cmocka_unit_test(a_file_that_is_there_whole_is_passed_over),
        cmocka_unit_test(what_a_dead_stream_had_goes_to_the_others),
        cmocka_unit_test(blocks_come_back_in_the_order_of_the_file),
        cmocka_unit_test(a_stream_that_answers_more_than_it_had_broke_the_protocol),
        cmocka_unit_test(answers_are_for_the_oldest_first),
        cmocka_unit_test(a_block_that_did_not_match_is_moved_once_more),
        cmocka_unit_test(a_block_that_does_not_match_twice_fails_its_file),
        cmocka_unit_test(any_other_trouble_fails_the_file_at_once),
        cmocka_unit_test(only_the_first_failure_of_a_file_is_kept),
        cmocka_unit_test(a_note_is_forgotten_when_its_stream_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
