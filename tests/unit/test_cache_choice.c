/* Which parts of the local tier go when room is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/cache_choice.h"

#define COUNT(items) (sizeof(items) / sizeof((items)[0]))

static struct cache_item model(const char *name, uint64_t bytes, int64_t used_ns)
{
    return (struct cache_item){.model = name, .bytes = bytes, .used_ns = used_ns, .rank = CACHE_MODEL};
}

/* The names of those that were chosen, in the order of the list. */
static const char *chosen(const struct cache_item *items, size_t count)
{
    static char names[64];
    size_t used = 0;
    for (size_t i = 0; i < count && used + 1 < sizeof names; i++)
        if (items[i].chosen)
            names[used++] = items[i].model[0];
    names[used] = '\0';
    return names;
}

static void nothing_goes_when_nothing_is_too_much(void **state)
{
    (void)state;
    struct cache_item items[] = {model("a", 400, 1), model("b", 400, 2)};
    assert_true(cache_choose(items, COUNT(items), 0));
    assert_string_equal(chosen(items, COUNT(items)), "");
    assert_true(cache_choose(NULL, 0, 0));
    assert_false(cache_choose(NULL, 0, 1));
}

static void the_least_recently_used_go_first_and_no_more_than_needed(void **state)
{
    (void)state;
    struct cache_item items[] = {model("a", 400, 30), model("b", 400, 10), model("c", 400, 20)};
    assert_true(cache_choose(items, COUNT(items), 1));
    assert_string_equal(chosen(items, COUNT(items)), "b");
    assert_true(cache_choose(items, COUNT(items), 400));
    assert_string_equal(chosen(items, COUNT(items)), "bc");
}

static void excess_is_met_to_the_byte(void **state)
{
    (void)state;
    struct cache_item one[] = {model("a", 400, 1), model("b", 400, 2)};
    assert_true(cache_choose(one, COUNT(one), 400));
    assert_string_equal(chosen(one, COUNT(one)), "a");
    struct cache_item two[] = {model("a", 400, 1), model("b", 400, 2)};
    assert_true(cache_choose(two, COUNT(two), 401));
    assert_string_equal(chosen(two, COUNT(two)), "ab");
}

static void what_is_kept_never_goes(void **state)
{
    (void)state;
    struct cache_item items[] = {model("a", 400, 1), model("b", 400, 2), model("c", 400, 3)};
    items[0].kept = CACHE_PINNED;
    items[2].kept = CACHE_FETCHED;
    assert_true(cache_choose(items, COUNT(items), 400));
    assert_string_equal(chosen(items, COUNT(items)), "b");
    struct cache_item again[] = {model("a", 400, 1), model("b", 400, 2)};
    again[0].kept = CACHE_IN_USE;
    assert_false(cache_choose(again, COUNT(again), 401));
    assert_string_equal(chosen(again, COUNT(again)), "b"); /* as far as it goes */
}

static void leftovers_go_before_models_and_the_own_version_last(void **state)
{
    (void)state;
    struct cache_item items[] = {model("a", 10, 1), model("b", 10, 2), model("c", 10, 9), model("d", 10, 8)};
    items[0].rank = CACHE_OWN;
    items[2].rank = items[3].rank = CACHE_LEFTOVER;
    static const char *const expected[] = {"d", "cd", "bcd", "abcd"};
    for (size_t i = 0; i < COUNT(items); i++) {
        for (size_t k = 0; k < COUNT(items); k++)
            items[k].chosen = false;
        assert_true(cache_choose(items, COUNT(items), (i + 1) * 10));
        assert_string_equal(chosen(items, COUNT(items)), expected[i]);
    }
}

static void what_frees_nothing_is_left_alone(void **state)
{
    (void)state;
    struct cache_item items[] = {model("a", 0, 1), model("b", 10, 2)};
    assert_true(cache_choose(items, COUNT(items), 5));
    assert_string_equal(chosen(items, COUNT(items)), "b");
    assert_false(cache_choose(items, COUNT(items), 5)); /* and what went is not counted twice */
}

static void sizes_beyond_sense_do_not_overflow(void **state)
{
    (void)state;
    struct cache_item items[] = {model("a", UINT64_MAX, 1), model("b", UINT64_MAX, 2)};
    assert_true(cache_choose(items, COUNT(items), UINT64_MAX));
    assert_string_equal(chosen(items, COUNT(items)), "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_goes_when_nothing_is_too_much),
        cmocka_unit_test(the_least_recently_used_go_first_and_no_more_than_needed),
        cmocka_unit_test(excess_is_met_to_the_byte),
        cmocka_unit_test(what_is_kept_never_goes),
        cmocka_unit_test(leftovers_go_before_models_and_the_own_version_last),
        cmocka_unit_test(what_frees_nothing_is_left_alone),
        cmocka_unit_test(sizes_beyond_sense_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
