/* JSON values: building, reading, printing. The only door to cJSON.
 *
 * A `struct json *` is a cJSON value under another name. json_parse() and json_object()/json_array() give a
 * tree that the caller frees with json_free(); adding a value to a parent hands it over; json_get() borrows.
 * Out of memory ends the program. Pure, any thread.
 *
 * Whole numbers are exact to 2^53 (LIMIT_SIZE). Strings are UTF-8. Names of files are bytes: json_add_path()
 * and json_get_path() carry those that are not UTF-8 in a second field, `<key>_hex`. */
#ifndef PROTO_JSON_H
#define PROTO_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

/* Whether `length` bytes are well-formed UTF-8 (RFC 3629) without NUL. */
bool json_is_utf8(const char *text, size_t length);

/* Parses one value that fills the text (white space aside). NULL for anything that is not well-formed, is not
 * UTF-8, is nested deeper than `max_depth`, or holds a NUL, raw or as an escape. */
struct json *json_parse(const char *text, size_t length, int max_depth);

struct json *json_object(void);
struct json *json_array(void);
void json_free(struct json *value);

/* One line without white space; free() it. */
char *json_print(const struct json *value);

/* A copy of its own. */
struct json *json_copy(const struct json *value);

/* Adds a member to an object, or an element to an array if `key` is NULL. Returns the value, borrowed. */
struct json *json_add(struct json *parent, const char *key, struct json *value);
void json_add_number(struct json *parent, const char *key, double value);
void json_add_size(struct json *parent, const char *key, uint64_t value);
void json_add_bool(struct json *parent, const char *key, bool value);
void json_add_null(struct json *parent, const char *key);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_add_text(struct json *parent, const char *key, const char *text);
void json_add_hex(struct json *parent, const char *key, const uint8_t *bytes, size_t length);
/* With `lossy_too`, a name that is not UTF-8 also appears under `key` itself, with U+FFFD for each bad byte:
 * for people's programs. Without, under `<key>_hex` alone: for the wire. */
void json_add_path(struct json *object, const char *key, const char *path, bool lossy_too);

/* Members of an object, and elements of an array. NULL or false where it is absent or of another type. */
const struct json *json_get(const struct json *object, const char *key);
size_t json_length(const struct json *array); /* 0 if it is no array */
const struct json *json_first(const struct json *array);
const struct json *json_next(const struct json *element);
bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_as_whole(const struct json *value, int64_t *out); /* a whole number of at most 53 bits */
bool json_as_size(const struct json *value, uint64_t *out); /* the same, and not negative */
bool json_as_number(const struct json *value, double *out); /* any number but those that overflow */
bool json_as_bool(const struct json *value, bool *out);
const char *json_as_text(const struct json *value); /* borrowed */
/* Decodes a string of hexadecimal digits into `out`; false unless it has exactly 2 × `length` of them. */
bool json_as_hex(const struct json *value, uint8_t *out, size_t length);
/* The same of a member that may be absent: then *is_there is false, and it is well. */
bool json_get_hex(const struct json *object, const char *key, bool *is_there, uint8_t *out, size_t length);
/* The bytes of a name from `key` or `<key>_hex`; free() them. NULL if neither is there or holds a NUL. */
char *json_get_path(const struct json *object, const char *key);

#endif
