/* Names and texts in the order in which they were found out. */
#include "common/facts.h"

#include "common/units.h"
#include "proto/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length <= LIMIT_FACT_NAME && name[length] == '\0';
}

static char *copy(const char *text)
{
    char *copied = strdup(text);
    if (!copied)
        abort();
    return copied;
}

static void append(struct fact_list *list, const char *name, const char *value)
{
    list->items = realloc(list->items, (list->count + 1) * sizeof *list->items);
    if (!list->items)
        abort();
    list->items[list->count++] = (struct fact){copy(name), copy(value)};
}

void facts_add(struct fact_list *list, const char *name, const char *format, ...)
{
    char text[LIMIT_TEXT + 1];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert(is_name(name) && !facts_text(list, name) && list->count < LIMIT_FACTS);
    append(list, name, text);
}

void facts_add_number(struct fact_list *list, const char *name, uint64_t value)
{
    facts_add(list, name, "%" PRIu64, value);
}

int facts_take(struct fact_list *list, const char *name, const char *value, struct error *err)
{
    if (!is_name(name))
        return error_set(err, ERROR_PROTOCOL, "'%s' is no name of a fact", name);
    if (facts_text(list, name))
        return error_set(err, ERROR_PROTOCOL, "the fact '%s' came twice", name);
    if (list->count == LIMIT_FACTS)
        return error_set(err, ERROR_PROTOCOL, "more than %d facts came", LIMIT_FACTS);
    append(list, name, value);
    return 0;
}

const char *facts_text(const struct fact_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    return NULL;
}

bool facts_number(const struct fact_list *list, const char *name, uint64_t *value)
{
    struct error err;
    const char *text = facts_text(list, name);
    return text && units_parse_number(text, 0, UINT64_MAX, value, &err) == 0;
}

void facts_release(struct fact_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].value);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}
