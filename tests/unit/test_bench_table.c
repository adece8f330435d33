/* Groups are those of label, mode and state; medians are medians; like is compared with like alone. */
#include "support.h"

#include "client/bench_table.h"

static void add(struct bench_table *table, const char *label, enum read_mode mode, enum cache_state cache,
                uint64_t bytes, double rate)
{
    struct bench_round round = {
        .label = (char *)label, .mode = mode, .cache = cache, .bytes = bytes, .bytes_per_s = rate};
    struct error err;
    assert_int_equal(bench_table_add(table, &round, &err), 0);
}

static void the_median_is_the_middle_and_noise_the_width(void **state)
{
    (void)state;
    double odd[] = {30, 10, 20}, even[] = {40, 10, 20, 30}, one[] = {7}, none[] = {0};
    struct spread spread = spread_of(odd, COUNT_OF(odd));
    assert_true(spread.median == 20 && spread.min == 10 && spread.max == 30 && spread.noise == 1);
    spread = spread_of(even, COUNT_OF(even));
    assert_true(spread.median == 25 && spread.min == 10 && spread.max == 40 && spread.noise == 1.2);
    spread = spread_of(one, 1);
    assert_true(spread.median == 7 && spread.noise == 0);
    assert_true(spread_of(none, 1).noise == 0);
}

static void rounds_fall_into_groups_in_order(void **state)
{
    (void)state;
    struct bench_table table = {0};
    for (int i = 0; i < 5; i++)
        add(&table, "nas", READ_MODE_READ, CACHE_COLD, 1000, 100 + i);
    add(&table, "local", READ_MODE_READ, CACHE_COLD, 1000, 408);
    add(&table, "nas", READ_MODE_MMAP, CACHE_COLD, 1000, 51);
    add(&table, "nas", READ_MODE_READ, CACHE_WARM, 1000, 9000);
    add(&table, "nas", READ_MODE_READ, CACHE_COLD, 1000, 99);
    bench_table_finish(&table, 0);
    assert_int_equal(table.count, 4);
    assert_int_equal(table.groups[0].count, 6);
    assert_true(table.groups[0].rate.median == 101.5 && table.groups[0].rate.min == 99 &&
                table.groups[0].rate.max == 104);
    assert_string_equal(table.groups[1].label, "local");
    assert_int_equal(table.groups[2].mode, READ_MODE_MMAP);
    assert_int_equal(table.groups[3].cache, CACHE_WARM);
    bench_table_release(&table);
}

static void like_is_compared_with_like(void **state)
{
    (void)state;
    struct bench_table table = {0};
    add(&table, "nas", READ_MODE_READ, CACHE_COLD, 1000, 100);
    add(&table, "nas", READ_MODE_READ, CACHE_MIXED, 1000, 500);
    add(&table, "local", READ_MODE_READ, CACHE_COLD, 1000, 250);
    add(&table, "local", READ_MODE_READ, CACHE_MIXED, 1000, 500);
    add(&table, "local", READ_MODE_READ, CACHE_WARM, 1000, 9000);
    add(&table, "local", READ_MODE_MMAP, CACHE_COLD, 1000, 9000);
    bench_table_finish(&table, 0);
    static const double expected[] = {1, 0, 2.5, 0, 0, 0};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_true(table.groups[i].ratio == expected[i]);
    bench_table_release(&table);
}

static void loading_takes_size_by_median_and_what_it_costs_beside(void **state)
{
    (void)state;
    struct bench_table table = {0};
    add(&table, "nas", READ_MODE_READ, CACHE_COLD, 1000, 100);
    add(&table, "two", READ_MODE_READ, CACHE_COLD, 1000, 100);
    add(&table, "two", READ_MODE_READ, CACHE_COLD, 2000, 100);
    bench_table_finish(&table, 13);
    assert_true(table.groups[0].load_seconds == 23);
    assert_true(table.groups[1].bytes == 0 && table.groups[1].load_seconds == 0); /* of which size? */
    bench_table_release(&table);
}

static void json_has_null_where_nothing_is_known(void **state)
{
    (void)state;
    struct bench_table table = {0};
    add(&table, "nas", READ_MODE_READ, CACHE_COLD, 1000, 100);
    struct error err;
    struct bench_round suspected = {.label = (char *)"nas",
                                    .cache = CACHE_MIXED,
                                    .bytes = 1000,
                                    .bytes_per_s = 500,
                                    .is_cache_suspected = true};
    assert_int_equal(bench_table_add(&table, &suspected, &err), 0);
    bench_table_finish(&table, 1);
    struct json *object = bench_table_json(&table);
    char *text = json_print(object);
    assert_string_equal(
        text,
        "{\"groups\":[{\"label\":\"nas\",\"mode\":\"read\",\"cache\":\"cold\",\"rounds\":1,\"bytes\":1000,"
        "\"bytes_per_second\":100,\"min\":100,\"max\":100,\"noise\":0,\"ratio\":1,\"load_seconds\":11,"
        "\"hidden_cache\":0},"
        "{\"label\":\"nas\",\"mode\":\"read\",\"cache\":\"mixed\",\"rounds\":1,\"bytes\":1000,"
        "\"bytes_per_second\":500,\"min\":500,\"max\":500,\"noise\":0,\"ratio\":null,\"load_seconds\":3,"
        "\"hidden_cache\":1}]}");
    free(text);
    json_free(object);
    bench_table_release(&table);
}

static void there_is_an_end_to_groups(void **state)
{
    (void)state;
    struct bench_table table = {0};
    struct error err;
    char label[16];
    for (int i = 0; i < BENCH_GROUPS_MAX; i++) {
        (void)snprintf(label, sizeof label, "%d", i);
        add(&table, label, READ_MODE_READ, CACHE_COLD, 1, 1);
    }
    add(&table, "7", READ_MODE_READ, CACHE_COLD, 1, 1);
    struct bench_round more = {.label = (char *)"more"};
    assert_int_equal(bench_table_add(&table, &more, &err), -1);
    bench_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_is_the_middle_and_noise_the_width),
        cmocka_unit_test(rounds_fall_into_groups_in_order),
        cmocka_unit_test(like_is_compared_with_like),
        cmocka_unit_test(loading_takes_size_by_median_and_what_it_costs_beside),
        cmocka_unit_test(json_has_null_where_nothing_is_known),
        cmocka_unit_test(there_is_an_end_to_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
