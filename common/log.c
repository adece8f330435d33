/* A line is built whole and written with one call, so that lines of several threads do not mix. */
#include "common/log.h"

#include "common/fdio.h"
#include "common/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *log_program = "mstore";
static enum log_level log_limit = LOG_INFO;

void log_open(const char *program, enum log_level level)
{
    log_program = program;
    log_limit = level;
}

void log_at(enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char text[2048], clean[4096], line[4200];
    if (level > log_limit)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printable(text, clean, sizeof clean);
    int length = snprintf(line, sizeof line, "%s: %s: %s\n", log_program, names[level], clean);
    if (length > 0)
        (void)fdio_write(STDERR_FILENO, line, strlen(line));
}
