/* Load times: the sums, and their words and JSON. */
#include "support.h"

#include "client/load_time.h"

static void expect(const struct load_time *time, const char *text, const char *json)
{
    char out[LOAD_TIME_TEXT_MAX];
    assert_string_equal(load_time_text(out, time), text);
    struct json *object = json_object();
    load_time_add_json(object, time);
    char *printed = json_print(object);
    assert_string_equal(printed, json);
    free(printed);
    json_free(object);
}

static void what_is_not_known_is_not_said(void **state)
{
    (void)state;
    struct load_time time = load_time_of(6940000000, 0, 0, 0, 13);
    expect(&time, "", "{\"load_seconds\":{\"server\":null,\"local\":null}}");
}

static void both_places_have_the_fixed_cost(void **state)
{
    (void)state;
    struct load_time time = load_time_of(6000000000, 800e6, 7, 2e9, 13);
    expect(
        &time,
        "about 21 s from the server (by the last 7 pulls), 16 s from a local disk; 13 s of it beside reading",
        "{\"load_seconds\":{\"server\":20.5,\"local\":16}}");
}

static void one_place_stands_alone(void **state)
{
    (void)state;
    struct load_time time = load_time_of(6000000000, 100e6, 1, 0, 0);
    expect(&time, "about 1:00 from the server (by the last pull)",
           "{\"load_seconds\":{\"server\":60,\"local\":null}}");
    time = load_time_of(6000000000, 0, 0, 100e6, 0);
    expect(&time, "about 1:00 from a local disk", "{\"load_seconds\":{\"server\":null,\"local\":60}}");
}

static void an_empty_model_takes_the_fixed_cost(void **state)
{
    (void)state;
    struct load_time time = load_time_of(0, 100e6, 2, 1e9, 5);
    expect(&time,
           "about 5.0 s from the server (by the last 2 pulls), 5.0 s from a local disk; 5.0 s of it beside "
           "reading",
           "{\"load_seconds\":{\"server\":5,\"local\":5}}");
}

static void the_largest_sizes_fit(void **state)
{
    (void)state;
    char out[LOAD_TIME_TEXT_MAX];
    struct load_time time = load_time_of(LIMIT_SIZE, 1, 10, 1, 86400);
    assert_non_null(strstr(load_time_text(out, &time), " days from the server (by the last 10 pulls), "));
    assert_non_null(strstr(out, " beside reading"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(both_places_have_the_fixed_cost),
        cmocka_unit_test(one_place_stands_alone),
        cmocka_unit_test(an_empty_model_takes_the_fixed_cost),
        cmocka_unit_test(the_largest_sizes_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
