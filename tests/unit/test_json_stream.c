/* Tokens, whatever the pieces in which a text is fed; and the limits that keep memory bounded. */
#include "support.h"

#include "common/json_stream.h"

struct record {
    char text[1024];
    const char *stop_at; /* a key */
};

/* Writes each token as its depth, a sign and its text. */
static int record_token(void *context, const struct json_token *token)
{
    static const char signs[] = {'{', '}', '[', ']', ':', '"', '#', '!'};
    struct record *record = context;
    size_t used = strlen(record->text);
    (void)snprintf(record->text + used, sizeof record->text - used, "%d%c%.*s ", token->depth,
                   signs[token->event], (int)token->length, token->text ? token->text : "");
    return record->stop_at && token->event == JSON_KEY && json_token_is(token, record->stop_at) ? -1 : 0;
}

/* Feeds `piece` bytes at a time. */
static enum json_stream_result run(struct record *record, const char *text, size_t length, size_t piece,
                                   int depth, size_t max_token)
{
    struct json_stream *stream = json_stream_create(record_token, record, depth, max_token);
    enum json_stream_result result = JSON_STREAM_GOOD;
    record->text[0] = '\0';
    for (size_t at = 0; at < length && result == JSON_STREAM_GOOD; at += piece)
        result = json_stream_feed(stream, text + at, length - at < piece ? length - at : piece);
    if (result == JSON_STREAM_GOOD)
        result = json_stream_finish(stream);
    json_stream_destroy(&stream);
    assert_null(stream);
    return result;
}

static void tokens_are_the_same_in_any_pieces(void **state)
{
    (void)state;
    static const char text[] =
        " {\"a\": [1, -2.5e3, \"\\u00e9\\n\\\"\", true, null, {}], \"b\\u0041\": {\"c\": []}} \n";
    static const char tokens[] =
        "0{ 1:a 1[ 2#1 2#-2.5e3 2\"\xc3\xa9\n\" 2! 2! 2{ 2} 1] 1:bA 1{ 2:c 2[ 2] 1} 0} ";
    struct record record = {0};
    for (size_t piece = 1; piece < sizeof text; piece++) {
        assert_int_equal(run(&record, text, sizeof text - 1, piece, 8, 100), JSON_STREAM_GOOD);
        assert_string_equal(record.text, tokens);
    }
}

static void text_that_is_no_json_is_malformed(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         " ",   "{",   "[1,]",          "{\"a\":1,}", "1 2",
                                      "{}x",      "'a'", "01",  "nul",           "\"\x01\"",   "\"\xff\"",
                                      "[1] // x", "NaN", "\"a", "\xef\xbb\xbf{}"};
    struct record record = {0};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (run(&record, bad[i], strlen(bad[i]), 3, 8, 100) != JSON_STREAM_MALFORMED)
            fail_msg("taken: %s", bad[i]);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    struct record record = {0};
    assert_int_equal(run(&record, "[[[]]]", 6, 6, 3, 100), JSON_STREAM_GOOD);
    assert_int_equal(run(&record, "[[[]]]", 6, 6, 2, 100), JSON_STREAM_TOO_DEEP);
    assert_int_equal(run(&record, "[{\"a\":{", 7, 1, 2, 100), JSON_STREAM_TOO_DEEP);
}

static void tokens_are_bounded(void **state)
{
    (void)state;
    static const char frames[][2] = {"\"\"", "  "};
    struct record record = {0};
    char text[300];
    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        memset(text, i ? ' ' : 'x', sizeof text);
        text[0] = frames[i][0];
        text[100] = frames[i][1];
        text[101] = i ? '1' : ' ';
        assert_int_equal(run(&record, text, 102, 1, 8, 102), JSON_STREAM_GOOD);
        assert_int_equal(run(&record, text, 102, 1, 8, 90), JSON_STREAM_TOO_LONG);
    }
    memset(text, '1', sizeof text);
    assert_int_equal(run(&record, text, sizeof text, 1, 8, 200), JSON_STREAM_TOO_LONG);
}

static void a_visitor_can_stop(void **state)
{
    (void)state;
    struct record record = {.stop_at = "b"};
    assert_int_equal(run(&record, "{\"a\":1,\"b\":2,\"c\":3}", 19, 19, 8, 100), JSON_STREAM_STOPPED);
    assert_string_equal(record.text, "0{ 1:a 1#1 1:b ");
}

static void whole_numbers_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_whole;
        uint64_t number;
    } rows[] = {
        {"0", true, 0},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"-1", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t number = 0;
        struct json_token token = {JSON_NUMBER, 0, rows[i].text, strlen(rows[i].text)};
        assert_int_equal(json_token_whole(&token, &number), rows[i].is_whole);
        assert_int_equal(number, rows[i].number);
        token.event = JSON_STRING;
        assert_false(json_token_whole(&token, &number));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_the_same_in_any_pieces),
        cmocka_unit_test(text_that_is_no_json_is_malformed),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(tokens_are_bounded),
        cmocka_unit_test(a_visitor_can_stop),
        cmocka_unit_test(whole_numbers_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
