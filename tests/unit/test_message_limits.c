/* Control messages against their limits: entries of listings, batches, texts, ids and paths, and what is no
 * message. */
#include "message_text.h"

static void files_are_held_against_their_limits(void **state)
{
    (void)state;
    static const char good[] =
        "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"hash\":\"" HASH
        "\",\"source\":7,\"from\":\"live\",\"sha256\":\"" SECRET "\",\"git_blob\":\"" GIT_BLOB "\"}";
    static const struct {
        size_t at;
        const char *by;
        bool good;
    } cases[] = {
        {0, NULL, false},
        {0, "\"path\":\"\"", false},
        {0, "\"path\":\"../a\"", false},
        {0, "\"path\":\"/a\"", false},
        {0, "\"path\":\".mstore/x\"", false},
        {0, "\"path\":5", false},
        {0, "\"path_hex\":\"61\"", true},
        {0, "\"path_hex\":\"2e2e\"", false},
        {0, "\"path_hex\":\"6100\"", false},
        {0, "\"path_hex\":\"6\"", false},
        {1, NULL, false},
        {1, "\"size\":-1", false},
        {1, "\"size\":9007199254740992", false},
        {1, "\"size\":\"5\"", false},
        {2, NULL, false},
        {2, "\"mtime\":-9007199254740991", true},
        {2, "\"mtime\":1.5", false},
        {3, NULL, false},
        {3, "\"nsec\":1000000000", false},
        {4, NULL, true},
        {4, "\"hash\":\"\"", false},
        {4, "\"hash\":\"00\"", false},
        {4, "\"hash\":null", false},
        {4, "\"hash\":\"" HASH "00\"", false},
        {4, "\"hash\":\"g0112233445566778899aabbccddeeff\"", false},
        {5, NULL, true},
        {5, "\"source\":-1", false},
        {5, "\"source\":\"7\"", false},
        {5, "\"source\":9007199254740991", true},
        {6, NULL, true},
        {6, "\"from\":\"\"", false},
        {6, "\"from\":\"nowhere\"", false},
        {6, "\"from\":5", false},
        {6, "\"from\":\"staged\"", true},
        {6, "\"unknown\":[1,{}]", true},
        {7, NULL, true},
        {7, "\"sha256\":null", false},
        {7, "\"sha256\":\"" HASH "\"", false},
        {7, "\"sha256\":\"" SECRET "00\"", false},
        {8, NULL, true},
        {8, "\"git_blob\":\"" HASH "\"", false},
        {8, "\"git_blob\":\"" SECRET "\"", false},
        {8, "\"git_blob\":7", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[2048], *file = replace(good, cases[i].at, cases[i].by);
        (void)snprintf(text, sizeof text, "{\"type\":\"files\",\"files\":[%s,%s]}", good, file);
        expect(text, cases[i].good);
        free(file);
    }
    expect("{\"type\":\"files\",\"files\":[]}", false);
    expect("{\"type\":\"files\",\"files\":[5]}", false);
    expect("{\"type\":\"files\",\"files\":[[]]}", false);
}

/* `{"type":"…",` + count times `item` with commas + `}`. */
static bool is_batch_accepted(const char *head, const char *item, const char *comma, size_t count,
                              const char *tail)
{
    size_t length = strlen(head) + count * (strlen(item) + strlen(comma)) + strlen(tail);
    char *text = malloc(length + 1), *at = text;
    assert_non_null(text);
    at = mempcpy(at, head, strlen(head));
    for (size_t i = 0; i < count; i++) {
        at = mempcpy(at, i ? comma : "", i ? strlen(comma) : 0);
        at = mempcpy(at, item, strlen(item));
    }
    memcpy(at, tail, strlen(tail) + 1);
    bool accepted = is_accepted(text);
    free(text);
    return accepted;
}

static void batches_have_a_greatest_number(void **state)
{
    (void)state;
    static const char file[] = "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0}";
    assert_true(is_batch_accepted("{\"type\":\"files\",\"files\":[", file, ",", LIMIT_BATCH_FILES, "]}"));
    assert_false(
        is_batch_accepted("{\"type\":\"files\",\"files\":[", file, ",", LIMIT_BATCH_FILES + 1, "]}"));
    static const char checked[] = "{\"type\":\"checked\",\"path\":\"a\",\"ok\":false,\"bad\":[";
    assert_true(is_batch_accepted(checked, "1", ",", 8192, "]}"));
    assert_false(is_batch_accepted(checked, "1", ",", 8193, "]}"));
    static const char blocks[] = "{\"type\":\"blocks\",\"file\":0,\"first\":0,\"hashes\":\"";
    assert_false(is_batch_accepted(blocks, HASH, "", 0, "\"}"));
    assert_true(is_batch_accepted(blocks, HASH, "", LIMIT_BATCH_HASHES, "\"}"));
    assert_false(is_batch_accepted(blocks, HASH, "", LIMIT_BATCH_HASHES + 1, "\"}"));
    assert_false(is_batch_accepted(blocks, HASH, "", 1, "0\"}"));
    assert_false(is_batch_accepted(blocks, "g0112233445566778899aabbccddeeff", "", 1, "\"}"));
}

static void texts_have_at_most_511_bytes(void **state)
{
    (void)state;
    static const char head[] = "{\"type\":\"error\",\"code\":\"busy\",\"message\":\"";
    assert_true(is_batch_accepted(head, "x", "", 0, "\"}"));
    assert_true(is_batch_accepted(head, "x", "", LIMIT_TEXT, "\"}"));
    assert_false(is_batch_accepted(head, "x", "", LIMIT_TEXT + 1, "\"}"));
    assert_false(is_batch_accepted(head, "\xed\x95\x9c", "", 171, "\"}"));
}

static void a_text_that_is_too_long_or_no_utf8_is_sent_in_a_form_that_is_accepted(void **state)
{
    (void)state;
    char texts[][2000] = {"plain", "\xff\xfe", ""};
    for (size_t length = 500; length < 1900; length += 100)
        for (size_t i = 0; i < COUNT_OF(texts); i++) {
            memset(texts[2], i == 1 ? '\xff' : 'x', length);
            texts[2][length] = '\0';
            struct message message = {.type = MESSAGE_ERROR, .u.error = {(char *)"failed", texts[i], NULL}},
                           got;
            size_t encoded;
            char *text = message_encode(&message, &encoded);
            assert_int_equal(decode(text, &got), 0);
            assert_true(strlen(got.u.error.message) > 0);
            assert_null(got.u.error.path);
            message_release(&got);
            free(text);
        }
}

static void ids_and_paths_are_checked(void **state)
{
    (void)state;
    expect("{\"type\":\"push\",\"model\":\"m\"}", false);
    expect("{\"type\":\"push\",\"model\":\"../m\"}", false);
    expect("{\"type\":\"push\",\"model\":\"ns/m/x\"}", false);
    expect("{\"type\":\"checked\",\"path\":\"a//b\",\"ok\":true,\"bad\":[]}", false);
    expect("{\"type\":\"checked\",\"path_hex\":\"612f2f62\",\"ok\":true,\"bad\":[]}", false);
    expect("{\"type\":\"checked\",\"path_hex\":\"612fff\",\"ok\":true,\"bad\":[]}", true);
    expect("{\"type\":\"error\",\"code\":\"busy\",\"message\":\"\",\"path\":\"../x\"}", false);
    expect("{\"type\":\"error\",\"code\":\"busy\",\"message\":\"\",\"path\":5}", false);
}

/* An optional field that is there has to be right all the same. */
static void an_optional_path_in_hexadecimal_is_checked(void **state)
{
    (void)state;
    expect("{\"type\":\"error\",\"code\":\"busy\",\"message\":\"\",\"path_hex\":\"ff\"}", true);
    expect("{\"type\":\"error\",\"code\":\"busy\",\"message\":\"\",\"path_hex\":\"zz\"}", false);
    expect("{\"type\":\"error\",\"code\":\"busy\",\"message\":\"\",\"path_hex\":\"2e2e\"}", false);
    expect("{\"type\":\"error\",\"code\":\"busy\",\"message\":\"\",\"path_hex\":5}", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_held_against_their_limits),
        cmocka_unit_test(batches_have_a_greatest_number),
        cmocka_unit_test(texts_have_at_most_511_bytes),
        cmocka_unit_test(a_text_that_is_too_long_or_no_utf8_is_sent_in_a_form_that_is_accepted),
        cmocka_unit_test(ids_and_paths_are_checked),
        cmocka_unit_test(an_optional_path_in_hexadecimal_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
