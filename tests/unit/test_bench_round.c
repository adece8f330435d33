/* A round says cold or warm only if the measured share does; what was printed is read back the same; what was
 * not printed by bench read is refused with a reason. */
#include "support.h"

#include "client/bench_round.h"

#define SIZE 1000000u

static struct bench_round round_with(uint64_t cached)
{
    struct bench_round round = {.label = (char *)"nas", .mode = READ_MODE_MMAP};
    bench_round_set(&round, SIZE, 0.25, true, cached);
    return round;
}

static void the_share_decides_about_the_state(void **state)
{
    (void)state;
    static const struct {
        uint64_t cached;
        enum cache_state state;
    } cases[] = {
        {0, CACHE_COLD},         {SIZE / 20, CACHE_COLD}, {SIZE / 20 + 100, CACHE_MIXED},
        {SIZE / 2, CACHE_MIXED}, {949900, CACHE_MIXED},   {SIZE / 20 * 19, CACHE_WARM},
        {SIZE, CACHE_WARM},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(round_with(cases[i].cached).cache, cases[i].state);
    struct bench_round round = {.label = (char *)"x"};
    bench_round_set(&round, SIZE, 1, false, 0);
    assert_int_equal(round.cache, CACHE_MIXED); /* not known is not cold */
}

static void a_line_has_the_fields_of_the_contract(void **state)
{
    (void)state;
    struct bench_round round = round_with(0);
    struct json *line = bench_round_json(&round, json_object());
    char *text = json_print(line);
    assert_string_equal(text, "{\"label\":\"nas\",\"mode\":\"mmap\",\"bytes\":1000000,\"seconds\":0.25,"
                              "\"bytes_per_second\":4000000,\"cached_before\":0,\"cache\":\"cold\","
                              "\"conditions\":{\"hidden_cache\":false}}");
    free(text);
    json_free(line);
    bench_round_set(&round, SIZE, 1, false, 0);
    line = bench_round_json(&round, json_object());
    text = json_print(line);
    assert_non_null(strstr(text, "\"cached_before\":null,\"cache\":\"mixed\""));
    free(text);
    json_free(line);
}

static void what_was_printed_is_read_back(void **state)
{
    (void)state;
    struct bench_round round = round_with(SIZE / 2), back;
    struct error err;
    round.is_cache_suspected = true;
    struct json *line = bench_round_json(&round, json_object());
    char *text = json_print(line);
    json_free(line);
    assert_int_equal(bench_round_parse(&back, text, strlen(text), &err), 0);
    assert_string_equal(back.label, "nas");
    assert_int_equal(back.mode, READ_MODE_MMAP);
    assert_int_equal(back.cache, CACHE_MIXED);
    assert_int_equal(back.bytes, SIZE);
    assert_true(back.is_cache_suspected);
    assert_true(back.is_cached_known && back.cached_before == 0.5);
    assert_true(back.seconds == 0.25 && back.bytes_per_s == 4e6);
    bench_round_release(&back);
    free(text);
}

static void other_lines_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *line, *why;
    } cases[] = {
        {"{", "not JSON"},
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {"3", "not a JSON object"},
        {"{}", "'label'"},
        {"{\"label\":3}", "'label'"},
        {"{\"label\":\"x\",\"bytes\":0}", "'bytes'"},
        {"{\"label\":\"x\",\"bytes\":1.5}", "'bytes'"},
        {"{\"label\":\"x\",\"bytes\":5,\"mode\":\"dd\"}", "'mode'"},
        {"{\"label\":\"x\",\"bytes\":5,\"mode\":\"read\",\"cache\":\"tepid\"}", "'cache'"},
        {"{\"label\":\"x\",\"bytes\":5,\"mode\":\"read\",\"cache\":\"cold\",\"seconds\":0}", "'seconds'"},
        {"{\"label\":\"x\",\"bytes\":5,\"mode\":\"read\",\"cache\":\"cold\",\"seconds\":-1}", "'seconds'"},
        {"{\"label\":\"x\",\"bytes\":5,\"mode\":\"read\",\"cache\":\"cold\",\"seconds\":1,\"bytes_per_"
         "second\":1e300}",
         "'bytes_per_second'"},
        {"{\"label\":\"x\",\"bytes\":5,\"mode\":\"read\",\"cache\":\"cold\",\"seconds\":1,\"bytes_per_"
         "second\":\"5\"}",
         "'bytes_per_second'"},
        {"{\"ok\":false,\"error\":{\"code\":\"failed\",\"message\":\"x\"}}", "'label'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench_round round;
        struct error err = {0};
        assert_int_equal(bench_round_parse(&round, cases[i].line, strlen(cases[i].line), &err), -1);
        if (!strstr(err.text, cases[i].why))
            fail_msg("'%s' gave '%s'", cases[i].line, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_decides_about_the_state),
        cmocka_unit_test(a_line_has_the_fields_of_the_contract),
        cmocka_unit_test(what_was_printed_is_read_back),
        cmocka_unit_test(other_lines_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
