/* Error codes: names, numbers and exit statuses are the contract of docs/protocol.md, and texts are cut,
 * never overrun. */
#include "support.h"

#include "proto/error.h"

static const struct {
    int number;
    const char *name;
    int exit_status;
} contract[] = {
    {1, "failed", 1},
    {2, "usage", 2},
    {3, "no-such-model", 3},
    {4, "refused", 4},
    {5, "hash-mismatch", 5},
    {6, "no-connection", 6},
    {7, "connection-lost", 6},
    {8, "protocol-error", 1},
    {9, "not-mstore", 1},
    {10, "version-mismatch", 1},
    {11, "some-files-failed", 7},
    {12, "file-error", 7},
    {13, "file-changed", 7},
    {14, "no-space", 8},
    {15, "busy", 9},
    {16, "store-unavailable", 1},
    {17, "interrupted", 130},
    {18, "terminated", 143},
};

static void codes_are_those_of_the_protocol(void **state)
{
    (void)state;
    assert_int_equal(ERROR_CODE_COUNT, COUNT_OF(contract) + 1);
    for (size_t i = 0; i < COUNT_OF(contract); i++) {
        enum error_code code = (enum error_code)contract[i].number;
        assert_string_equal(error_name(code), contract[i].name);
        assert_int_equal(error_from_name(contract[i].name), contract[i].number);
        assert_int_equal(error_exit_status(code), contract[i].exit_status);
    }
    assert_int_equal(error_exit_status(ERROR_NONE), 0);
}

static void what_is_unknown_is_a_plain_failure(void **state)
{
    (void)state;
    static const char *const names[] = {"", "ok", "Failed", "no-such-model ", "hash", "x"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(error_from_name(names[i]), ERROR_FAILED);
    static const unsigned numbers[] = {ERROR_CODE_COUNT, 1000, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        assert_string_equal(error_name((enum error_code)numbers[i]), "failed");
        assert_int_equal(error_exit_status((enum error_code)numbers[i]), 1);
    }
}

static void an_error_carries_its_text(void **state)
{
    (void)state;
    struct error err = {.sys = 7};
    assert_int_equal(error_set(&err, ERROR_BUSY, "'%s' %d", "x", 5), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_int_equal(err.sys, 0);
    assert_string_equal(err.text, "'x' 5");
}

static void a_text_that_is_too_long_is_cut(void **state)
{
    (void)state;
    struct {
        struct error err;
        char guard[16];
    } fenced;
    char text[2000];
    for (size_t length = 480; length < 540; length++) {
        memset(text, 'x', sizeof text);
        text[length] = '\0';
        memset(&fenced, 0x77, sizeof fenced);
        (void)error_set(&fenced.err, ERROR_FAILED, "%s", text);
        assert_int_equal(strlen(fenced.err.text), length < ERROR_TEXT_MAX ? length : ERROR_TEXT_MAX - 1);
        (void)error_set_sys(&fenced.err, ERROR_FAILED, ENOENT, "%s", text);
        assert_true(strlen(fenced.err.text) < ERROR_TEXT_MAX);
        for (size_t i = 0; i < sizeof fenced.guard; i++)
            assert_int_equal(fenced.guard[i], 0x77);
    }
}

static void an_errno_is_put_into_words(void **state)
{
    (void)state;
    struct error err;
    assert_int_equal(error_set_sys(&err, ERROR_FILE, ENOENT, "cannot open '%s'", "x"), -1);
    assert_int_equal(err.code, ERROR_FILE);
    assert_int_equal(err.sys, ENOENT);
    assert_string_equal(err.text, "cannot open 'x': No such file or directory");
}

static void some_errnos_have_a_code_of_their_own(void **state)
{
    (void)state;
    static const struct {
        int sys;
        enum error_code code;
    } cases[] = {{ENOSPC, ERROR_NO_SPACE},
                 {EDQUOT, ERROR_NO_SPACE},
                 {EFBIG, ERROR_NO_SPACE},
                 {ESTALE, ERROR_UNAVAILABLE},
                 {ENOTCONN, ERROR_UNAVAILABLE}};
    struct error err;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        (void)error_set_sys(&err, ERROR_FAILED, cases[i].sys, "x");
        assert_int_equal(err.code, cases[i].code);
        (void)error_set_sys(&err, ERROR_FILE, cases[i].sys, "x");
        assert_int_equal(err.code, cases[i].code);
        (void)error_set_sys(&err, ERROR_LOST, cases[i].sys, "x"); /* only where nothing better is known */
        assert_int_equal(err.code, ERROR_LOST);
    }
    (void)error_set_sys(&err, ERROR_FILE, EACCES, "x");
    assert_int_equal(err.code, ERROR_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_those_of_the_protocol),
        cmocka_unit_test(what_is_unknown_is_a_plain_failure),
        cmocka_unit_test(an_error_carries_its_text),
        cmocka_unit_test(a_text_that_is_too_long_is_cut),
        cmocka_unit_test(an_errno_is_put_into_words),
        cmocka_unit_test(some_errnos_have_a_code_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
