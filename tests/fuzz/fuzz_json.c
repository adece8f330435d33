/* JSON text. What was parsed can be printed, and parses to the same again. */
#include "target.h"

#include "proto/json.h"
#include "proto/limits.h"

static void visit(const struct json *value)
{
    int64_t whole;
    bool flag;
    uint8_t bytes[4];
    if (json_as_whole(value, &whole))
        must_hold(whole >= -(int64_t)LIMIT_SIZE && whole <= (int64_t)LIMIT_SIZE);
    double number = 0;
    if (json_as_number(value, &number))
        must_hold(number - number == 0); /* finite */
    (void)json_as_bool(value, &flag);
    (void)json_as_hex(value, bytes, sizeof bytes);
    const char *text = json_as_text(value);
    must_hold(!text || json_is_utf8(text, strlen(text)));
    free(json_get_path(value, "path"));
    (void)json_get(value, "type");
    for (const struct json *v = json_first(value); v; v = json_next(v))
        visit(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct json *value = json_parse((const char *)bytes, length, LIMIT_JSON_DEPTH);
    if (!value)
        return 0;
    visit(value);
    char *text = json_print(value);
    struct json *second = json_parse(text, strlen(text), LIMIT_JSON_DEPTH);
    must_hold(second);
    json_free(second);
    free(text);
    json_free(value);
    return 0;
}
