/* The rate over several threads, what a pause may be made up for, and being cancelled. */
#include "support.h"

#include "common/clock.h"
#include "common/pacer.h"

#include <pthread.h>
#include <sys/eventfd.h>

#define RATE    ((uint64_t)10 << 20)
#define PIECE   ((uint64_t)64 << 10)
#define PIECES  16
#define THREADS 3

static void *take_pieces(void *context)
{
    for (int i = 0; i < PIECES; i++)
        pacer_take(context, PIECE);
    return NULL;
}

static void threads_share_the_rate(void **state)
{
    (void)state;
    struct pacer pacer;
    pthread_t threads[THREADS];
    int cancel = eventfd(0, EFD_CLOEXEC);
    uint64_t begun = clock_ms();
    pacer_init(&pacer, RATE, cancel);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_pieces, &pacer), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t took = clock_ms() - begun;
    uint64_t exact = (THREADS * PIECES - 1) * PIECE * 1000 / RATE; /* the first goes at once */
    assert_true(took + 2 >= exact);
    assert_true(took < 3 * exact); /* a loaded machine is late, never early */
    pacer_release(&pacer);
    close(cancel);
}

static void a_pause_is_made_up_for_within_bounds(void **state)
{
    (void)state;
    struct pacer pacer;
    int cancel = eventfd(0, EFD_CLOEXEC);
    pacer_init(&pacer, RATE, cancel);
    pacer.next_ns -= UINT64_C(10000000000); /* ten seconds without a byte */
    uint64_t begun = clock_ms(), burst = RATE * PACER_BURST_MS / 1000;
    pacer_take(&pacer, burst);
    assert_true(clock_ms() - begun < PACER_BURST_MS);
    pacer_take(&pacer, burst);
    pacer_take(&pacer, PIECE);
    assert_true(clock_ms() - begun + 2 >= PACER_BURST_MS);
    pacer_release(&pacer);
    close(cancel);
}

static void nobody_waits_when_it_is_cancelled(void **state)
{
    (void)state;
    struct pacer pacer;
    int cancel = eventfd(1, EFD_CLOEXEC);
    pacer_init(&pacer, 1000, cancel);
    uint64_t begun = clock_ms();
    for (int i = 0; i < 10; i++)
        pacer_take(&pacer, 100000);
    assert_true(clock_ms() - begun < 10000);
    pacer_release(&pacer);
    close(cancel);
}

static void pieces_shrink_with_the_rate(void **state)
{
    (void)state;
    assert_int_equal(pacer_piece(UINT64_MAX, 1 << 20), 1 << 20);
    assert_int_equal(pacer_piece((uint64_t)10 << 20, 1 << 20), 1 << 20);
    assert_int_equal(pacer_piece(((uint64_t)10 << 20) - 10, 1 << 20), 1 << 19);
    assert_int_equal(pacer_piece(1000, 1 << 20), 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_the_rate),
        cmocka_unit_test(a_pause_is_made_up_for_within_bounds),
        cmocka_unit_test(nobody_waits_when_it_is_cancelled),
        cmocka_unit_test(pieces_shrink_with_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
