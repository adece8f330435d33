/* Such files say that they have no size, so they are read until they end. */
#include "common/sysfile.h"

#include "common/fdio.h"
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
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

/* Of `text`, which may be NULL and is freed. */
static bool take_line(char *text, char *line, size_t size)
{
    bool there = text != NULL;
    (void)snprintf(line, size, "%.*s", there ? (int)strcspn(text, "\n") : 0, there ? text : "");
    free(text);
    return there;
}

bool sysfile_line(char *line, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = read_formatted(format, args);
    va_end(args);
    return take_line(text, line, size);
}

bool sysfile_number(uint64_t *number, const char *format, ...)
{
    va_list args;
    struct error ignored;
    char line[32];
    va_start(args, format);
    char *text = read_formatted(format, args);
    va_end(args);
    return take_line(text, line, sizeof line) &&
           units_parse_number(line, 0, UINT64_MAX, number, &ignored) == 0;
}

/* Digits that end at a blank or at the end. */
static bool parse_number(const char *text, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || (*end != '\0' && !isspace((unsigned char)*end)))
        return false;
    *number = value;
    return true;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

bool sysfile_field(const char *text, const char *key, uint64_t *number)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        const char *behind = line + length + (line[length] == ':');
        if (*behind == ' ' || *behind == '\t')
            return parse_number(skip_blanks(behind), number);
    }
    return false;
}

bool sysfile_column(const char *row, unsigned at, uint64_t *number)
{
    row = skip_blanks(row);
    for (; at > 0; at--)
        row = skip_blanks(row + strcspn(row, " \t\n"));
    return parse_number(row, number);
}
