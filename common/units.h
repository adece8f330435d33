/* Numbers, sizes and times between people and programs.
 *
 * Parsing is strict: no leading space or plus sign, nothing behind the number, no silent overflow.
 * Formatting is decimal (1 MB = 10^6 bytes), as network and disk rates are given; every function
 * fills the caller's buffer of UNITS_TEXT_MAX bytes and returns it, so that it can stand among the
 * arguments of printf.
 *
 * Threads: all functions are pure; any thread may call them. */
#ifndef COMMON_UNITS_H
#define COMMON_UNITS_H

#include <stdint.h>

#include "proto/error.h"

/* Enough for each text made here; the longest is the time of an extreme 64-bit second, with 40. */
#define UNITS_TEXT_MAX 72

/* A whole number from `min` to `max`, digits only ("4x", "", "-1", "+1", " 1" are refused).
 * The error (ERROR_USAGE) quotes the text and names the range. */
int units_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number, struct error *err);

/* A number of bytes: "4096", "200M", "1.5G", "64KiB", "2gb". K M G T P are powers of 1000; Ki Mi Gi
 * Ti Pi powers of 1024; an ending B and the case of letters do not matter. A fraction needs a unit
 * and is cut to whole bytes. */
int units_parse_size(const char *text, uint64_t *bytes, struct error *err);

/* "0 B", "999 B", "1.23 GB", "812 MB": three significant digits, rounded. */
char *units_format_bytes(char *buffer, uint64_t bytes);

/* "850 MB/s". */
char *units_format_rate(char *buffer, uint64_t bytes_per_s);

/* "0.8 s" below ten seconds, then "12 s", "2:03" (minutes), "1:02:03" (hours), "4 days" from 100 hours. */
char *units_format_duration(char *buffer, uint64_t duration_ms);

/* "just now", "1 minute ago", "3 days ago"; a negative age is "in the future". */
char *units_format_age(char *buffer, int64_t age_s);

/* RFC 3339 in UTC from seconds since 1970 and nanoseconds (below 10^9) towards the future:
 * "2026-01-31T12:00:00Z", with ".123456789" before the Z where `ns` is not 0. Years outside of 0 to
 * 9999, which RFC 3339 does not have, get a sign as in ISO 8601: "+12026-…", "-0001-…". */
char *units_format_time(char *buffer, int64_t seconds, uint32_t ns);

#endif
