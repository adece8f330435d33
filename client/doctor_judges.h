/* The judges of the rules of client/doctor_rules.c: each looks at one thing and says whether something is
 * wrong with it. A judge gets a finding that has id, place, advice, confidence and command of its rule; if it
 * returns true it has set severity and value, and changed of the others what the rule cannot know. Pure. */
#ifndef CLIENT_DOCTOR_JUDGES_H
#define CLIENT_DOCTOR_JUDGES_H

#include "client/doctor_rules.h"

struct doctor_case {
    const struct doctor_view *view;
    enum doctor_where side;        /* DOCTOR_CLIENT or DOCTOR_SERVER; DOCTOR_PATH for what lies between */
    const struct fact_list *facts; /* of that side; the client's for what lies between */
};

typedef bool doctor_judge_fn(const struct doctor_case *c, struct doctor_finding *finding);

/* doctor_path.c */
doctor_judge_fn judge_black_hole, judge_link_rate, judge_half_duplex, judge_nic_below, judge_mtu_differs,
    judge_path_mtu, judge_congestion;
/* doctor_host.c */
doctor_judge_fn judge_rmem, judge_wmem, judge_rmem_of_others, judge_wmem_of_others, judge_memory, judge_swap,
    judge_cpu, judge_clock, judge_version, judge_uptime;
/* doctor_disk.c */
doctor_judge_fn judge_sync_mount, judge_raid, judge_disk_busy, judge_space, judge_read_ahead,
    judge_rotational, judge_atime;

/* -- for judges -- */

/* True if the fact is there and is that word. */
bool doctor_fact_is(const struct fact_list *facts, const char *name, const char *word);

/* Puts `template` into the finding's command, with the fact in the place of `{}`. Where the fact is missing
 * or is more than a plain word (letters, digits, `.`, `_`, `-`, `:`), the command stays empty. */
void doctor_set_command(struct doctor_finding *finding, const char *template, const struct fact_list *facts,
                        const char *name);
bool doctor_is_plain(const char *word);

/* part / whole in percent without overflow, rounded down; 0 for a whole of 0. */
unsigned doctor_percent(uint64_t part, uint64_t whole);

#endif
