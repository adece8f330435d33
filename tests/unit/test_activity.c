/* Time on a processor as the kernel counts it, sums, and sockets that are none of TCP. */
#include "support.h"

#include "common/activity.h"
#include "common/clock.h"

#include <pthread.h>

#define WORK_NS UINT64_C(50000000)

/* The kernel counts by thread, so the one that is measured is a fresh one. */
static void *work(void *context)
{
    struct activity *activity = context;
    activity_begin(activity);
    for (uint64_t begun = clock_ns(); clock_ns() - begun < WORK_NS;)
        ;
    activity_end(activity);
    return NULL;
}

static void a_thread_that_computes_is_seen_to(void **state)
{
    (void)state;
    struct activity activity;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work, &activity), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(activity.wall_ns >= WORK_NS);
    if (access("/proc/thread-self/schedstat", R_OK) == 0)
        assert_true(activity.cpu_ns + activity.queued_ns >= WORK_NS * 8 / 10);
    assert_int_equal(activity.file_ns, 0);
}

static void parts_add_up(void **state)
{
    (void)state;
    struct activity sum = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, part = sum;
    activity_add(&sum, &part);
    const uint64_t *values = (const uint64_t *)&sum;
    for (uint64_t i = 0; i < sizeof sum / sizeof *values; i++)
        assert_int_equal(values[i], 2 * (i + 1));
}

static void what_is_no_tcp_socket_adds_nothing(void **state)
{
    (void)state;
    int ends[2];
    struct activity activity = {0}, nothing = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    activity_add_socket(&activity, ends[0]);
    activity_add_socket(&activity, -1);
    assert_memory_equal(&activity, &nothing, sizeof nothing);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_computes_is_seen_to),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(what_is_no_tcp_socket_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
