/* What yajl bounds by itself is nothing: the depth is counted in its callbacks, and a token that never ends
 * is noticed by bytes that were fed without any callback. */
#include "common/json_stream.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

struct json_stream {
    yajl_handle parser;
    json_visitor *visit;
    void *context;
    int depth, max_depth;
    size_t max_token;
    size_t quiet; /* bytes fed since the last token */
    uint64_t tokens;
    enum json_stream_result result;
};

/* -- from yajl: 1 goes on, 0 stops -- */

static int emit(struct json_stream *s, enum json_event event, const void *text, size_t length)
{
    struct json_token token = {event, s->depth, text, length};
    s->tokens++;
    if (s->visit(s->context, &token) == 0)
        return 1;
    s->result = JSON_STREAM_STOPPED;
    return 0;
}

static int open_container(struct json_stream *s, enum json_event event)
{
    if (s->depth == s->max_depth) {
        s->result = JSON_STREAM_TOO_DEEP;
        return 0;
    }
    int go_on = emit(s, event, NULL, 0);
    s->depth++;
    return go_on;
}

static int close_container(struct json_stream *s, enum json_event event)
{
    s->depth--;
    return emit(s, event, NULL, 0);
}

static int on_null(void *context)
{
    return emit(context, JSON_LITERAL, NULL, 0);
}

static int on_boolean(void *context, int value)
{
    (void)value;
    return emit(context, JSON_LITERAL, NULL, 0);
}

static int on_number(void *context, const char *text, size_t length)
{
    return emit(context, JSON_NUMBER, text, length);
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
    return emit(context, JSON_STRING, text, length);
}

static int on_key(void *context, const unsigned char *text, size_t length)
{
    return emit(context, JSON_KEY, text, length);
}

static int on_begin_object(void *context)
{
    return open_container(context, JSON_BEGIN_OBJECT);
}

static int on_end_object(void *context)
{
    return close_container(context, JSON_END_OBJECT);
}

static int on_begin_array(void *context)
{
    return open_container(context, JSON_BEGIN_ARRAY);
}

static int on_end_array(void *context)
{
    return close_container(context, JSON_END_ARRAY);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_begin_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_object,
    .yajl_start_array = on_begin_array,
    .yajl_end_array = on_end_array,
};

/* yajl does not look at what its allocator returns. */
static void *must_allocate(void *context, size_t size)
{
    (void)context;
    void *memory = malloc(size);
    if (!memory)
        abort();
    return memory;
}

static void *must_reallocate(void *context, void *memory, size_t size)
{
    (void)context;
    memory = realloc(memory, size);
    if (!memory)
        abort();
    return memory;
}

static void give_back(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* -- for callers -- */

struct json_stream *json_stream_create(json_visitor *visit, void *context, int max_depth, size_t max_token)
{
    yajl_alloc_funcs allocator = {must_allocate, must_reallocate, give_back, NULL};
    struct json_stream *s = must_allocate(NULL, sizeof *s);
    *s = (struct json_stream){
        .visit = visit, .context = context, .max_depth = max_depth, .max_token = max_token};
    s->parser = yajl_alloc(&callbacks, &allocator, s);
    return s;
}

static enum json_stream_result result_of(struct json_stream *s, yajl_status status)
{
    if (status == yajl_status_error)
        s->result = JSON_STREAM_MALFORMED;
    return s->result;
}

enum json_stream_result json_stream_feed(struct json_stream *s, const void *bytes, size_t length)
{
    uint64_t before = s->tokens;
    if (result_of(s, yajl_parse(s->parser, bytes, length)) != JSON_STREAM_GOOD)
        return s->result;
    s->quiet = s->tokens == before ? s->quiet + length : 0;
    if (s->quiet > s->max_token)
        s->result = JSON_STREAM_TOO_LONG;
    return s->result;
}

enum json_stream_result json_stream_finish(struct json_stream *s)
{
    return result_of(s, yajl_complete_parse(s->parser));
}

void json_stream_destroy(struct json_stream **stream)
{
    if (!*stream)
        return;
    yajl_free((*stream)->parser);
    free(*stream);
    *stream = NULL;
}

const char *json_stream_words(enum json_stream_result result)
{
    static const char *const words[] = {
        [JSON_STREAM_GOOD] = "is JSON",
        [JSON_STREAM_MALFORMED] = "is not JSON",
        [JSON_STREAM_TOO_DEEP] = "is nested too deeply",
        [JSON_STREAM_TOO_LONG] = "has too long a string",
        [JSON_STREAM_STOPPED] = "was not read to its end",
    };
    return words[result];
}

/* -- tokens -- */

bool json_token_is(const struct json_token *token, const char *text)
{
    return token->length == strlen(text) && memcmp(token->text, text, token->length) == 0;
}

bool json_token_whole(const struct json_token *token, uint64_t *number)
{
    uint64_t value = 0;
    if (token->event != JSON_NUMBER)
        return false;
    for (size_t i = 0; i < token->length; i++) {
        unsigned digit = (unsigned char)token->text[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *number = value;
    return true;
}

void json_token_copy(const struct json_token *token, char *to, size_t size)
{
    size_t length = strnlen(token->text, token->length);
    length = length < size ? length : size - 1;
    memcpy(to, token->text, length);
    to[length] = '\0';
}
