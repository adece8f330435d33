/* Bytes a second over a window of notes. */
#include "support.h"

#include "server/rate.h"

static void a_steady_count_has_its_rate_from_the_second_note_on(void **state)
{
    (void)state;
    struct rate rate;
    rate_begin(&rate, 1000);
    assert_int_equal(rate_per_s(&rate), 0);
    for (uint64_t i = 1; i < 50; i++) {
        rate_note(&rate, 1000 + i * 500, i * 4000000);
        assert_int_equal(rate_per_s(&rate), 8000000);
    }
}

static void what_is_older_than_the_window_is_forgotten(void **state)
{
    (void)state;
    struct rate rate;
    rate_begin(&rate, 0);
    rate_note(&rate, 500, 1000000000);
    for (uint64_t i = 2; i < RATE_NOTES; i++) {
        rate_note(&rate, i * 500, 1000000000);
        assert_int_equal(rate_per_s(&rate), 1000000000u * 2 / i);
    }
    rate_note(&rate, RATE_NOTES * 500, 1000000000);
    assert_int_equal(rate_per_s(&rate), 0);
}

static void notes_need_not_come_at_even_times(void **state)
{
    (void)state;
    struct rate rate;
    rate_begin(&rate, 10);
    rate_note(&rate, 10, 500); /* at once: no time has passed */
    assert_int_equal(rate_per_s(&rate), 0);
    rate_note(&rate, 1010, 3000);
    rate_note(&rate, 4010, 8000);
    assert_int_equal(rate_per_s(&rate), 2000);
}

static void beginning_again_forgets_all(void **state)
{
    (void)state;
    struct rate rate;
    rate_begin(&rate, 0);
    rate_note(&rate, 500, 7777);
    rate_begin(&rate, 1000);
    assert_int_equal(rate_per_s(&rate), 0);
    rate_note(&rate, 2000, 100);
    assert_int_equal(rate_per_s(&rate), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_count_has_its_rate_from_the_second_note_on),
        cmocka_unit_test(what_is_older_than_the_window_is_forgotten),
        cmocka_unit_test(notes_need_not_come_at_even_times),
        cmocka_unit_test(beginning_again_forgets_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
