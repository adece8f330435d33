/* A thin skin over cJSON that adds what it lacks: strict UTF-8, no NUL in strings, a depth limit, exact whole
 * numbers, and names that are bytes. */
#include "proto/json.h"

#include "proto/hex.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_MAX 9007199254740991.0 /* 2^53 - 1 */

static cJSON *inner(struct json *value)
{
    return (cJSON *)(void *)value;
}

static const cJSON *const_inner(const struct json *value)
{
    return (const cJSON *)(const void *)value;
}

static struct json *outer(cJSON *value)
{
    if (!value)
        abort();
    return (struct json *)(void *)value;
}

/* Length of the UTF-8 sequence at `s`, 0 if it is not well-formed (RFC 3629, section 4). */
static size_t utf8_sequence(const unsigned char *s, size_t left)
{
    unsigned char c = s[0];
    if (c >= 0x01 && c <= 0x7f)
        return 1;
    size_t length = c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (length == 0 || length > left)
        return 0;
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

bool json_is_utf8(const char *text, size_t length)
{
    size_t step;
    for (size_t i = 0; i < length; i += step) {
        step = utf8_sequence((const unsigned char *)text + i, length - i);
        if (step == 0)
            return false;
    }
    return true;
}

/* Length of the number at `text` by the grammar of RFC 8259, section 6; 0 if it is none. */
static size_t number_length(const char *text, size_t left)
{
    size_t i = left > 0 && text[0] == '-', digits = 0;
    bool leading_zero = i < left && text[i] == '0';
    for (; i < left && text[i] >= '0' && text[i] <= '9'; i++)
        digits++;
    if (digits == 0 || (leading_zero && digits > 1))
        return 0;
    for (int part = 0; part < 2; part++) { /* fraction, exponent */
        bool there = i < left && (part == 0 ? text[i] == '.' : (text[i] | 0x20) == 'e');
        if (!there)
            continue;
        i++;
        if (part == 1 && i < left && (text[i] == '+' || text[i] == '-'))
            i++;
        for (digits = 0; i < left && text[i] >= '0' && text[i] <= '9'; i++)
            digits++;
        if (digits == 0)
            return 0;
    }
    return i;
}

/* Length of the string at `text`, quotes included; 0 if it does not end, or holds a control character or an
 * escaped NUL. */
static size_t string_length(const char *text, size_t left)
{
    for (size_t i = 1; i < left; i++) {
        if ((unsigned char)text[i] < 0x20)
            return 0;
        if (text[i] == '"')
            return i + 1;
        if (text[i] == '\\' && left - i >= 6 && memcmp(text + i + 1, "u0000", 5) == 0)
            return 0;
        i += text[i] == '\\';
    }
    return 0;
}

/* Refuses what cJSON lets through: too much nesting, escaped NULs, which would cut a string short, and loose
 * numbers, strings and white space. */
static bool is_strict(const char *text, size_t length, int max_depth)
{
    int depth = 0;
    for (size_t i = 0, step; i < length; i += step) {
        char c = text[i];
        step = 1;
        if (c == '"')
            step = string_length(text + i, length - i);
        else if (c == '-' || (c >= '0' && c <= '9'))
            step = number_length(text + i, length - i);
        else if (c == '{' || c == '[')
            step = ++depth <= max_depth;
        else if (c == '}' || c == ']')
            depth--;
        else if (!strchr(" \t\n\r:,truefalsn", c))
            step = 0;
        if (step == 0)
            return false;
    }
    return length > 0;
}

static bool is_blank(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r'))
        text++;
    return text == end;
}

struct json *json_parse(const char *text, size_t length, int max_depth)
{
    if (!json_is_utf8(text, length) || !is_strict(text, length, max_depth))
        return NULL;
    const char *end = NULL;
    cJSON *value = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    if (value && !is_blank(end, text + length)) {
        cJSON_Delete(value);
        return NULL;
    }
    return (struct json *)(void *)value;
}

struct json *json_object(void)
{
    return outer(cJSON_CreateObject());
}

struct json *json_array(void)
{
    return outer(cJSON_CreateArray());
}

void json_free(struct json *value)
{
    cJSON_Delete(inner(value));
}

struct json *json_copy(const struct json *value)
{
    return outer(cJSON_Duplicate(const_inner(value), true));
}

char *json_print(const struct json *value)
{
    char *text = cJSON_PrintUnformatted(const_inner(value));
    if (!text)
        abort();
    return text;
}

struct json *json_add(struct json *parent, const char *key, struct json *value)
{
    cJSON_bool added = key ? cJSON_AddItemToObject(inner(parent), key, inner(value))
                           : cJSON_AddItemToArray(inner(parent), inner(value));
    if (!added)
        abort();
    return value;
}

/* cJSON prints numbers by 15 digits where they come close enough; whole ones have to be exact. */
static struct json *whole_number(const char *digits)
{
    return outer(cJSON_CreateRaw(digits));
}

void json_add_number(struct json *parent, const char *key, double value)
{
    char digits[32];
    if (value != floor(value) || fabs(value) > WHOLE_MAX) {
        json_add(parent, key, outer(cJSON_CreateNumber(isfinite(value) ? value : 0)));
        return;
    }
    (void)snprintf(digits, sizeof digits, "%" PRId64, (int64_t)value);
    json_add(parent, key, whole_number(digits));
}

void json_add_size(struct json *parent, const char *key, uint64_t value)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, value);
    json_add(parent, key, whole_number(digits));
}

void json_add_bool(struct json *parent, const char *key, bool value)
{
    json_add(parent, key, outer(cJSON_CreateBool(value)));
}

void json_add_null(struct json *parent, const char *key)
{
    json_add(parent, key, outer(cJSON_CreateNull()));
}

void json_add_text(struct json *parent, const char *key, const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    size_t length = strlen(text);
    char *clean = malloc(3 * length + 1);
    if (!clean)
        abort();
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t step = utf8_sequence((const unsigned char *)text + i, length - i);
        memcpy(clean + used, step ? text + i : replacement, step ? step : 3);
        used += step ? step : 3;
        i += step ? step : 1;
    }
    clean[used] = '\0';
    json_add(parent, key, outer(cJSON_CreateString(clean)));
    free(clean);
}

void json_add_hex(struct json *parent, const char *key, const uint8_t *bytes, size_t length)
{
    char *text = malloc(HEX_MAX(length));
    if (!text)
        abort();
    json_add(parent, key, outer(cJSON_CreateString(hex_print(text, bytes, length))));
    free(text);
}

static void hex_key(const char *key, char *out, size_t size)
{
    (void)snprintf(out, size, "%s_hex", key);
}

void json_add_path(struct json *object, const char *key, const char *path, bool lossy_too)
{
    char hex[64];
    bool clean = json_is_utf8(path, strlen(path));
    if (clean || lossy_too)
        json_add_text(object, key, path);
    if (!clean) {
        hex_key(key, hex, sizeof hex);
        json_add_hex(object, hex, (const uint8_t *)path, strlen(path));
    }
}

const struct json *json_get(const struct json *object, const char *key)
{
    return (const struct json *)(const void *)cJSON_GetObjectItemCaseSensitive(const_inner(object), key);
}

bool json_is_object(const struct json *value)
{
    return cJSON_IsObject(const_inner(value));
}

bool json_is_array(const struct json *value)
{
    return cJSON_IsArray(const_inner(value));
}

size_t json_length(const struct json *array)
{
    return json_is_array(array) ? (size_t)cJSON_GetArraySize(const_inner(array)) : 0;
}

const struct json *json_first(const struct json *array)
{
    return json_is_array(array) ? (const struct json *)(const void *)const_inner(array)->child : NULL;
}

const struct json *json_next(const struct json *element)
{
    return (const struct json *)(const void *)const_inner(element)->next;
}

bool json_as_whole(const struct json *value, int64_t *out)
{
    if (!cJSON_IsNumber(const_inner(value)))
        return false;
    double number = const_inner(value)->valuedouble;
    if (!(number >= -WHOLE_MAX && number <= WHOLE_MAX) || number != floor(number))
        return false;
    *out = (int64_t)number;
    return true;
}

bool json_as_size(const struct json *value, uint64_t *out)
{
    int64_t whole;
    if (!json_as_whole(value, &whole) || whole < 0)
        return false;
    *out = (uint64_t)whole;
    return true;
}

bool json_as_number(const struct json *value, double *out)
{
    if (!cJSON_IsNumber(const_inner(value)) || !isfinite(const_inner(value)->valuedouble))
        return false;
    *out = const_inner(value)->valuedouble;
    return true;
}

bool json_as_bool(const struct json *value, bool *out)
{
    if (!cJSON_IsBool(const_inner(value)))
        return false;
    *out = cJSON_IsTrue(const_inner(value));
    return true;
}

const char *json_as_text(const struct json *value)
{
    return cJSON_GetStringValue(const_inner(value));
}

bool json_as_hex(const struct json *value, uint8_t *out, size_t length)
{
    const char *text = json_as_text(value);
    return text && strlen(text) == 2 * length && hex_parse(out, length, text);
}

bool json_get_hex(const struct json *object, const char *key, bool *is_there, uint8_t *out, size_t length)
{
    const struct json *value = json_get(object, key);
    *is_there = value != NULL;
    return !value || json_as_hex(value, out, length);
}

char *json_get_path(const struct json *object, const char *key)
{
    char hex[64];
    hex_key(key, hex, sizeof hex);
    const struct json *encoded = json_get(object, hex);
    if (!encoded) {
        const char *text = json_as_text(json_get(object, key));
        return text ? strdup(text) : NULL;
    }
    const char *digits = json_as_text(encoded);
    if (!digits)
        return NULL;
    size_t length = strlen(digits) / 2;
    char *path = malloc(length + 1);
    if (!path)
        abort();
    path[length] = '\0';
    if (json_as_hex(encoded, (uint8_t *)path, length) && strlen(path) == length)
        return path;
    free(path);
    return NULL;
}
