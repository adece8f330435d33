/* What a machine tells about itself: a flat list of names and texts, the same on both sides of the wire.
 *
 *   struct fact_list facts = {0};
 *   facts_add(&facts, "cpus", "%u", 4);
 *   if (facts_number(&facts, "cpus", &cpus)) …
 *   facts_release(&facts);
 *
 * A list is small (LIMIT_FACTS) and is searched from front to back. What is not known is not in it: nobody
 * reads a zero that means "I could not tell". Texts of a peer are kept as they came; whoever shows one
 * escapes it. Plain data, one thread at a time. Out of memory ends the program. */
#ifndef COMMON_FACTS_H
#define COMMON_FACTS_H

#include "proto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fact {
    char *name, *value;
};

struct fact_list {
    struct fact *items;
    size_t count;
};

/* Adds one of our own: `name` is new, of `a-z 0-9 _`, and there is room. The text is cut at LIMIT_TEXT. */
void facts_add(struct fact_list *list, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void facts_add_number(struct fact_list *list, const char *name, uint64_t value);

/* Adds one that a peer sent, if it keeps the rules of docs/protocol.md, section 5.4; else ERROR_PROTOCOL. */
int facts_take(struct fact_list *list, const char *name, const char *value, struct error *err);

/* The text, or NULL. Borrowed. */
const char *facts_text(const struct fact_list *list, const char *name);

/* True if it is there and a whole number. */
bool facts_number(const struct fact_list *list, const char *name, uint64_t *value);

void facts_release(struct fact_list *list);

#endif
