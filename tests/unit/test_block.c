/* Counters are found by name; a disk that delivered too little gives a cache away. */
#include "support.h"

#include "client/block.h"

#define MB 1000000u

static const char diskstats[] = "   8       0 sda 100 0 2048 50 1 0 8 1 0 40 51 0 0 0 0\n"
                                "   8       1 sda1 90 0 1024 50 1 0 8 1 0 40 51\n"
                                " 254       0 dm-0 5 0 4096 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                                "   8      16 sdb 5 0\n"
                                "nonsense\n";

static struct block_stack stack_of(size_t count)
{
    struct block_stack stack = {.count = count};
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(stack.devices[i].name, BLOCK_NAME_MAX, "disk%zu", i);
        stack.devices[i].is_leaf = stack.devices[i].is_counted = true;
    }
    return stack;
}

static void bytes_are_read_sectors_of_512(void **state)
{
    (void)state;
    struct block_stack stack = stack_of(4);
    uint64_t bytes[BLOCK_MOST];
    static const char *const names[] = {"dm-0", "sda1", "sdb", "sda10"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        (void)snprintf(stack.devices[i].name, BLOCK_NAME_MAX, "%s", names[i]);
    block_parse_counts(&stack, diskstats, bytes);
    assert_int_equal(bytes[0], 4096 * 512);
    assert_int_equal(bytes[1], 1024 * 512);
    assert_int_equal(bytes[2], 0); /* its line is cut off */
    assert_int_equal(bytes[3], 0); /* there is none */
    block_parse_counts(&stack, "", bytes);
    assert_int_equal(bytes[0], 0);
}

static void a_disk_that_delivered_all_hides_nothing(void **state)
{
    (void)state;
    struct block_stack stack = stack_of(1);
    uint64_t bytes[BLOCK_MOST] = {100 * MB};
    assert_false(block_is_cache_suspected(&stack, bytes, 100 * MB));
    assert_false(block_is_cache_suspected(&stack, bytes, 199 * MB));
    assert_true(block_is_cache_suspected(&stack, bytes, 201 * MB));
    assert_false(block_is_cache_suspected(&stack, bytes, 0));
}

static void a_cache_inside_the_stack_shows_at_its_bottom(void **state)
{
    (void)state;
    struct block_stack stack = stack_of(3); /* a volume over two disks */
    stack.devices[0].is_leaf = false;
    uint64_t half_each[BLOCK_MOST] = {100 * MB, 50 * MB, 50 * MB},
             few[BLOCK_MOST] = {100 * MB, 10 * MB, 10 * MB};
    assert_false(block_is_cache_suspected(&stack, half_each, 100 * MB));
    assert_true(block_is_cache_suspected(&stack, few, 100 * MB));
}

static void a_fast_disk_in_front_of_a_rotating_one_is_a_cache(void **state)
{
    (void)state;
    struct block_stack stack = stack_of(3);
    stack.devices[0].is_leaf = false;
    stack.devices[1].is_rotational = true;
    uint64_t from_fast[BLOCK_MOST] = {100 * MB, 5 * MB, 95 * MB},
             from_slow[BLOCK_MOST] = {100 * MB, 95 * MB, 5 * MB};
    assert_true(block_is_cache_suspected(&stack, from_fast, 100 * MB));
    assert_false(block_is_cache_suspected(&stack, from_slow, 100 * MB));
}

static void nothing_is_said_without_counts_or_for_little(void **state)
{
    (void)state;
    struct block_stack stack = stack_of(1), none = {.count = 0};
    uint64_t nothing[BLOCK_MOST] = {0};
    assert_true(block_is_cache_suspected(&stack, nothing, 100 * MB));
    assert_false(block_is_cache_suspected(&none, nothing, 100 * MB));
    assert_false(block_is_cache_suspected(&stack, nothing, 1000));
    stack.devices[0].is_counted = false;
    assert_false(block_is_cache_suspected(&stack, nothing, 100 * MB));
}

static void a_stack_is_found_by_number_and_has_a_disk_at_its_bottom(void **state)
{
    (void)state;
    struct block_stack stack;
    assert_false(block_stack_find(&stack, "0:1"));
    assert_int_equal(stack.count, 0);
    FILE *file = fopen("/proc/partitions", "r");
    char line[256], number[32], name[BLOCK_NAME_MAX];
    unsigned major, minor;
    bool any = false;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%u %u %*u %31s", &major, &minor, name) != 3)
            continue;
        any = true;
        (void)snprintf(number, sizeof number, "%u:%u", major, minor);
        assert_true(block_stack_find(&stack, number));
        assert_string_equal(stack.devices[0].name, name);
        assert_true(stack.devices[stack.count - 1].is_leaf);
    }
    if (file)
        (void)fclose(file);
    if (!any)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read_sectors_of_512),
        cmocka_unit_test(a_disk_that_delivered_all_hides_nothing),
        cmocka_unit_test(a_cache_inside_the_stack_shows_at_its_bottom),
        cmocka_unit_test(a_fast_disk_in_front_of_a_rotating_one_is_a_cache),
        cmocka_unit_test(nothing_is_said_without_counts_or_for_little),
        cmocka_unit_test(a_stack_is_found_by_number_and_has_a_disk_at_its_bottom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
