/* One table ties code, wire name and exit status together; everything else here formats text. */
#include "proto/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_status;
} codes[ERROR_CODE_COUNT] = {
    [ERROR_NONE] = {"ok", 0},
    [ERROR_FAILED] = {"failed", 1},
    [ERROR_USAGE] = {"usage", 2},
    [ERROR_NO_MODEL] = {"no-such-model", 3},
    [ERROR_REFUSED] = {"refused", 4},
    [ERROR_CORRUPT] = {"hash-mismatch", 5},
    [ERROR_CONNECT] = {"no-connection", 6},
    [ERROR_LOST] = {"connection-lost", 6},
    [ERROR_PROTOCOL] = {"protocol-error", 1},
    [ERROR_NOT_MSTORE] = {"not-mstore", 1},
    [ERROR_VERSION] = {"version-mismatch", 1},
    [ERROR_SOME_FILES] = {"some-files-failed", 7},
    [ERROR_FILE] = {"file-error", 7},
    [ERROR_CHANGED] = {"file-changed", 7},
    [ERROR_NO_SPACE] = {"no-space", 8},
    [ERROR_BUSY] = {"busy", 9},
    [ERROR_UNAVAILABLE] = {"store-unavailable", 1},
    [ERROR_INTERRUPTED] = {"interrupted", 130},
    [ERROR_TERMINATED] = {"terminated", 143},
};

static enum error_code code_for(enum error_code code, int sys)
{
    if (code != ERROR_FAILED && code != ERROR_FILE)
        return code;
    switch (sys) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return ERROR_NO_SPACE;
    case ESTALE:
    case ENOTCONN:
        return ERROR_UNAVAILABLE;
    default:
        return code;
    }
}

/* The words for the errnos that a user can do something about; strerror() for the rest. */
static const char *words_for(int sys)
{
    switch (sys) {
    case ENOSPC:
        return "no space left on the file system";
    case EDQUOT:
        return "the quota is used up";
    case EFBIG:
        return "too large a file for this file system";
    case EROFS:
        return "the file system is read-only";
    case EIO:
        return "input/output error (the disk or its link is failing)";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    default:
        return strerror(sys);
    }
}

__attribute__((format(printf, 2, 0))) static void set_text(struct error *err, const char *format,
                                                           va_list args)
{
    (void)vsnprintf(err->text, sizeof err->text, format, args);
}

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(err, format, args);
    va_end(args);
    err->code = code;
    err->sys = 0;
    return -1;
}

int error_set_sys(struct error *err, enum error_code code, int sys, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(err, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, ": %s", words_for(sys));
    err->code = code_for(code, sys);
    err->sys = sys;
    return -1;
}

const char *error_name(enum error_code code)
{
    return (unsigned)code < ERROR_CODE_COUNT ? codes[code].name : codes[ERROR_FAILED].name;
}

enum error_code error_from_name(const char *name)
{
    for (int i = 1; i < ERROR_CODE_COUNT; i++)
        if (strcmp(codes[i].name, name) == 0)
            return (enum error_code)i;
    return ERROR_FAILED;
}

int error_exit_status(enum error_code code)
{
    return (unsigned)code < ERROR_CODE_COUNT ? codes[code].exit_status : 1;
}
