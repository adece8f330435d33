/* JSON: what is let in is well-formed, and numbers and names survive the way there and back. */
#include "support.h"

#include "proto/json.h"
#include "proto/limits.h"

/* Parses a copy of exact length, so that a sanitizer sees a byte read too many. */
static struct json *parse_bytes(const char *text, size_t length, int depth)
{
    char *copy = malloc(length + !length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    struct json *value = json_parse(copy, length, depth);
    free(copy);
    return value;
}

static bool is_parsed(const char *text)
{
    struct json *value = parse_bytes(text, strlen(text), 8);
    json_free(value);
    return value != NULL;
}

static void utf8_is_that_of_rfc_3629(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "a",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "a\xc3\xa9z"};
    static const char *const wrong[] = {"\x80",
                                        "\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc2",
                                        "\xc2\x41",
                                        "\xe0\x9f\xbf",
                                        "\xe0\xa0",
                                        "\xed\xa0\x80",
                                        "\xed\xbf\xbf",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf0\x90\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xf8\x88\x80\x80\x80",
                                        "\xfe",
                                        "\xff",
                                        "a\x80",
                                        "\xe2\x82\x41",
                                        "\xf0\x90\x41\x80"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(json_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(json_is_utf8(wrong[i], strlen(wrong[i])));
    assert_false(json_is_utf8("a\0b", 3));
    assert_false(json_is_utf8("\xc3\xa9", 1)); /* cut by the length */
}

static void well_formed_text_is_parsed(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}",
        "[]",
        "1",
        "-0",
        "1.5e3",
        "true",
        "false",
        "null",
        "\"\"",
        " \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
        "\"\\u0041\\n\\\\\\/\\\"\"",
        "\"\\ud83d\\ude00\"",
        "\"\\\\u0000\"",
        "{\"a\":{\"b\":[[]]}}",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!is_parsed(good[i]))
            fail_msg("refused: %s", good[i]);
}

static void other_text_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1}x",
        "{} {}",
        "1 2",
        "tru",
        "True",
        "nul",
        "\"",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "+1",
        ".5",
        "-",
        "NaN",
        "Infinity",
        "//\n1",
        "\"\xff\"",
        "\"\xed\xa0\x80\"",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (is_parsed(wrong[i]))
            fail_msg("accepted: %s", wrong[i]);
}

/* What some parsers let through. */
static void loose_text_is_refused_too(void **state)
{
    (void)state;
    static const char *const wrong[] = {"01",
                                        "-01",
                                        "1.",
                                        "1e",
                                        "1.e5",
                                        "--1",
                                        "1-2",
                                        "\"a\nb\"",
                                        "\"a\tb\"",
                                        "\"\x1f\"",
                                        "\x01{}",
                                        "{\x0b}",
                                        "[1,\x0c"
                                        "2]",
                                        "\xef\xbb\xbf{}"};
    int accepted = 0;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (is_parsed(wrong[i])) {
            print_error("accepted: %s\n", wrong[i]);
            accepted++;
        }
    assert_int_equal(accepted, 0);
}

static void nul_is_refused_raw_and_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        bool good;
    } cases[] = {
        {"\"a\0b\"", 5, false},       {"{}\0", 3, false},
        {"\0{}", 3, false},           {"\"\\u0000\"", 8, false},
        {"\"a\\u0000b\"", 10, false}, {"{\"\\u0000\":1}", 12, false},
        {"\"\\\\u0000\"", 9, true},   {"\"\\\\\\u0000\"", 10, false},
        {"\"\\u0001\"", 8, true},     {"\"u0000\"", 7, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json *value = parse_bytes(cases[i].text, cases[i].length, 8);
        assert_int_equal(value != NULL, cases[i].good);
        json_free(value);
    }
}

static void nesting_is_limited(void **state)
{
    (void)state;
    for (int depth = 1; depth <= 10; depth++)
        for (int limit = 1; limit <= 9; limit++) {
            char text[64] = "";
            for (int i = 0; i < depth; i++)
                text[i] = '[';
            for (int i = 0; i < depth; i++)
                text[depth + i] = ']';
            struct json *value = parse_bytes(text, (size_t)(2 * depth), limit);
            assert_int_equal(value != NULL, depth <= limit);
            json_free(value);
        }
    /* In strings it does not count, and neighbours do not add up. */
    static const char *const flat[] = {"[\"[[[[{{{{\",[],[],{}]", "[\"\\\"[[[[\",[]]", "[\"\\\\\",[]]"};
    for (size_t i = 0; i < COUNT_OF(flat); i++) {
        struct json *value = parse_bytes(flat[i], strlen(flat[i]), 2);
        assert_non_null(value);
        json_free(value);
    }
    size_t deep = 500000; /* deeper than any stack */
    char *text = malloc(deep);
    assert_non_null(text);
    memset(text, '[', deep);
    assert_null(json_parse(text, deep, 8));
    free(text);
}

static void whole_numbers_have_53_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"1e3", true, 1000},
        {"4294967296", true, (int64_t)1 << 32},
        {"9007199254740991", true, 9007199254740991},
        {"-9007199254740991", true, -9007199254740991},
        {"9007199254740992", false, 0},
        {"9007199254740993", false, 0},
        {"-9007199254740992", false, 0},
        {"18446744073709551615", false, 0},
        {"1e300", false, 0},
        {"-1e300", false, 0},
        {"1e999", false, 0},
        {"0.5", false, 0},
        {"1.0000001", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
        {"[1]", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t value = -77;
        uint64_t size = 77;
        struct json *json = parse_bytes(cases[i].text, strlen(cases[i].text), 8);
        if (!json) { /* beyond a double: refused altogether is good, too */
            assert_false(cases[i].whole);
            continue;
        }
        assert_int_equal(json_as_whole(json, &value), cases[i].whole);
        assert_int_equal(value, cases[i].whole ? cases[i].value : -77);
        bool is_size = cases[i].whole && cases[i].value >= 0;
        assert_int_equal(json_as_size(json, &size), is_size);
        assert_int_equal(size, is_size ? cases[i].value : 77);
        json_free(json);
    }
}

static void expect_same_number(uint64_t number)
{
    struct json *object = json_object();
    int64_t value = -1;
    json_add_size(object, "n", number);
    char *text = json_print(object);
    json_free(object);
    object = json_parse(text, strlen(text), 2);
    if (!object || !json_as_whole(json_get(object, "n"), &value) || (uint64_t)value != number)
        fail_msg("%llu became %s", (unsigned long long)number, text);
    json_free(object);
    free(text);
}

static void sizes_survive_exactly(void **state)
{
    (void)state;
    for (int bit = 0; bit < 53; bit++)
        for (int near = -3; near <= 3; near++) {
            uint64_t number = ((uint64_t)1 << bit) + (uint64_t)(int64_t)near;
            if (number <= LIMIT_SIZE)
                expect_same_number(number);
        }
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        expect_same_number(random >> 11);
    }
    expect_same_number(LIMIT_SIZE);
}

static void print_and_parse_agree(void **state)
{
    (void)state;
    struct json *object = json_object();
    struct json *array = json_add(object, "a", json_array());
    json_add_size(array, NULL, 5);
    json_add_text(array, NULL, "x\"y\n\x01");
    json_add_bool(object, "t", true);
    json_add_null(object, "n");
    json_add_number(object, "d", -1.5);
    json_add_number(object, "inf", 1e308 * 10);
    json_add_hex(object, "h", (const uint8_t *)"\x00\xff\x0a", 3);
    char *text = json_print(object);
    assert_null(strpbrk(text, " \n\t"));
    json_free(object);
    object = json_parse(text, strlen(text), 3);
    assert_non_null(object);
    free(text);
    bool flag = false;
    uint8_t bytes[3];
    int64_t whole;
    array = (struct json *)json_get(object, "a");
    assert_true(json_is_array(array) && !json_is_object(array));
    assert_int_equal(json_length(array), 2);
    assert_true(json_as_whole(json_first(array), &whole));
    assert_string_equal(json_as_text(json_next(json_first(array))), "x\"y\n\x01");
    assert_null(json_next(json_next(json_first(array))));
    double number = 0;
    assert_true(json_as_number(json_get(object, "d"), &number) && number == -1.5);
    assert_true(json_as_number(json_get(object, "inf"), &number) && number == 0);
    assert_false(json_as_number(json_get(object, "t"), &number));
    assert_false(json_as_number(json_get(object, "missing"), &number));
    assert_true(json_as_bool(json_get(object, "t"), &flag) && flag);
    assert_false(json_as_bool(json_get(object, "n"), &flag));
    assert_false(json_as_bool(json_get(object, "missing"), &flag));
    assert_null(json_as_text(json_get(object, "t")));
    assert_true(json_as_hex(json_get(object, "h"), bytes, 3));
    assert_memory_equal(bytes, "\x00\xff\x0a", 3);
    assert_false(json_as_hex(json_get(object, "h"), bytes, 2));
    assert_null(json_get(object, "T")); /* names are told apart by case */
    assert_int_equal(json_length(object), 0);
    assert_null(json_first(object));
    assert_null(json_get(array, "x"));
    json_free(object);
    assert_null(json_get(NULL, "x"));
    assert_false(json_is_object(NULL));
}

static void hexadecimal_digits_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"\"00ff\"", true},   {"\"00FF\"", true},    {"\"00fg\"", false},      {"\"00f\"", false},
                 {"\"00ff0\"", false}, {"\"00ff00\"", false}, {"\"\"", false},          {"\" 0ff\"", false},
                 {"\"0x0f\"", false},  {"255", false},        {"\"00f\\u00e9\"", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t out[2];
        struct json *value = parse_bytes(cases[i].text, strlen(cases[i].text), 1);
        assert_non_null(value);
        assert_int_equal(json_as_hex(value, out, 2), cases[i].good);
        json_free(value);
    }
}

static void digits_may_be_absent(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good, is_there;
    } cases[] = {{"{}", true, false},
                 {"{\"h\":\"00ff\"}", true, true},
                 {"{\"h\":\"00f\"}", false, true},
                 {"{\"h\":null}", false, true},
                 {"[]", true, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t out[2];
        bool is_there = !cases[i].is_there;
        struct json *value = parse_bytes(cases[i].text, strlen(cases[i].text), 1);
        assert_non_null(value);
        assert_int_equal(json_get_hex(value, "h", &is_there, out, 2), cases[i].good);
        assert_int_equal(is_there, cases[i].is_there);
        json_free(value);
    }
}

static void texts_become_utf8(void **state)
{
    (void)state;
    struct json *object = json_object();
    json_add_text(object, "t", "a\xff\xc3\xa9\xed\xa0\x80z");
    assert_string_equal(json_as_text(json_get(object, "t")),
                        "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
    json_free(object);
}

static void names_are_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"plain",      "\xed\x95\x9c", "\xff",    "a/\xc3/b",
                                        "\n\x1b\"\\", "\xed\xa0\x80", "\x80 end"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (int lossy = 0; lossy < 2; lossy++) {
            bool clean = json_is_utf8(names[i], strlen(names[i]));
            struct json *object = json_object();
            json_add_path(object, "path", names[i], lossy != 0);
            char *text = json_print(object);
            json_free(object);
            assert_true(json_is_utf8(text, strlen(text)));
            object = json_parse(text, strlen(text), 2);
            assert_non_null(object);
            assert_int_equal(json_get(object, "path") != NULL, clean || lossy);
            assert_int_equal(json_get(object, "path_hex") != NULL, !clean);
            char *path = json_get_path(object, "path");
            assert_string_equal(path, names[i]);
            free(path);
            free(text);
            json_free(object);
        }
}

static void wrong_names_are_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{}",
                                        "{\"path\":5}",
                                        "{\"path_hex\":\"6\"}",
                                        "{\"path_hex\":\"6g\"}",
                                        "{\"path_hex\":5}",
                                        "{\"path_hex\":\"610061\"}",
                                        "{\"path_hex\":\"00\"}",
                                        "{\"path\":\"x\",\"path_hex\":\"zz\"}"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct json *object = parse_bytes(wrong[i], strlen(wrong[i]), 1);
        assert_non_null(object);
        char *path = json_get_path(object, "path");
        if (path)
            fail_msg("%s gives a name", wrong[i]);
        json_free(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_that_of_rfc_3629),
        cmocka_unit_test(well_formed_text_is_parsed),
        cmocka_unit_test(other_text_is_refused),
        cmocka_unit_test(loose_text_is_refused_too),
        cmocka_unit_test(nul_is_refused_raw_and_escaped),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(whole_numbers_have_53_bits),
        cmocka_unit_test(sizes_survive_exactly),
        cmocka_unit_test(print_and_parse_agree),
        cmocka_unit_test(hexadecimal_digits_are_checked),
        cmocka_unit_test(digits_may_be_absent),
        cmocka_unit_test(texts_become_utf8),
        cmocka_unit_test(names_are_bytes),
        cmocka_unit_test(wrong_names_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
