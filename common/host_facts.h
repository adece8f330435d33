/* Facts of the machine itself: kernel, processors, memory, limits of sockets.
 *
 *   host_sample(&before, root) … some time … host_sample(&after, root)
 *   host_facts(facts, root, &before, &after)
 *
 * `root` as in common/sysfile.h. What cannot be read is left out. Thread-safe; waits for nothing.
 *
 * | name | what, source |
 * | --- | --- |
 * | version, kernel | text: of this program; uname(2) |
 * | uptime_s, time_ns | since boot; wall clock when `before` was taken |
 * | cpus, load_percent | online; 100 for each process that runs or waits, mean of a minute |
 * | cpu_busy_percent, cpu_core_busy_percent | between the samples: of all; of the busiest |
 * | memory_bytes, memory_available_bytes | /proc/meminfo |
 * | swap_bytes, swap_used_bytes | /proc/meminfo |
 * | swap_pages_per_s | in and out, between the samples (/proc/vmstat) |
 * | rmem_max_bytes, wmem_max_bytes | net.core: what a program may ask for |
 * | tcp_rmem_max_bytes, tcp_wmem_max_bytes | net.ipv4: how far the kernel goes by itself |
 * | rcvbuf_granted_bytes, sndbuf_granted_bytes | what a data socket of this program gets |
 * | congestion_default, congestion_available | text: net.ipv4 | */
#ifndef COMMON_HOST_FACTS_H
#define COMMON_HOST_FACTS_H

#include "common/facts.h"

/* Processors beyond these are not looked at one by one. */
#define HOST_CPUS_MAX 256

struct cpu_times {
    uint64_t busy, all; /* ticks since boot */
};

struct host_sample {
    uint64_t ns;      /* monotonic */
    uint64_t wall_ns; /* since 1970 */
    struct cpu_times cpus[HOST_CPUS_MAX];
    unsigned cpu_count;
    uint64_t swapped_pages;
    bool has_swapped;
};

void host_sample(struct host_sample *sample, const char *root);

void host_facts(struct fact_list *facts, const char *root, const struct host_sample *before,
                const struct host_sample *after);

/* -- pure -- */

/* The rows "cpu0 …", "cpu1 …" of /proc/stat, at most `most`; how many. Waiting for a disk is not busy. */
unsigned host_parse_stat(const char *text, struct cpu_times *cpus, unsigned most);

/* Busy share between two samples, of all and of the busiest, in percent. False where no time has passed. */
bool host_cpu_busy(const struct host_sample *before, const struct host_sample *after, unsigned *all,
                   unsigned *core);

/* "0.52 …" of /proc/loadavg as 52. */
bool host_parse_load(const char *text, uint64_t *percent_of_one);

#endif
