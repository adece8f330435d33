/* The queue over time and threads: overdue blocks, waiting, and many threads at once. */
#include "work_fixture.h"

/* Asks until it gets something; how long that took. */
static uint64_t take_late(struct fixture *f, unsigned stream, struct work_item *item)
{
    uint64_t start = clock_ms();
    enum work_state got = WORK_WAIT;
    while (got == WORK_WAIT && clock_ms() - start < 20000)
        got = work_take(f->queue, stream, item, 20);
    assert_int_equal(got, WORK_ITEM);
    return clock_ms() - start;
}

static void an_overdue_block_is_moved_once_more_and_counts_once(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, (uint64_t[]){1}, 1, 2);
    expect(&f, 0, 0, 0);
    assert_int_equal(work_take(f.queue, 1, &item, 0), WORK_WAIT); /* too early */
    assert_true(take_late(&f, 1, &item) >= WORK_SLOW_MS - 50);
    assert_int_equal(item.file, 0);
    assert_int_equal(item.block, 0);
    answer(&f, 1);
    assert_int_equal(work_bytes_done(f.queue), BLOCK_SIZE);
    assert_true(work_is_done(f.queue));
    answer(&f, 0); /* the sick stream wakes up */
    assert_int_equal(work_bytes_done(f.queue), BLOCK_SIZE);
    assert_int_equal(work_bytes_left(f.queue), 0);
    assert_int_equal(work_files_done(f.queue), 1);
    assert_int_equal(work_pieces(f.queue), 0);
    end(&f);
}

/* A disk that stalls makes all streams look sick. */
static void one_block_at_a_time_is_moved_once_more(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, (uint64_t[]){2, 2}, 2, 4);
    expect(&f, 0, 0, 0);
    expect(&f, 1, 1, 0);
    expect(&f, 0, 0, 1);
    expect(&f, 1, 1, 1);
    assert_true(take_late(&f, 2, &item) >= WORK_SLOW_MS - 50);
    unsigned owner = item.file;                                   /* stream 0 has file 0, stream 1 file 1 */
    assert_int_equal(work_take(f.queue, 3, &item, 0), WORK_WAIT); /* not two at a time */
    answer(&f, 2);
    assert_int_equal(work_take(f.queue, 2, &item, 0), WORK_WAIT); /* nor one right behind the other */
    assert_true(work_answer(f.queue, owner, 2)); /* its own copy comes, too: that was in vain … */
    /* … so the other stream counts as sick after twice the time, half of which is over. */
    assert_true(take_late(&f, 2, &item) >= WORK_SLOW_MS - 150);
    answer(&f, 2);
    end(&f);
}

static void a_stream_never_doubles_its_own_blocks(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, (uint64_t[]){1}, 1, 1);
    take(&f, 0);
    assert_int_equal(work_take(f.queue, 0, &item, WORK_SLOW_MS + 100), WORK_WAIT);
    assert_int_equal(work_take(f.queue, 0, &item, 0), WORK_WAIT);
    end(&f);
}

static void a_wait_ends_after_its_time(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, (uint64_t[]){1}, 1, 2);
    take(&f, 0);
    uint64_t start = clock_ms();
    assert_int_equal(work_take(f.queue, 1, &item, 60), WORK_WAIT);
    assert_true(clock_ms() - start >= 59);
    end(&f);
}

static void *take_with_patience(void *context)
{
    struct fixture *f = context;
    struct work_item item;
    uint64_t start = clock_ms();
    enum work_state got = work_take(f->queue, 1, &item, 30000);
    return (void *)(uintptr_t)(clock_ms() - start < 20000 ? got : WORK_WAIT);
}

static void a_waiting_stream_wakes_up_for_what_is_given_back_and_for_the_end(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct fixture f;
        pthread_t thread;
        void *got;
        begin(&f, (uint64_t[]){1}, 1, 2);
        struct work_item item = take(&f, 0);
        assert_int_equal(pthread_create(&thread, NULL, take_with_patience, &f), 0);
        (void)usleep(20000);
        if (round == 0)
            work_give_back(f.queue, 0);
        else if (round == 1)
            work_stop(f.queue);
        else if (round == 2)
            answer(&f, 0);
        else {
            note(&f, 0, item, ERROR_CORRUPT);
            answer(&f, 0);
        }
        pthread_join(thread, &got);
        assert_int_equal((uintptr_t)got, round == 0 || round == 3 ? WORK_ITEM : WORK_DONE);
        end(&f);
    }
}

static void a_stopped_queue_hands_out_nothing(void **state)
{
    (void)state;
    struct fixture f;
    struct work_item item;
    begin(&f, (uint64_t[]){5}, 1, 2);
    take(&f, 0);
    work_stop(f.queue);
    assert_true(work_is_done(f.queue));
    assert_int_equal(work_take(f.queue, 1, &item, 1000), WORK_DONE);
    assert_int_equal(work_bytes_left(f.queue), 5 * BLOCK_SIZE);
    end(&f);
}

/* -- many threads -- */

#define HAMMER_STREAMS 8

struct hammer {
    struct fixture *f;
    unsigned stream;
    atomic_uint *moved; /* how often each block was answered well */
    const uint64_t *first;
    atomic_uint *wrong;
    bool sick; /* gives back, notes bad blocks */
};

static void *hammer_thread_main(void *context)
{
    struct hammer *h = context;
    struct work_queue *q = h->f->queue;
    uint32_t random = 77 + h->stream;
    uint64_t before = 0;
    struct work_item mine[4], item;
    size_t count = 0;
    for (;;) {
        enum work_state got = work_take(q, h->stream, &item, 2);
        if (got == WORK_DONE)
            break;
        random = random * 1103515245u + 12345u;
        if (got == WORK_ITEM)
            mine[count++] = item;
        if (work_under_way(q, h->stream) != count)
            atomic_fetch_add(h->wrong, 1);
        if (h->sick && count > 0 && (random >> 16) % 16 == 0) {
            work_give_back(q, h->stream);
            count = 0;
        } else if (count == 4 || (count > 0 && got == WORK_WAIT)) {
            for (size_t i = 0; i < count; i++)
                atomic_fetch_add(&h->moved[h->first[mine[i].file] + mine[i].block], 1);
            if (!work_answer(q, h->stream, count))
                atomic_fetch_add(h->wrong, 1);
            count = 0;
        }
        uint64_t done = work_bytes_done(q);
        if (done < before || done > listing_bytes(&h->f->plan))
            atomic_fetch_add(h->wrong, 1);
        before = done;
        if ((random >> 20) % 8 == 0)
            (void)sched_yield();
    }
    return NULL;
}

static void eight_threads_move_every_block_exactly_once(void **state)
{
    (void)state;
    for (int sick = 0; sick < 2; sick++) {
        struct fixture f;
        uint64_t sizes[40], first[41] = {0};
        for (size_t i = 0; i < 40; i++) {
            sizes[i] = i == 7 ? 5000 : i % 13;
            first[i + 1] = first[i] + (sizes[i] ? sizes[i] : 1);
        }
        begin(&f, sizes, 40, HAMMER_STREAMS);
        atomic_uint *moved = calloc(first[40], sizeof *moved);
        atomic_uint wrong = 0;
        struct hammer hammers[HAMMER_STREAMS];
        pthread_t threads[HAMMER_STREAMS];
        assert_non_null(moved);
        uint64_t start = clock_ms();
        for (unsigned s = 0; s < HAMMER_STREAMS; s++) {
            hammers[s] = (struct hammer){&f, s, moved, first, &wrong, sick != 0};
            assert_int_equal(pthread_create(&threads[s], NULL, hammer_thread_main, &hammers[s]), 0);
        }
        for (unsigned s = 0; s < HAMMER_STREAMS; s++)
            pthread_join(threads[s], NULL);
        assert_int_equal(wrong, 0);
        bool may_double =
            clock_ms() - start >= WORK_SLOW_MS; /* a thread may have slept on a block on a busy machine */
        for (uint64_t b = 0; b < first[40]; b++)
            assert_true(moved[b] == 1 || (may_double && moved[b] > 1));
        assert_int_equal(work_bytes_done(f.queue), listing_bytes(&f.plan));
        assert_int_equal(work_bytes_left(f.queue), 0);
        assert_int_equal(work_files_done(f.queue), 40);
        free(moved);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overdue_block_is_moved_once_more_and_counts_once),
        cmocka_unit_test(one_block_at_a_time_is_moved_once_more),
        cmocka_unit_test(a_stream_never_doubles_its_own_blocks),
        cmocka_unit_test(a_wait_ends_after_its_time),
        cmocka_unit_test(a_waiting_stream_wakes_up_for_what_is_given_back_and_for_the_end),
        cmocka_unit_test(a_stopped_queue_hands_out_nothing),
        cmocka_unit_test(eight_threads_move_every_block_exactly_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
