/* Digits of bytes, and nothing else taken for one. */
#include "support.h"

#include "proto/hex.h"

static void every_byte_survives(void **state)
{
    (void)state;
    uint8_t bytes[256], back[256];
    char text[HEX_MAX(sizeof bytes)], wanted[3];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    assert_ptr_equal(hex_print(text, bytes, sizeof bytes), text);
    assert_int_equal(strlen(text), 512);
    for (int i = 0; i < 256; i++) {
        (void)snprintf(wanted, sizeof wanted, "%02x", i);
        assert_memory_equal(text + 2 * i, wanted, 2);
    }
    assert_true(hex_parse(back, sizeof back, text));
    assert_memory_equal(back, bytes, sizeof bytes);
    assert_string_equal(hex_print(text, bytes, 0), "");
}

/* Each of the 256 characters in each place; a NUL ends the look, so nothing behind it is read. */
static void only_digits_are_digits(void **state)
{
    (void)state;
    for (int at = 0; at < 4; at++)
        for (int c = 0; c < 256; c++) {
            char text[5] = "00Aa";
            uint8_t out[2];
            text[at] = (char)c;
            bool is_digit = c != 0 && strchr("0123456789abcdefABCDEF", c) != NULL;
            char *copy = strdup(text); /* so that the sanitizer knows where it ends */
            assert_non_null(copy);
            assert_int_equal(hex_parse(out, 2, copy), is_digit);
            free(copy);
        }
}

static void either_case_and_what_follows(void **state)
{
    (void)state;
    uint8_t out[2];
    assert_true(hex_parse(out, 2, "AbcDxyz"));
    assert_memory_equal(out, "\xab\xcd", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_survives),
        cmocka_unit_test(only_digits_are_digits),
        cmocka_unit_test(either_case_and_what_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
