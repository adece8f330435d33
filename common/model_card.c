/* Three keys at the start of a line, and the entry of a list below the first. */
#include "common/model_card.h"

#include <stdbool.h>
#include <string.h>

struct line {
    const char *text;
    size_t length;
};

/* The next line without its end, which may be CR LF; the last one may have none. */
static bool next_line(const char **text, size_t *left, struct line *line)
{
    if (*left == 0)
        return false;
    const char *end = memchr(*text, '\n', *left);
    size_t length = end ? (size_t)(end - *text) : *left;
    *line = (struct line){*text, length};
    *text += length + (end != NULL);
    *left -= length + (end != NULL);
    if (line->length > 0 && line->text[line->length - 1] == '\r')
        line->length--;
    return true;
}

static bool is_fence(const struct line *line)
{
    return line->length == 3 && memcmp(line->text, "---", 3) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void strip(struct line *value)
{
    while (value->length > 0 && is_blank(value->text[0])) {
        value->text++;
        value->length--;
    }
    while (value->length > 0 && is_blank(value->text[value->length - 1]))
        value->length--;
}

/* Takes "start VALUE" apart. */
static bool take_after(const struct line *line, const char *start, struct line *value)
{
    size_t length = strlen(start);
    if (line->length < length || memcmp(line->text, start, length) != 0)
        return false;
    *value = (struct line){line->text + length, line->length - length};
    strip(value);
    return true;
}

/* A plain or quoted value, without a comment behind it. */
static void keep(struct line value, char to[MODEL_FACT_MAX])
{
    char quote = value.length > 1 ? value.text[0] : '\0';
    if (quote == '"' || quote == '\'') {
        const char *end = memchr(value.text + 1, quote, value.length - 1);
        value = (struct line){value.text + 1, end ? (size_t)(end - value.text) - 1 : value.length - 1};
    } else {
        for (size_t i = 1; i < value.length; i++)
            if (value.text[i] == '#' && is_blank(value.text[i - 1]))
                value.length = i;
        strip(&value);
    }
    size_t length = strnlen(value.text, value.length);
    length = length < MODEL_FACT_MAX ? length : MODEL_FACT_MAX - 1;
    memcpy(to, value.text, length);
    to[length] = '\0';
}

/* An entry of a list: "- mit", with or without blanks before it. */
static bool take_entry(struct line line, struct line *value)
{
    strip(&line);
    return take_after(&line, "- ", value);
}

void model_card_licence(const char *text, size_t length, char licence[MODEL_FACT_MAX])
{
    struct line line, value;
    char name[MODEL_FACT_MAX] = "";
    bool in_list = false;
    *licence = '\0';
    if (!next_line(&text, &length, &line) || !is_fence(&line))
        return;
    while (next_line(&text, &length, &line) && !is_fence(&line)) {
        if (in_list && !*licence && take_entry(line, &value))
            keep(value, licence);
        in_list = take_after(&line, "license:", &value);
        if (in_list && value.length > 0)
            keep(value, licence);
        if (take_after(&line, "license_name:", &value))
            keep(value, name);
    }
    if (*name && (!*licence || strcmp(licence, "other") == 0))
        memcpy(licence, name, MODEL_FACT_MAX);
}
