/* Two machines in good health, as lists of facts, for the tests of doctor's rules: each test changes what it
 * is about.
 *
 *   make_pair(&pair); set(&pair.server, "link_mtu_bytes", "9000"); judge(&pair) … release_pair(&pair) */
#ifndef UNIT_DOCTOR_PAIR_H
#define UNIT_DOCTOR_PAIR_H

#include "support.h"

#include "client/doctor_rules.h"

static const char *const healthy[][2] = {
    {"version", "0.1.0"},
    {"kernel", "Linux 6.1.0 x86_64"},
    {"uptime_s", "86400"},
    {"time_ns", "1700000000000000000"},
    {"load_percent", "50"},
    {"cpus", "4"},
    {"cpu_busy_percent", "10"},
    {"cpu_core_busy_percent", "30"},
    {"memory_bytes", "8000000000"},
    {"memory_available_bytes", "6000000000"},
    {"swap_bytes", "2000000000"},
    {"swap_used_bytes", "100000000"},
    {"swap_pages_per_s", "0"},
    {"rmem_max_bytes", "67108864"},
    {"wmem_max_bytes", "67108864"},
    {"tcp_rmem_max_bytes", "6291456"},
    {"tcp_wmem_max_bytes", "4194304"},
    {"rcvbuf_granted_bytes", "16777216"},
    {"sndbuf_granted_bytes", "16777216"},
    {"congestion_default", "cubic"},
    {"congestion_available", "reno cubic"},
    {"link_interface", "eth0"},
    {"link_is_loopback", "0"},
    {"link_mtu_bytes", "1500"},
    {"link_speed_mbit", "10000"},
    {"link_speed_max_mbit", "10000"},
    {"link_duplex", "full"},
    {"link_congestion", "cubic"},
    {"link_path_mtu_bytes", "1500"},
    {"disk_filesystem", "ext4"},
    {"disk_options", "rw,relatime,rw"},
    {"disk_device", "sda"},
    {"disk_number", "8:1"},
    {"disk_bdi", "8:0"},
    {"disk_bytes", "1000000000000"},
    {"disk_free_bytes", "500000000000"},
    {"disk_is_rotational", "0"},
    {"disk_read_ahead_kb", "15360"},
    {"disk_busy_percent", "2"},
};

struct pair {
    struct fact_list client, server;
    struct doctor_view view;
    struct doctor_report report;
};

static inline void fill_list(struct fact_list *facts)
{
    for (size_t i = 0; i < COUNT_OF(healthy); i++)
        facts_add(facts, healthy[i][0], "%s", healthy[i][1]);
}

static inline void make_pair(struct pair *pair)
{
    memset(pair, 0, sizeof *pair);
    fill_list(&pair->client);
    fill_list(&pair->server);
    pair->view = (struct doctor_view){.host = "nas",
                                      .client = &pair->client,
                                      .server = &pair->server,
                                      .asked_ns = 1700000000000000000 - 100000000,
                                      .answered_ns = 1700000000000000000 + 100000000,
                                      .link = {1170000000, 1150000000}};
}

static inline void release_pair(struct pair *pair)
{
    facts_release(&pair->client);
    facts_release(&pair->server);
}

/* NULL takes the fact away. */
static inline void set(struct fact_list *facts, const char *name, const char *value)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].name, name) == 0) {
            free(facts->items[i].name);
            free(facts->items[i].value);
            facts->items[i] = facts->items[--facts->count];
        }
    if (value)
        facts_add(facts, name, "%s", value);
}

/* The only finding, if there is one and no other. */
static inline const struct doctor_finding *judge(struct pair *pair)
{
    doctor_judge(&pair->view, &pair->report);
    if (pair->report.count > 1)
        fail_msg("also found: %s", pair->report.findings[1].id);
    return pair->report.count == 1 ? &pair->report.findings[0] : NULL;
}

#endif
