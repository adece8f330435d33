/* Such files say that they have no size, so they are read until they end. */
#include "client/sysfile.h"

#include "common/fdio.h"
#include "common/units.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PIECE ((size_t)4096)

static char *read_all(int fd)
{
    size_t used = 0, size = FIRST_PIECE;
    char *text = NULL;
    for (ssize_t n = 1; n > 0 && used < SYSFILE_MAX; size *= 2) {
        char *larger = realloc(text, size + 1);
        if (!larger)
            abort();
        text = larger;
        n = fdio_read(fd, text + used, size - used);
        if (n < 0) {
            free(text);
            return NULL;
        }
        used += (size_t)n;
    }
    text[used] = '\0';
    return text;
}

__attribute__((format(printf, 1, 0))) static char *read_formatted(const char *format, va_list args)
{
    char path[PATH_MAX];
    (void)vsnprintf(path, sizeof path, format, args);
    int fd = fdio_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    char *text = fd < 0 ? NULL : read_all(fd);
    fdio_drop(&fd);
    return text;
}

char *sysfile_read(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = read_formatted(format, args);
    va_end(args);
    return text;
}

bool sysfile_number(uint64_t *number, const char *format, ...)
{
    va_list args;
    struct error ignored;
    va_start(args, format);
    char *text = read_formatted(format, args);
    va_end(args);
    if (!text)
        return false;
    text[strcspn(text, "\n")] = '\0';
    bool good = units_parse_number(text, 0, UINT64_MAX, number, &ignored) == 0;
    free(text);
    return good;
}
