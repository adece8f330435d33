/* One digit at a time: strtoul() would take signs and blanks. */
#include "proto/hex.h"

char *hex_print(char *out, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * length] = '\0';
    return out;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hex_parse(uint8_t *out, size_t length, const char *digits)
{
    for (size_t i = 0; i < length; i++) {
        int high = digit_value(digits[2 * i]);
        int low = high < 0 ? -1 : digit_value(digits[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
