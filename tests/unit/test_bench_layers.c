/* Medians of layers, which of them binds, and what follows for a model of some size. */
#include "support.h"

#include "client/bench_layers.h"

#define MB UINT64_C(1000000)

static void add(struct bench_layers *layers, enum bench_layer layer, uint64_t mb_per_s,
                uint64_t cached_percent)
{
    struct bench_rate rate = {
        .bytes = mb_per_s * MB, .ns = 1000 * MB, .cached = mb_per_s * MB / 100 * cached_percent};
    bench_layers_add(layers, layer, &rate);
}

static struct bench_layers *new_layers(void)
{
    struct bench_layers *layers = calloc(1, sizeof *layers);
    assert_non_null(layers);
    return layers;
}

static void the_median_of_odd_and_even_rounds(void **state)
{
    (void)state;
    struct bench_layers *layers = new_layers();
    struct bench_summary summary;
    assert_false(bench_layers_summary(layers, BENCH_LINK_UP, &summary));
    add(layers, BENCH_LINK_UP, 900, 0);
    add(layers, BENCH_LINK_UP, 100, 0);
    add(layers, BENCH_LINK_UP, 500, 0);
    assert_true(bench_layers_summary(layers, BENCH_LINK_UP, &summary));
    assert_int_equal(summary.median, 500 * MB);
    assert_int_equal(summary.min, 100 * MB);
    assert_int_equal(summary.max, 900 * MB);
    assert_null(summary.cache);
    add(layers, BENCH_LINK_UP, 600, 0);
    assert_true(bench_layers_summary(layers, BENCH_LINK_UP, &summary));
    assert_int_equal(summary.median, 550 * MB);
    free(layers);
}

static void a_read_is_labelled_by_what_was_cached(void **state)
{
    (void)state;
    static const struct {
        uint64_t percent;
        const char *label;
    } cases[] = {{0, "cold"}, {5, "cold"}, {50, "mixed"}, {95, "warm"}, {100, "warm"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench_layers *layers = new_layers();
        struct bench_summary summary;
        add(layers, BENCH_SERVER_READ, 400, cases[i].percent);
        assert_true(bench_layers_summary(layers, BENCH_SERVER_READ, &summary));
        assert_string_equal(summary.cache, cases[i].label);
        free(layers);
    }
}

static void the_slowest_of_its_three_layers_binds_a_direction(void **state)
{
    (void)state;
    struct bench_layers *layers = new_layers();
    assert_int_equal(bench_layers_binds(layers, true), BENCH_LAYER_COUNT);
    add(layers, BENCH_CLIENT_READ, 800, 0);
    add(layers, BENCH_LINK_UP, 1100, 0);
    add(layers, BENCH_SERVER_WRITE, 400, 0);
    add(layers, BENCH_SERVER_READ, 700, 0);
    add(layers, BENCH_LINK_DOWN, 110, 0);
    add(layers, BENCH_LINK_UP_ONE, 50, 0); /* another way to use the link, not a layer */
    assert_int_equal(bench_layers_binds(layers, true), BENCH_SERVER_WRITE);
    assert_int_equal(bench_layers_binds(layers, false), BENCH_LINK_DOWN);
    free(layers);
}

static void a_model_takes_what_was_reached_else_what_binds(void **state)
{
    (void)state;
    struct bench_layers *layers = new_layers();
    assert_true(bench_layers_seconds(layers, true, 1000 * MB) == 0);
    add(layers, BENCH_SERVER_WRITE, 400, 0);
    assert_true(bench_layers_seconds(layers, true, 1000 * MB) == 2.5);
    add(layers, BENCH_PUSH, 200, 0);
    assert_true(bench_layers_seconds(layers, true, 1000 * MB) == 5);
    assert_true(bench_layers_seconds(layers, false, 1000 * MB) == 0);
    free(layers);
}

static void lists_of_layers(void **state)
{
    (void)state;
    unsigned set;
    struct error err = {0};
    assert_int_equal(bench_layers_parse("push", &set, &err), 0);
    assert_int_equal(set, 1u << BENCH_PUSH);
    assert_int_equal(bench_layers_parse("link-up,server-disk-read", &set, &err), 0);
    assert_int_equal(set, 1u << BENCH_LINK_UP | 1u << BENCH_SERVER_READ);
    static const char *const wrong[] = {"", ",", "link", "link-up,,push", "push,x", "pushx"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(bench_layers_parse(wrong[i], &set, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_of_odd_and_even_rounds),
        cmocka_unit_test(a_read_is_labelled_by_what_was_cached),
        cmocka_unit_test(the_slowest_of_its_three_layers_binds_a_direction),
        cmocka_unit_test(a_model_takes_what_was_reached_else_what_binds),
        cmocka_unit_test(lists_of_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
