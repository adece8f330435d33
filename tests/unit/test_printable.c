/* What is shown of a name holds no control character and no broken UTF-8, and fits. */
#include "support.h"

#include "common/printable.h"
#include "proto/json.h"

static void expect(const char *text, const char *wanted)
{
    char out[256];
    assert_ptr_equal(printable(text, out, sizeof out), out);
    assert_string_equal(out, wanted);
}

static void good_text_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "a b", "back\\slash", "\xc3\xa9", "\xed\x95\x9c", "\xf0\x9f\x98\x80", "\xc2\xa0", "~'\""};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        expect(good[i], good[i]);
}

static void what_moves_a_terminal_is_escaped(void **state)
{
    (void)state;
    expect("a\nb\r\tc", "a\\x0ab\\x0d\\x09c");
    expect("\x1b[2J", "\\x1b[2J");
    expect("\x7f", "\\x7f");
    expect("\xc2\x9b"
           "2J",
           "\\xc2\\x9b2J"); /* C1: a control sequence for some terminals */
    expect("\xc2\x80", "\\xc2\\x80");
    expect("\xff\xfe", "\\xff\\xfe");
    expect("a\xc3", "a\\xc3");
    expect("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
    expect("\xe2\x82", "\\xe2\\x82");
}

static void every_pair_of_bytes_gives_printable_text(void **state)
{
    (void)state;
    for (int a = 1; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            char text[] = {(char)a, (char)b, '\0'}, out[32];
            printable(text, out, sizeof out);
            assert_true(json_is_utf8(out, strlen(out)));
            for (const char *c = out; *c; c++)
                assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
        }
}

static void it_is_cut_between_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xed\x95\x9c\n\xf0\x9f\x98\x80z";
    for (size_t size = 1; size < 24; size++) {
        char out[32];
        memset(out, 'X', sizeof out);
        printable(text, out, size);
        assert_true(strlen(out) < size);
        assert_true(json_is_utf8(out, strlen(out)));
        assert_int_equal(out[size], 'X');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_text_stays_as_it_is),
        cmocka_unit_test(what_moves_a_terminal_is_escaped),
        cmocka_unit_test(every_pair_of_bytes_gives_printable_text),
        cmocka_unit_test(it_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
