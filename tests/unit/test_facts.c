/* A list of facts: our own in, a stranger's held against the page, and numbers that are numbers. */
#include "support.h"

#include "common/facts.h"
#include "proto/limits.h"

static void what_was_added_is_found_and_nothing_else(void **state)
{
    (void)state;
    struct fact_list facts = {0};
    uint64_t number = 7;
    assert_null(facts_text(&facts, "cpus"));
    facts_add_number(&facts, "cpus", UINT64_MAX);
    facts_add(&facts, "kernel", "%s %d", "Linux", 6);
    assert_string_equal(facts_text(&facts, "kernel"), "Linux 6");
    assert_true(facts_number(&facts, "cpus", &number));
    assert_int_equal(number, UINT64_MAX);
    assert_false(facts_number(&facts, "kernel", &number));
    assert_false(facts_number(&facts, "cpu", &number));
    facts_release(&facts);
    assert_int_equal(facts.count, 0);
}

static void a_number_is_digits_and_fits(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",     "-1",  "+1",  " 1",  "1 ",
                                        "0x10", "1.5", "1e3", "one", "18446744073709551616"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct fact_list facts = {0};
        struct error err;
        uint64_t number;
        assert_int_equal(facts_take(&facts, "n", wrong[i], &err), 0);
        if (facts_number(&facts, "n", &number))
            fail_msg("'%s' was a number", wrong[i]);
        facts_release(&facts);
    }
}

static void a_long_text_of_our_own_is_cut(void **state)
{
    (void)state;
    struct fact_list facts = {0};
    char text[2 * LIMIT_TEXT];
    memset(text, 'x', sizeof text);
    facts_add(&facts, "long", "%.*s", (int)sizeof text, text);
    assert_int_equal(strlen(facts_text(&facts, "long")), LIMIT_TEXT);
    facts_release(&facts);
}

static void refuse(struct fact_list *facts, const char *name)
{
    struct error err = {0};
    size_t before = facts->count;
    if (facts_take(facts, name, "value", &err) == 0)
        fail_msg("'%s' was taken", name);
    assert_int_equal(err.code, ERROR_PROTOCOL);
    assert_int_equal(facts->count, before);
}

static void names_of_a_peer_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "Cpus", "a b", "a-b", "../a", "a\n", "\xc3\xa9", "a.b"};
    struct fact_list facts = {0};
    struct error err;
    char name[LIMIT_FACT_NAME + 2];
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        refuse(&facts, wrong[i]);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refuse(&facts, name);
    assert_int_equal(facts_take(&facts, name + 1, "longest", &err), 0);
    refuse(&facts, name + 1); /* twice */
    facts_release(&facts);
}

static void a_peer_can_tell_so_much_and_no_more(void **state)
{
    (void)state;
    struct fact_list facts = {0};
    struct error err;
    char name[24];
    for (int i = 0; i < LIMIT_FACTS; i++) {
        (void)snprintf(name, sizeof name, "fact_%d", i);
        assert_int_equal(facts_take(&facts, name, "", &err), 0);
    }
    refuse(&facts, "one_more");
    facts_release(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found_and_nothing_else),
        cmocka_unit_test(a_number_is_digits_and_fits),
        cmocka_unit_test(a_long_text_of_our_own_is_cut),
        cmocka_unit_test(names_of_a_peer_are_checked),
        cmocka_unit_test(a_peer_can_tell_so_much_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
