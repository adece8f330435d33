/* Text that is safe to show on a terminal. */
#ifndef COMMON_PRINTABLE_H
#define COMMON_PRINTABLE_H

#include <stddef.h>

/* Copies `text` to `out` (at least 1 byte; cut to fit, always ended by NUL): control characters (C0, DEL and
 * C1) and bytes that are not UTF-8 become `\xHH`, a backslash stays as it is. Returns `out`. */
const char *printable(const char *text, char *out, size_t size);

#endif
