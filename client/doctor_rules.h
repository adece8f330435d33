/* What can make a transfer slow, as one table of rules over what both machines tell and what was seen between
 * them.
 *
 *   struct doctor_view view = {…};
 *   doctor_judge(&view, &report);      findings in the order of what they cost
 *   doctor_rule_reach(&view, i)        for i below doctor_rule_count(): where rule i could look
 *
 * A rule judges only what is known: a fact that is missing makes no finding. Facts of the server are a
 * stranger's words: numbers are parsed strictly, and no text of his gets into a command but plain words.
 * Pure, any thread. */
#ifndef CLIENT_DOCTOR_RULES_H
#define CLIENT_DOCTOR_RULES_H

#include "common/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doctor_where { DOCTOR_CLIENT, DOCTOR_SERVER, DOCTOR_PATH, DOCTOR_BOTH };

/* High: transfers fail or lose a large part of their rate. Medium: they lose some. Low: good to know. */
enum doctor_severity { DOCTOR_HIGH, DOCTOR_MEDIUM, DOCTOR_LOW };

enum doctor_confidence { DOCTOR_SURE, DOCTOR_LIKELY, DOCTOR_PERHAPS };

/* What became of full-sized packets. */
enum doctor_large { DOCTOR_LARGE_PASS, DOCTOR_LARGE_LOST_UP, DOCTOR_LARGE_LOST_DOWN };

/* Memory to memory, over several streams; 0 where it was not measured. Up is from the client to the server.
 */
struct doctor_link {
    uint64_t up_bytes_per_s, down_bytes_per_s;
};

struct doctor_view {
    const char *host; /* of the server, as the user named it */
    const struct fact_list *client, *server;
    uint64_t asked_ns, answered_ns; /* the client's wall clock before `host` and at its first answer */
    enum doctor_large large;
    struct doctor_link link;
};

#define DOCTOR_VALUE_MAX    192
#define DOCTOR_COMMAND_MAX  256
#define DOCTOR_FINDINGS_MAX 64

struct doctor_finding {
    const char *id; /* of the command-line contract */
    enum doctor_where where;
    enum doctor_severity severity;
    enum doctor_confidence confidence;
    char value[DOCTOR_VALUE_MAX];     /* what was read or measured; may hold a stranger's words */
    const char *advice;               /* why it matters, and what to do */
    char command[DOCTOR_COMMAND_MAX]; /* what mends it, or shows what does; "" where nothing exact can be said
                                       */
};

struct doctor_report {
    struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
    size_t count;
};

void doctor_judge(const struct doctor_view *view, struct doctor_report *report);

/* What the cards at both ends could carry, in bytes a second; 0 where neither says. */
uint64_t doctor_nominal_rate(const struct doctor_view *view);

/* -- what was looked at -- */

struct doctor_reach {
    const char *what; /* "the read-ahead of the disk" */
    bool between;     /* looked at once, and not at each end */
    bool is_extra;    /* many machines have no such thing: that it is missing leaves no gap */
    bool client, server;
};

size_t doctor_rule_count(void);
struct doctor_reach doctor_rule_reach(const struct doctor_view *view, size_t rule);

const char *doctor_where_name(enum doctor_where where);
const char *doctor_severity_name(enum doctor_severity severity);
const char *doctor_confidence_name(enum doctor_confidence confidence);

#endif
