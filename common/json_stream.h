/* JSON that is too large, or comes from too far, to be kept: a text of any length as a row of tokens, in
 * bounded memory. The only door to yajl. For small texts that are wanted as a tree there is proto/json.h.
 *
 * Calling sequence: create, feed any number of times, finish, destroy. After a result other than
 * JSON_STREAM_GOOD only destroy may follow. Memory is bounded by `max_depth` bytes and about twice
 * `max_token`. One thread a stream; out of memory ends the program.
 *
 * The text must be one JSON value (RFC 8259) in UTF-8; surrogates are let through. NUL
 * bytes, as "\u0000", may occur in strings. A key may occur twice. */
#ifndef COMMON_JSON_STREAM_H
#define COMMON_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_event {
    JSON_BEGIN_OBJECT,
    JSON_END_OBJECT,
    JSON_BEGIN_ARRAY,
    JSON_END_ARRAY,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,  /* as it is written */
    JSON_LITERAL, /* true, false, null; without text */
};

struct json_token {
    enum json_event event;
    int depth;        /* how many objects and arrays are open around it; a begin and its end have the same */
    const char *text; /* of a key, string or number: decoded, not ended by NUL, borrowed for the call */
    size_t length;
};

/* Called for each token; -1 ends the stream with JSON_STREAM_STOPPED. */
typedef int json_visitor(void *context, const struct json_token *token);

enum json_stream_result {
    JSON_STREAM_GOOD,
    JSON_STREAM_MALFORMED,
    JSON_STREAM_TOO_DEEP,
    JSON_STREAM_TOO_LONG, /* a string, number or run of white space */
    JSON_STREAM_STOPPED,
};

struct json_stream;

/* `max_depth` objects and arrays may be open at a time. A token of `max_token` bytes passes always, one that
 * is longer by what is fed at a time never. */
struct json_stream *json_stream_create(json_visitor *visit, void *context, int max_depth, size_t max_token);
enum json_stream_result json_stream_feed(struct json_stream *stream, const void *bytes, size_t length);
enum json_stream_result json_stream_finish(struct json_stream *stream);
void json_stream_destroy(struct json_stream **stream);

/* "is not JSON", "is nested too deeply" …: behind the name of what was read. */
const char *json_stream_words(enum json_stream_result result);

/* Whether a key or string is exactly this text. */
bool json_token_is(const struct json_token *token, const char *text);

/* The value of a number of digits alone that fits; false for any other token. */
bool json_token_whole(const struct json_token *token, uint64_t *number);

/* Copies the text, cut to size - 1 bytes and at a NUL. */
void json_token_copy(const struct json_token *token, char *to, size_t size);

#endif
