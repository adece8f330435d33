/* The record of a model in the local tier: what is written is read back, and everything else is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cache_record.h"

static const struct cache_record sample = {
    .folder = 7,
    .version = {.bytes = 400000000000, .files = 12, .number = LIMIT_SIZE, .mtime = -5, .nsec = 999999999},
    .fingerprint = 4711,
    .pinned = true};

static void a_record_is_read_back(void **state)
{
    (void)state;
    struct cache_record back;
    char *text = cache_record_print(&sample);
    assert_true(cache_record_parse(&back, text, strlen(text)));
    assert_int_equal(back.folder, sample.folder);
    assert_int_equal(back.fingerprint, sample.fingerprint);
    assert_true(back.pinned);
    assert_true(cache_version_is_same(&back.version, &sample.version));
    free(text);
}

static void every_difference_makes_another_version(void **state)
{
    (void)state;
    struct cache_version others[5];
    for (size_t i = 0; i < 5; i++)
        others[i] = sample.version;
    others[0].bytes++;
    others[1].files++;
    others[2].number--;
    others[3].mtime++;
    others[4].nsec--;
    for (size_t i = 0; i < 5; i++)
        assert_false(cache_version_is_same(&sample.version, &others[i]));
}

/* The sample's text with the first `old` replaced. */
static char *changed(const char *old, const char *new)
{
    char *text = cache_record_print(&sample), *at = strstr(text, old), *result;
    assert_non_null(at);
    assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) > 0);
    free(text);
    return result;
}

static void a_field_that_is_wrong_makes_it_none(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"\"mstore_cache\":1", "\"mstore_cache\":2"},
        {"\"folder\":7", "\"folder\":0"},
        {"\"folder\":7", "\"folder\":1000000000000"},
        {"\"folder\":7", "\"folder\":-1"},
        {"\"folder\":7", "\"folder\":\"7\""},
        {"\"folder\":7", "\"folder\":7.5"},
        {"\"folder\":7", "\"other\":7"},
        {"\"files\":12", "\"files\":262145"},
        {"\"nsec\":999999999", "\"nsec\":1000000000"},
        {"\"fingerprint\":4711", "\"fingerprint\":0"},
        {"\"pinned\":true", "\"pinned\":1"},
        {"{", "[{"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct cache_record record;
        char *text = changed(changes[i][0], changes[i][1]);
        if (cache_record_parse(&record, text, strlen(text)))
            fail_msg("accepted: %s", text);
        free(text);
    }
}

static void a_record_that_is_cut_anywhere_is_none(void **state)
{
    (void)state;
    struct cache_record record;
    char *text = cache_record_print(&sample);
    for (size_t length = 0; length < strlen(text); length++) {
        char *part = malloc(length + 1); /* of just that size, for the sanitizer */
        assert_non_null(part);
        memcpy(part, text, length);
        assert_false(cache_record_parse(&record, part, length));
        free(part);
    }
    free(text);
}

static uint64_t reserved(const char *text)
{
    return cache_record_parse_reserved(text, strlen(text));
}

static void a_reservation_that_is_none_counts_nothing(void **state)
{
    (void)state;
    assert_int_equal(reserved("{\"reserved\":400000000000}"), 400000000000);
    assert_int_equal(reserved("{\"reserved\":9007199254740991}"), LIMIT_SIZE);
    static const char *const none[] = {"",
                                       "{}",
                                       "[7]",
                                       "7",
                                       "{\"reserved\":7",
                                       "{\"reserved\":-7}",
                                       "{\"reserved\":7.5}",
                                       "{\"reserved\":\"7\"}",
                                       "{\"reserved\":9007199254740992}"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(reserved(none[i]), 0);
}

static void folders_are_numbers_without_ornament(void **state)
{
    (void)state;
    assert_int_equal(cache_folder_number("1"), 1);
    assert_int_equal(cache_folder_number("999999999999"), CACHE_FOLDER_MAX);
    static const char *const none[] = {
        "", "0", "01", "-1", "+1", "1 ", " 1", "1a", "current", "1000000000000", "."};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(cache_folder_number(none[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_read_back),
        cmocka_unit_test(every_difference_makes_another_version),
        cmocka_unit_test(a_field_that_is_wrong_makes_it_none),
        cmocka_unit_test(a_record_that_is_cut_anywhere_is_none),
        cmocka_unit_test(a_reservation_that_is_none_counts_nothing),
        cmocka_unit_test(folders_are_numbers_without_ornament),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
