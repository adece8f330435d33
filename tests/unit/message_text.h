/* Texts of control messages for tests: decoded, accepted or refused, and with one member exchanged. */
#ifndef UNIT_MESSAGE_TEXT_H
#define UNIT_MESSAGE_TEXT_H

#include "support.h"

#include "proto/message.h"

#define HASH         "00112233445566778899aabbccddeeff"
#define GIT_BLOB     HASH "01234567"
#define SECRET       "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define MOST_MEMBERS 12 /* of any message, with its type */

struct member {
    char text[512];
};

static inline int decode(const char *text, struct message *message)
{
    struct error err = {0};
    int result = message_decode(message, text, strlen(text), &err);
    assert_int_equal(err.code, result < 0 ? ERROR_PROTOCOL : ERROR_NONE);
    return result;
}

static inline bool is_accepted(const char *text)
{
    struct message message;
    int result = decode(text, &message);
    if (result == 0)
        message_release(&message);
    return result == 0;
}

/* Splits `{"a":1,"b":[…]}` into its members. */
static inline size_t split(const char *object, struct member members[MOST_MEMBERS])
{
    size_t count = 0, used = 0;
    int depth = 0;
    bool quoted = false;
    memset(members, 0, MOST_MEMBERS * sizeof *members);
    for (const char *c = object + 1; c[1]; c++) {
        quoted ^= *c == '"';
        depth += !quoted && (*c == '{' || *c == '[');
        depth -= !quoted && (*c == '}' || *c == ']');
        if (*c == ',' && depth == 0 && !quoted) {
            count++;
            used = 0;
        } else {
            members[count].text[used++] = *c;
        }
    }
    return count + 1;
}

/* The sample with member `at` replaced by `by`, left out if that is NULL. */
static inline char *replace(const char *object, size_t at, const char *by)
{
    struct member members[MOST_MEMBERS];
    size_t count = split(object, members);
    char *text = calloc(1, 4096);
    assert_non_null(text);
    FILE *out = fmemopen(text, 4096, "w");
    assert_non_null(out);
    const char *comma = "{";
    for (size_t i = 0; i < count; i++)
        if (i != at || by) {
            (void)fprintf(out, "%s%s", comma, i == at ? by : members[i].text);
            comma = ",";
        }
    (void)fprintf(out, "%s}", *comma == '{' ? comma : "");
    (void)fclose(out);
    return text;
}

static inline char *name_of(const char *member)
{
    char *name = strdup(member + 1);
    *strchr(name, '"') = '\0';
    return name;
}

static inline void expect(const char *text, bool good)
{
    if (is_accepted(text) != good)
        fail_msg("%s: %s", good ? "refused" : "accepted", text);
}

#endif
