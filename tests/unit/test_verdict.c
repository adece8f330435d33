/* Which stage a verdict names, from what both ends did with ten seconds. */
#include "support.h"

#include "client/verdict.h"

#define S UINT64_C(1000000000)

static void assert_verdict(const struct activity *sender, const struct activity *receiver,
                           enum verdict_stage stage, double share)
{
    struct verdict verdict = verdict_of(sender, receiver);
    assert_int_equal(verdict.stage, stage);
    assert_true(verdict.share > share - 0.01 && verdict.share < share + 0.01);
}

/* The receiver's writes take 9 s, of which half of 1 s of work; the window holds the sender back. */
static void a_slow_disk_of_the_receiver_is_named(void **state)
{
    (void)state;
    struct activity sender = {
        .wall_ns = 10 * S, .socket_ns = 10 * S, .cpu_ns = S, .busy_ns = 10 * S, .window_ns = 9 * S};
    struct activity receiver = {.wall_ns = 10 * S, .file_ns = 9 * S, .socket_ns = S, .cpu_ns = S};
    assert_verdict(&sender, &receiver, VERDICT_RECEIVER_DISK, 0.85);
}

/* Bytes are under way all the time and the receiver waits for more: also where its work fills half of the
 * time. */
static void a_full_link_is_named(void **state)
{
    (void)state;
    struct activity sender = {.wall_ns = 10 * S, .socket_ns = 10 * S, .cpu_ns = S, .busy_ns = 10 * S};
    struct activity receiver = {.wall_ns = 10 * S, .file_ns = 2 * S, .socket_ns = 7 * S, .cpu_ns = 5 * S};
    assert_verdict(&sender, &receiver, VERDICT_LINK, 1);
}

/* Nothing is under way for most of the time, and the sender did not work meanwhile. */
static void a_slow_disk_of_the_sender_is_named(void **state)
{
    (void)state;
    struct activity sender = {.wall_ns = 10 * S, .socket_ns = 10 * S, .cpu_ns = S, .busy_ns = 3 * S};
    struct activity receiver = {.wall_ns = 10 * S, .file_ns = S, .socket_ns = 9 * S, .cpu_ns = 2 * S};
    assert_verdict(&sender, &receiver, VERDICT_SENDER_DISK, 0.7);
}

/* Waiting for a processor counts like running on it: both go away with a faster or less busy one. */
static void a_busy_processor_is_named(void **state)
{
    (void)state;
    struct activity idle = {.wall_ns = 10 * S, .socket_ns = 10 * S, .cpu_ns = S, .busy_ns = 10 * S};
    struct activity hogged = {
        .wall_ns = 10 * S, .file_ns = 4 * S, .socket_ns = 4 * S, .cpu_ns = 3 * S, .queued_ns = 6 * S};
    assert_verdict(&idle, &hogged, VERDICT_RECEIVER_CPU, 0.9);
    idle.busy_ns = 10 * S;
    hogged.busy_ns = 2 * S;
    assert_verdict(&hogged, &(struct activity){.wall_ns = 10 * S, .socket_ns = 9 * S, .cpu_ns = S},
                   VERDICT_SENDER_CPU, 0.9);
}

/* On a fast link what the receiver has not taken yet is under way: the link looks busy, the receiver is the
 * cause. */
static void a_receiver_that_never_waits_comes_before_a_busy_link(void **state)
{
    (void)state;
    struct activity sender = {.wall_ns = 10 * S, .socket_ns = 10 * S, .cpu_ns = 5 * S, .busy_ns = 10 * S};
    struct activity receiver = {
        .wall_ns = 10 * S, .file_ns = 5 * S, .socket_ns = 5 * S, .cpu_ns = 19 * S / 2};
    assert_verdict(&sender, &receiver, VERDICT_RECEIVER_CPU, 0.95);
}

static void a_limit_that_was_asked_for_is_named(void **state)
{
    (void)state;
    struct activity sender = {.wall_ns = 10 * S, .paused_ns = 9 * S, .cpu_ns = S / 2, .busy_ns = 2 * S};
    struct activity receiver = {.wall_ns = 10 * S, .socket_ns = 10 * S, .cpu_ns = S / 2};
    assert_verdict(&sender, &receiver, VERDICT_LIMIT, 0.9);
}

/* A stream that found nothing more to do for 8 of its 10 s is judged by the other two. */
static void time_without_work_does_not_count(void **state)
{
    (void)state;
    struct activity sender = {
        .wall_ns = 10 * S, .idle_ns = 8 * S, .socket_ns = 2 * S, .busy_ns = 2 * S, .window_ns = 2 * S};
    struct activity receiver = {.wall_ns = 10 * S, .file_ns = 2 * S, .socket_ns = 8 * S};
    assert_verdict(&sender, &receiver, VERDICT_RECEIVER_DISK, 1);
}

static void nothing_is_said_where_nothing_is_known(void **state)
{
    (void)state;
    struct activity own = {.wall_ns = 10 * S, .busy_ns = 10 * S}, nothing = {0};
    assert_int_equal(verdict_of(&own, &nothing).stage, VERDICT_NONE);
    assert_int_equal(verdict_of(&nothing, &own).stage, VERDICT_NONE);
    assert_null(verdict_name(VERDICT_NONE, true));
    assert_null(verdict_text(VERDICT_NONE, false));
}

static void each_stage_has_names_from_the_clients_side(void **state)
{
    (void)state;
    assert_string_equal(verdict_name(VERDICT_RECEIVER_DISK, true), "peer-disk");
    assert_string_equal(verdict_name(VERDICT_RECEIVER_DISK, false), "disk");
    assert_string_equal(verdict_name(VERDICT_SENDER_CPU, true), "cpu");
    assert_string_equal(verdict_name(VERDICT_SENDER_CPU, false), "peer-cpu");
    assert_string_equal(verdict_text(VERDICT_RECEIVER_DISK, true), "server disk writes");
    assert_string_equal(verdict_text(VERDICT_SENDER_DISK, false), "server disk reads");
    assert_string_equal(verdict_text(VERDICT_LINK, true), "link");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_disk_of_the_receiver_is_named),
        cmocka_unit_test(a_full_link_is_named),
        cmocka_unit_test(a_slow_disk_of_the_sender_is_named),
        cmocka_unit_test(a_busy_processor_is_named),
        cmocka_unit_test(a_receiver_that_never_waits_comes_before_a_busy_link),
        cmocka_unit_test(a_limit_that_was_asked_for_is_named),
        cmocka_unit_test(time_without_work_does_not_count),
        cmocka_unit_test(nothing_is_said_where_nothing_is_known),
        cmocka_unit_test(each_stage_has_names_from_the_clients_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
