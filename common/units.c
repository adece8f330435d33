/* Numbers, sizes and times between people and programs.
 *
 * Whole-number arithmetic throughout: a size near 2^64 or a date before year 0 takes the same path as
 * a small one, and what is printed never depends on floating-point rounding or on the locale. */
#include "common/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

#define NS_PER_S          1000000000u
#define S_PER_DAY         86400
#define DAYS_PER_400_YEAR 146097

/* ---- parsing ---- */

/* Adds a digit to *number; false if that overflows. */
static bool push_digit(uint64_t *number, char digit)
{
    return !__builtin_mul_overflow(*number, 10u, number) &&
           !__builtin_add_overflow(*number, (uint64_t)(digit - '0'), number);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int units_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number, struct error *err)
{
    uint64_t value = 0;
    const char *at = text;
    while (is_digit(*at) && push_digit(&value, *at))
        at++;
    if (at == text || *at != '\0' || value < min || value > max)
        return error_set(err, ERROR_USAGE, "'%s' is not a whole number from %" PRIu64 " to %" PRIu64, text,
                         min, max);
    *number = value;
    return 0;
}

/* The bytes of a unit such as "", "B", "K", "kB", "MiB"; 0 for anything else. */
static uint64_t unit_bytes(const char *unit)
{
    static const char letters[] = "KMGTP";
    if (*unit == '\0' || strcasecmp(unit, "B") == 0)
        return 1;
    uint64_t decimal = 1;
    uint64_t binary = 1;
    for (const char *letter = letters; *letter != '\0'; letter++) {
        decimal *= 1000;
        binary *= 1024;
        if (toupper((unsigned char)*unit) != *letter)
            continue;
        const char *rest = unit + 1;
        if (*rest == '\0' || strcasecmp(rest, "B") == 0)
            return decimal;
        if (strcasecmp(rest, "i") == 0 || strcasecmp(rest, "iB") == 0)
            return binary;
    }
    return 0;
}

/* The digits behind the point, as digits / scale. More than 18 of them say nothing about a petabyte and
 * are passed over. */
static const char *parse_fraction(const char *at, uint64_t *digits, uint64_t *scale)
{
    *digits = 0;
    *scale = 1;
    for (; is_digit(*at); at++) {
        if (*scale == 1000000000000000000u)
            continue;
        *digits = *digits * 10 + (uint64_t)(*at - '0');
        *scale *= 10;
    }
    return at;
}

static bool parse_size(const char *text, uint64_t *bytes)
{
    uint64_t digits = 0;
    uint64_t scale = 1;
    uint64_t whole = 0;
    const char *at = text;
    for (; is_digit(*at); at++)
        if (!push_digit(&whole, *at))
            return false;
    if (at == text)
        return false;
    bool has_fraction = *at == '.' && is_digit(at[1]);
    if (has_fraction)
        at = parse_fraction(at + 1, &digits, &scale);
    uint64_t unit = unit_bytes(at);
    if (unit == 0 || (has_fraction && unit == 1))
        return false;
    uint64_t fraction = (uint64_t)((unsigned __int128)digits * unit / scale);
    return !__builtin_mul_overflow(whole, unit, &whole) && !__builtin_add_overflow(whole, fraction, bytes);
}

int units_parse_size(const char *text, uint64_t *bytes, struct error *err)
{
    if (!parse_size(text, bytes))
        return error_set(err, ERROR_USAGE,
                         "'%s' is not a size: write bytes, or for instance 200M, 1.5G, 64KiB", text);
    return 0;
}

/* ---- formatting ---- */

/* value / unit, rounded to `decimals` places, as a whole number of those places. */
static uint64_t rounded(uint64_t value, uint64_t unit, unsigned decimals)
{
    static const unsigned scale[] = {1, 10, 100};
    return (uint64_t)(((unsigned __int128)value * scale[decimals] + unit / 2) / unit);
}

/* "1.23 GB" with `suffix` behind it. The rounded value decides about the unit and the decimals, so that
 * 999.9 MB becomes "1.00 GB" and never "1000 MB". */
static void format_scaled(char *buffer, uint64_t value, const char *suffix)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t unit = 1;
    size_t index = 0;
    while (rounded(value, unit, 0) >= 1000) {
        unit *= 1000;
        index++;
    }
    uint64_t ones = rounded(value, unit, 0);
    uint64_t tenths = rounded(value, unit, 1);
    uint64_t hundredths = rounded(value, unit, 2);
    if (index > 0 && hundredths < 1000)
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 ".%02" PRIu64 " %s%s", hundredths / 100,
                       hundredths % 100, units[index], suffix);
    else if (index > 0 && tenths < 1000)
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s%s", tenths / 10, tenths % 10,
                       units[index], suffix);
    else
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 " %s%s", ones, units[index], suffix);
}

char *units_format_bytes(char *buffer, uint64_t bytes)
{
    format_scaled(buffer, bytes, "");
    return buffer;
}

char *units_format_rate(char *buffer, uint64_t bytes_per_s)
{
    format_scaled(buffer, bytes_per_s, "/s");
    return buffer;
}

char *units_format_duration(char *buffer, uint64_t duration_ms)
{
    uint64_t tenths = duration_ms / 100 + (duration_ms % 100 >= 50);
    uint64_t seconds = duration_ms / 1000 + (duration_ms % 1000 >= 500);
    uint64_t minutes = seconds / 60;
    uint64_t hours = minutes / 60;
    if (tenths < 100)
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
    else if (minutes == 0)
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 " s", seconds);
    else if (hours == 0)
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 ":%02" PRIu64, minutes, seconds % 60);
    else if (hours < 100)
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, hours, minutes % 60,
                       seconds % 60);
    else
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRIu64 " days", hours / 24);
    return buffer;
}

char *units_format_age(char *buffer, int64_t age_s)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {
        {365 * S_PER_DAY, "year"},
        {30 * S_PER_DAY, "month"},
        {7 * S_PER_DAY, "week"},
        {S_PER_DAY, "day"},
        {3600, "hour"},
        {60, "minute"},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        int64_t count = age_s / units[i].seconds;
        if (count <= 0)
            continue;
        (void)snprintf(buffer, UNITS_TEXT_MAX, "%" PRId64 " %s%s ago", count, units[i].name,
                       count == 1 ? "" : "s");
        return buffer;
    }
    (void)snprintf(buffer, UNITS_TEXT_MAX, "%s", age_s < 0 ? "in the future" : "just now");
    return buffer;
}

struct date {
    int64_t year;
    unsigned month, day;
};

/* The date of a day counted from 1970-01-01, by the rule of 400-year cycles that begin on 1 March, so
 * that the leap day is the last of its cycle's year. */
static struct date date_from_days(int64_t days)
{
    const int64_t days_to_1970 = 719468; /* from 0000-03-01 */
    days += days_to_1970;
    int64_t era = (days >= 0 ? days : days - (DAYS_PER_400_YEAR - 1)) / DAYS_PER_400_YEAR;
    unsigned of_era = (unsigned)(days - era * DAYS_PER_400_YEAR);
    unsigned year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * of_year + 2) / 153; /* 0 is March */
    struct date date = {
        .year = (int64_t)year_of_era + era * 400,
        .month = month < 10 ? month + 3 : month - 9,
        .day = of_year - (153 * month + 2) / 5 + 1,
    };
    if (date.month <= 2)
        date.year++;
    return date;
}

char *units_format_time(char *buffer, int64_t seconds, uint32_t ns)
{
    int64_t days = seconds / S_PER_DAY - (seconds % S_PER_DAY < 0);
    unsigned of_day = (unsigned)(seconds - days * S_PER_DAY);
    struct date date = date_from_days(days);
    bool is_plain_year = date.year >= 0 && date.year <= 9999;
    uint64_t year = date.year < 0 ? (uint64_t)-date.year : (uint64_t)date.year;
    const char *sign = is_plain_year ? "" : date.year < 0 ? "-" : "+";
    char fraction[16] = "";
    if (ns % NS_PER_S != 0)
        (void)snprintf(fraction, sizeof fraction, ".%09u", ns % NS_PER_S);
    (void)snprintf(buffer, UNITS_TEXT_MAX, "%s%04" PRIu64 "-%02u-%02uT%02u:%02u:%02u%sZ", sign, year,
                   date.month, date.day, of_day / 3600, of_day / 60 % 60, of_day % 60, fraction);
    return buffer;
}
