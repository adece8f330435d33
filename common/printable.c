/* Names come from strangers; an escape sequence in one must not reach a terminal. */
#include "common/printable.h"

#include "proto/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Length of the character at `text` if it may be shown as it is, else 0. */
static size_t showable(const unsigned char *text, size_t left)
{
    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f;
    if (text[0] == 0xc2 && left > 1 && text[1] < 0xa0) /* U+0080 to U+009F */
        return 0;
    for (size_t length = 2; length <= 4 && length <= left; length++)
        if (json_is_utf8((const char *)text, length))
            return length;
    return 0;
}

const char *printable(const char *text, char *out, size_t size)
{
    size_t used = 0, left = strlen(text);
    while (left > 0) {
        size_t length = showable((const unsigned char *)text, left);
        size_t needs = length ? length : 4;
        if (used + needs >= size)
            break;
        if (length)
            memcpy(out + used, text, length);
        else
            (void)snprintf(out + used, 5, "\\x%02x", (unsigned char)*text);
        used += needs;
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    out[used] = '\0';
    return out;
}
