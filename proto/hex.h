/* Bytes as hexadecimal digits, two each, the high half first. Pure, any thread. */
#ifndef PROTO_HEX_H
#define PROTO_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the digits of so many bytes, and NUL. */
#define HEX_MAX(length) (2 * (length) + 1)

/* Lower-case digits into `out`, which has HEX_MAX(length) bytes. Returns `out`. */
char *hex_print(char *out, const uint8_t *bytes, size_t length);

/* Of the first 2 × `length` characters of `digits`, lower or upper case; what follows is not looked at. False
 * where one is no digit (NUL is none), and `out` is undefined then. */
bool hex_parse(uint8_t *out, size_t length, const char *digits);

#endif
