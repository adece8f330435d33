/* One small function a file of /proc; each leaves out what it cannot read. */
#include "common/host_facts.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/socket.h"
#include "common/sysfile.h"
#include "proto/version.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KB 1024u

/* -- pure -- */

/* The numbers of one row: user nice system idle iowait irq softirq steal (proc(5)). */
static bool parse_cpu(const char *row, struct cpu_times *times)
{
    enum { IDLE = 3, IOWAIT = 4, COLUMNS = 8 };
    uint64_t value;
    memset(times, 0, sizeof *times);
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (!sysfile_column(row, i, &value))
            return i > IDLE; /* old kernels have fewer */
        times->all += value;
        times->busy += i == IDLE || i == IOWAIT ? 0 : value;
    }
    return true;
}

unsigned host_parse_stat(const char *text, struct cpu_times *cpus, unsigned most)
{
    unsigned count = 0;
    for (const char *line = text; line && count < most; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "cpu", 3) == 0 && isdigit((unsigned char)line[3]) &&
            parse_cpu(line + strcspn(line, " "), &cpus[count]))
            count++;
    }
    return count;
}

static unsigned percent(uint64_t part, uint64_t whole)
{
    return part >= whole ? 100 : (unsigned)(part * 100 / whole);
}

bool host_cpu_busy(const struct host_sample *before, const struct host_sample *after, unsigned *all,
                   unsigned *core)
{
    struct cpu_times sum = {0};
    *core = 0;
    for (unsigned i = 0; i < after->cpu_count && i < before->cpu_count; i++) {
        const struct cpu_times *old = &before->cpus[i], *new = &after->cpus[i];
        if (new->all <= old->all || new->busy < old->busy)
            continue;
        struct cpu_times passed = {new->busy - old->busy, new->all - old->all};
        sum.busy += passed.busy;
        sum.all += passed.all;
        if (percent(passed.busy, passed.all) > *core)
            *core = percent(passed.busy, passed.all);
    }
    *all = sum.all ? percent(sum.busy, sum.all) : 0;
    return sum.all > 0;
}

bool host_parse_load(const char *text, uint64_t *percent_of_one)
{
    unsigned whole, behind;
    char point;
    if (sscanf(text, "%6u%c%2u", &whole, &point, &behind) != 3 || point != '.')
        return false;
    *percent_of_one = (uint64_t)whole * 100 + behind;
    return true;
}

/* -- samples -- */

static bool read_swapped(const char *root, uint64_t *pages)
{
    uint64_t in, out;
    char *text = sysfile_read("%s/proc/vmstat", root);
    bool there = text && sysfile_field(text, "pswpin", &in) && sysfile_field(text, "pswpout", &out);
    free(text);
    *pages = there ? in + out : 0;
    return there;
}

void host_sample(struct host_sample *sample, const char *root)
{
    memset(sample, 0, sizeof *sample);
    sample->ns = clock_ns();
    sample->wall_ns = clock_wall_ns();
    char *text = sysfile_read("%s/proc/stat", root);
    if (text)
        sample->cpu_count = host_parse_stat(text, sample->cpus, HOST_CPUS_MAX);
    free(text);
    sample->has_swapped = read_swapped(root, &sample->swapped_pages);
}

/* -- facts -- */

static void add_system(struct fact_list *facts, const char *root)
{
    struct utsname name;
    uint64_t seconds;
    char line[128];
    facts_add(facts, "version", "%s", MSTORE_VERSION);
    if (uname(&name) == 0)
        facts_add(facts, "kernel", "%s %s %s", name.sysname, name.release, name.machine);
    /* "12345.67 …": the whole seconds */
    if (sysfile_line(line, sizeof line, "%s/proc/uptime", root)) {
        line[strcspn(line, ". ")] = '\0';
        if (sysfile_column(line, 0, &seconds))
            facts_add_number(facts, "uptime_s", seconds);
    }
}

static void add_cpus(struct fact_list *facts, const char *root, const struct host_sample *before,
                     const struct host_sample *after)
{
    char line[128];
    uint64_t load;
    unsigned all, core;
    if (after->cpu_count > 0)
        facts_add_number(facts, "cpus", after->cpu_count);
    if (sysfile_line(line, sizeof line, "%s/proc/loadavg", root) && host_parse_load(line, &load))
        facts_add_number(facts, "load_percent", load);
    if (!host_cpu_busy(before, after, &all, &core))
        return;
    facts_add_number(facts, "cpu_busy_percent", all);
    facts_add_number(facts, "cpu_core_busy_percent", core);
}

static void add_memory(struct fact_list *facts, const char *root)
{
    uint64_t total, available, swap, swap_free;
    char *text = sysfile_read("%s/proc/meminfo", root);
    if (text && sysfile_field(text, "MemTotal", &total) && sysfile_field(text, "MemAvailable", &available)) {
        facts_add_number(facts, "memory_bytes", total * KB);
        facts_add_number(facts, "memory_available_bytes", available * KB);
    }
    if (text && sysfile_field(text, "SwapTotal", &swap) && sysfile_field(text, "SwapFree", &swap_free)) {
        facts_add_number(facts, "swap_bytes", swap * KB);
        facts_add_number(facts, "swap_used_bytes", (swap > swap_free ? swap - swap_free : 0) * KB);
    }
    free(text);
}

static void add_swapping(struct fact_list *facts, const struct host_sample *before,
                         const struct host_sample *after)
{
    uint64_t ms = (after->ns - before->ns) / 1000000u;
    if (!before->has_swapped || !after->has_swapped || ms == 0)
        return;
    uint64_t pages = after->swapped_pages - before->swapped_pages;
    facts_add_number(facts, "swap_pages_per_s", pages * 1000 / ms);
}

/* A limit; `column` is 0, or 2 for the largest of "smallest usual largest". */
static void add_limit(struct fact_list *facts, const char *root, const char *path, unsigned column,
                      const char *name)
{
    char line[128];
    uint64_t value;
    if (sysfile_line(line, sizeof line, "%s%s", root, path) && sysfile_column(line, column, &value))
        facts_add_number(facts, name, value);
}

/* What the rule of common/socket.h comes to on this machine, with the rights that this program has. */
static void add_granted(struct fact_list *facts)
{
    uint64_t rcvbuf, sndbuf;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)socket_set_buffers(fd);
    socket_granted(fd, &rcvbuf, &sndbuf);
    fdio_drop(&fd);
    facts_add_number(facts, "rcvbuf_granted_bytes", rcvbuf);
    facts_add_number(facts, "sndbuf_granted_bytes", sndbuf);
}

static void add_text(struct fact_list *facts, const char *root, const char *path, const char *name)
{
    char line[256];
    if (sysfile_line(line, sizeof line, "%s%s", root, path))
        facts_add(facts, name, "%s", line);
}

static void add_sockets(struct fact_list *facts, const char *root)
{
    add_limit(facts, root, "/proc/sys/net/core/rmem_max", 0, "rmem_max_bytes");
    add_limit(facts, root, "/proc/sys/net/core/wmem_max", 0, "wmem_max_bytes");
    add_limit(facts, root, "/proc/sys/net/ipv4/tcp_rmem", 2, "tcp_rmem_max_bytes");
    add_limit(facts, root, "/proc/sys/net/ipv4/tcp_wmem", 2, "tcp_wmem_max_bytes");
    add_granted(facts);
    add_text(facts, root, "/proc/sys/net/ipv4/tcp_congestion_control", "congestion_default");
    add_text(facts, root, "/proc/sys/net/ipv4/tcp_available_congestion_control", "congestion_available");
}

void host_facts(struct fact_list *facts, const char *root, const struct host_sample *before,
                const struct host_sample *after)
{
    add_system(facts, root);
    facts_add_number(facts, "time_ns", before->wall_ns);
    add_cpus(facts, root, before, after);
    add_memory(facts, root);
    add_swapping(facts, before, after);
    add_sockets(facts, root);
}
