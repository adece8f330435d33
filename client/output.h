/* Words to people: errors and warnings on standard error, JSON results on standard output. */
#ifndef CLIENT_OUTPUT_H
#define CLIENT_OUTPUT_H

#include "client/options.h"
#include "proto/error.h"
#include "proto/json.h"

#include <stdarg.h>
#include <stdio.h>

/* `mstore: text` on standard error, control characters escaped. */
void output_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, unless --quiet. */
void output_note(const struct options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void output_note_v(const struct options *options, const char *format, va_list args);

/* Prints a JSON object on standard output and frees it. */
void output_json(struct json *object);

/* Adds "error":{"code","message"} if there is one. */
void output_add_error(struct json *object, const struct error *error);

/* Ends a command: with --json, `object` (taken, may be NULL for an empty one) gets the error and is printed;
 * the error is said on standard error too. Returns the exit status. */
int output_finish(const struct options *options, struct json *object, const struct error *error);

/* Text to standard output with control characters escaped. */
void output_text(const char *text);

/* Flushes standard output; a failed write (a full disk behind it) becomes an error. A closed pipe is none. */
int output_flush(struct error *err);

#endif
