/* Everything that reaches a terminal passes printable(). */
#include "client/output.h"

#include "common/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args)
{
    char text[2048], clean[4096];
    (void)vsnprintf(text, sizeof text, format, args);
    (void)fprintf(stderr, "mstore: %s\n", printable(text, clean, sizeof clean));
}

void output_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void output_note_v(const struct options *options, const char *format, va_list args)
{
    if (!options->quiet)
        say(format, args);
}

void output_note(const struct options *options, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    output_note_v(options, format, args);
    va_end(args);
}

void output_text(const char *text)
{
    char clean[8192];
    (void)fputs(printable(text, clean, sizeof clean), stdout);
}

void output_json(struct json *object)
{
    char *text = json_print(object);
    (void)printf("%s\n", text);
    free(text);
    json_free(object);
}

void output_add_error(struct json *object, const struct error *error)
{
    if (error->code == ERROR_NONE)
        return;
    struct json *member = json_add(object, "error", json_object());
    json_add_text(member, "code", error_name(error->code));
    json_add_text(member, "message", error->text);
}

int output_flush(struct error *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE) /* `mstore ls | head -1`: the reader has what it wanted */
        return 0;
    int sys = errno;
    error_set_sys(err, ERROR_FAILED, sys, "cannot write to standard output");
    err->code = ERROR_FAILED; /* also for a full disk: it is not that of a model */
    return -1;
}

int output_finish(const struct options *options, struct json *object, const struct error *error)
{
    struct error flush = {0};
    if (options->json) {
        struct json *result = object ? object : json_object();
        if (error->code != ERROR_NONE && !json_get(result, "ok"))
            json_add_bool(result, "ok", false);
        output_add_error(result, error);
        output_json(result);
    } else if (object) {
        json_free(object);
    }
    if (error->code != ERROR_NONE)
        output_error("%s", error->text);
    if (output_flush(&flush) < 0 && error->code == ERROR_NONE) {
        output_error("%s", flush.text);
        return error_exit_status(flush.code);
    }
    return error_exit_status(error->code);
}
