/* One number for a version: the same for the same files in any order, another one for any difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/fingerprint.h"

static uint64_t of(const struct file_entry *files, size_t count)
{
    struct listing listing = {0};
    for (size_t i = 0; i < count; i++)
        listing_add(&listing, &files[i]);
    uint64_t number = fingerprint_of(&listing);
    listing_release(&listing);
    return number;
}

static const struct file_entry a = {.path = (char *)"a", .size = 1, .mtime = 2, .nsec = 3};
static const struct file_entry b = {.path = (char *)"sub/b", .size = 1, .mtime = 2, .nsec = 3};

static void the_order_of_the_listing_does_not_matter(void **state)
{
    (void)state;
    struct file_entry one[] = {a, b}, two[] = {b, a};
    assert_true(of(one, 2) == of(two, 2));
    assert_in_range(of(one, 2), 1, LIMIT_SIZE);
}

static void every_difference_changes_it(void **state)
{
    (void)state;
    struct file_entry other[5] = {a, a, a, a, a};
    other[0].path = (char *)"A";
    other[1].size++;
    other[2].mtime = -2;
    other[3].nsec++;
    struct file_entry both[] = {a, b};
    uint64_t seen[7] = {of(&a, 1), of(both, 2), of(NULL, 0)};
    for (size_t i = 0; i < 4; i++)
        seen[3 + i] = of(&other[i], 1);
    for (size_t i = 0; i < 7; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
}

static void hash_and_source_do_not_count(void **state)
{
    (void)state;
    struct file_entry hashed = a;
    hashed.has_hash = true;
    hashed.source = 9;
    assert_true(of(&a, 1) == of(&hashed, 1));
}

static void a_listing_that_names_a_path_twice_has_none(void **state)
{
    (void)state;
    struct file_entry twice[] = {a, a};
    assert_int_equal(of(twice, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_the_listing_does_not_matter),
        cmocka_unit_test(every_difference_changes_it),
        cmocka_unit_test(hash_and_source_do_not_count),
        cmocka_unit_test(a_listing_that_names_a_path_twice_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
