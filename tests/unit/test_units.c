/* What units.h promises: strict numbers, sizes in the units that people write, and texts that read well
 * at the borders between two units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/units.h"

static void numbers_in_range_are_read(void **state)
{
    (void)state;
    struct error err;
    uint64_t number = 0;
    assert_int_equal(units_parse_number("1", 1, 64, &number, &err), 0);
    assert_int_equal(number, 1);
    assert_int_equal(units_parse_number("64", 1, 64, &number, &err), 0);
    assert_int_equal(number, 64);
    assert_int_equal(units_parse_number("007", 1, 64, &number, &err), 0);
    assert_int_equal(number, 7);
    assert_int_equal(units_parse_number("18446744073709551615", 0, UINT64_MAX, &number, &err), 0);
    assert_true(number == UINT64_MAX);
}

static void anything_but_digits_in_range_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "4x",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "0x4",
                                        "1.",
                                        "1e3",
                                        "four",
                                        "0",
                                        "65",
                                        "18446744073709551616",
                                        "99999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error err;
        uint64_t number = 5;
        assert_int_equal(units_parse_number(wrong[i], 1, 64, &number, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
        assert_int_equal(number, 5);
    }
    struct error err;
    uint64_t number;
    assert_int_equal(units_parse_number("18446744073709551616", 0, UINT64_MAX, &number, &err), -1);
    assert_int_equal(units_parse_number("18446744073709551620", 0, UINT64_MAX, &number, &err), -1);
}

static void a_refused_number_is_named_with_its_range(void **state)
{
    (void)state;
    struct error err;
    uint64_t number;
    assert_int_equal(units_parse_number("4x", 1, 64, &number, &err), -1);
    assert_string_equal(err.text, "'4x' is not a whole number from 1 to 64");
}

static void sizes_are_read_in_all_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"4096", 4096},
        {"10B", 10},
        {"200M", 200000000},
        {"200MB", 200000000},
        {"2g", 2000000000},
        {"1.5G", 1500000000},
        {"0.001k", 1},
        {"1.0005k", 1000},
        {"64KiB", 65536},
        {"64Ki", 65536},
        {"8mib", 8388608},
        {"1.5GiB", 1610612736},
        {"3T", 3000000000000},
        {"1TiB", 1099511627776},
        {"2P", 2000000000000000},
        {"1.000000000000000000000000000009M", 1000000},
        {"18446744073709551615", UINT64_MAX},
        {"16383PiB", 18445618173802708992u},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err;
        uint64_t bytes = 0;
        assert_int_equal(units_parse_size(cases[i].text, &bytes, &err), 0);
        assert_true(bytes == cases[i].bytes);
    }
}

static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "M",
                                        "-1M",
                                        "+1M",
                                        " 1M",
                                        "1M ",
                                        "1 M",
                                        "1X",
                                        "1MM",
                                        "1iB",
                                        "1.M",
                                        ".5M",
                                        "1.5",
                                        "1.5B",
                                        "1,5M",
                                        "0x10",
                                        "nan",
                                        "1MiX",
                                        "1e3",
                                        "16384PiB",
                                        "18446744073709551616",
                                        "18446744073709552K"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error err;
        uint64_t bytes;
        assert_int_equal(units_parse_size(wrong[i], &bytes, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
    }
}

static void bytes_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {999, "999 B"},
        {1000, "1.00 kB"},
        {9994, "9.99 kB"},
        {9996, "10.0 kB"},
        {99960, "100 kB"},
        {999499, "999 kB"},
        {999500, "1.00 MB"},
        {812000000, "812 MB"},
        {1234567890, "1.23 GB"},
        {400000000000, "400 GB"},
        {999999999999, "1.00 TB"},
        {UINT64_MAX, "18.4 EB"},
    };
    char text[UNITS_TEXT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(units_format_bytes(text, cases[i].bytes), cases[i].text);
}

static void rates_are_bytes_with_a_second(void **state)
{
    (void)state;
    char text[UNITS_TEXT_MAX];
    assert_string_equal(units_format_rate(text, 850000000), "850 MB/s");
    assert_string_equal(units_format_rate(text, 0), "0 B/s");
    assert_string_equal(units_format_rate(text, 1150000000), "1.15 GB/s");
}

static void durations_grow_from_seconds_to_days(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        const char *text;
    } cases[] = {
        {0, "0.0 s"},          {849, "0.8 s"},
        {9949, "9.9 s"},       {9950, "10 s"},
        {12000, "12 s"},       {59499, "59 s"},
        {59500, "1:00"},       {123000, "2:03"},
        {3599499, "59:59"},    {3599500, "1:00:00"},
        {3723000, "1:02:03"},  {359999000, "99:59:59"},
        {360000000, "4 days"}, {UINT64_MAX, "213503982334 days"},
    };
    char text[UNITS_TEXT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(units_format_duration(text, cases[i].ms), cases[i].text);
}

static void ages_are_in_words(void **state)
{
    (void)state;
    static const struct {
        int64_t age_s;
        const char *text;
    } cases[] = {
        {0, "just now"},
        {59, "just now"},
        {60, "1 minute ago"},
        {7199, "1 hour ago"},
        {3 * 86400, "3 days ago"},
        {13 * 86400, "1 week ago"},
        {30 * 86400, "1 month ago"},
        {800 * 86400, "2 years ago"},
        {-1, "in the future"},
        {-1000000, "in the future"},
        {INT64_MIN, "in the future"},
    };
    char text[UNITS_TEXT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(units_format_age(text, cases[i].age_s), cases[i].text);
}

static void times_are_rfc3339_at_any_second(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        uint32_t ns;
        const char *text;
    } cases[] = {
        {0, 0, "1970-01-01T00:00:00Z"},
        {-1, 0, "1969-12-31T23:59:59Z"},
        {-1, 999999999, "1969-12-31T23:59:59.999999999Z"},
        {1, 5, "1970-01-01T00:00:01.000000005Z"},
        {951782400, 0, "2000-02-29T00:00:00Z"},
        {4107542400, 0, "2100-03-01T00:00:00Z"},
        {2147483648, 0, "2038-01-19T03:14:08Z"},
        {4294967296, 0, "2106-02-07T06:28:16Z"},
        {-2147483649, 0, "1901-12-13T20:45:51Z"},
        {253402300799, 0, "9999-12-31T23:59:59Z"},
        {253402300800, 0, "+10000-01-01T00:00:00Z"},
        {-62135596800, 0, "0001-01-01T00:00:00Z"},
        {-62167219200, 0, "0000-01-01T00:00:00Z"},
        {-62167219201, 0, "-0001-12-31T23:59:59Z"},
        {INT64_MAX, 999999999, "+292277026596-12-04T15:30:07.999999999Z"},
        {INT64_MIN, 0, "-292277022657-01-27T08:29:52Z"},
    };
    char text[UNITS_TEXT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(units_format_time(text, cases[i].seconds, cases[i].ns), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_range_are_read),
        cmocka_unit_test(anything_but_digits_in_range_is_refused),
        cmocka_unit_test(a_refused_number_is_named_with_its_range),
        cmocka_unit_test(sizes_are_read_in_all_units),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(bytes_have_three_digits),
        cmocka_unit_test(rates_are_bytes_with_a_second),
        cmocka_unit_test(durations_grow_from_seconds_to_days),
        cmocka_unit_test(ages_are_in_words),
        cmocka_unit_test(times_are_rfc3339_at_any_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
