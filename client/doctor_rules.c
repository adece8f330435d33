/* The table. Its order is that of what the findings cost, where their severity is the same. */
#include "client/doctor_rules.h"

#include "client/doctor_judges.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct rule {
    const char *id;
    const char *what; /* is looked at */
    bool between;     /* once; else at each end */
    enum doctor_where where;
    const char *needs[2]; /* facts without which it cannot look */
    bool needs_rate;      /* nor without a measured link */
    bool is_extra;        /* many machines have none */
    doctor_judge_fn *judge;
    enum doctor_confidence confidence;
    const char *advice;
    const char *command, *command_fact; /* `{}` in the command stands for the fact */
};

#define MOUNT_PLACE "\"$(findmnt -n -f -o TARGET {})\""

/* The sizes are those of systemd/90-mstore.conf; 15360 is 15 MiB of read-ahead, with which mmap loads over a
 * network took 114 s instead of 197 s. */
static const struct rule rules[] = {
    {.id = "mtu",
     .what = "whether full-sized packets pass",
     .between = true,
     .where = DOCTOR_PATH,
     .judge = judge_black_hole,
     .confidence = DOCTOR_LIKELY,
     .advice = "Small packets pass and full-sized ones vanish: something on the way carries less and says "
               "nothing (ICMP is filtered, or a switch knows no jumbo frames). Transfers hang."},
    {.id = "mount-options",
     .what = "the mount option sync",
     .needs = {"disk_options"},
     .judge = judge_sync_mount,
     .confidence = DOCTOR_SURE,
     .advice = "Every write waits for the disk. mstore flushes what it has to by itself.",
     .command = "mount -o remount,async " MOUNT_PLACE,
     .command_fact = "disk_number"},
    {.id = "nic-speed",
     .what = "duplex",
     .needs = {"link_duplex"},
     .judge = judge_half_duplex,
     .confidence = DOCTOR_SURE,
     .advice = "Only one end can speak at a time: one side negotiates and the other is set by hand.",
     .command = "ethtool -s {} autoneg on",
     .command_fact = "link_interface"},
    {.id = "nic-speed",
     .what = "the measured rate of the link",
     .between = true,
     .where = DOCTOR_PATH,
     .needs = {"link_speed_mbit"},
     .needs_rate = true,
     .judge = judge_link_rate,
     .confidence = DOCTOR_LIKELY,
     .advice =
         "From memory to memory the link carries far less than its cards have agreed on: a slower link on "
         "the way, a shaper, bad cabling, or processors that do not keep up.",
     .command = "tc -s qdisc show dev {}; ethtool -S {} | grep -iE 'err|drop|crc'",
     .command_fact = "link_interface"},
    {.id = "nic-speed",
     .what = "the negotiated speed",
     .needs = {"link_speed_mbit", "link_speed_max_mbit"},
     .judge = judge_nic_below,
     .confidence = DOCTOR_LIKELY,
     .advice =
         "The card could do more than was negotiated: the cable, or the port at its other end. If it comes "
         "back the same after this, exchange them.",
     .command = "ethtool -r {}",
     .command_fact = "link_interface"},
    {.id = "memory",
     .what = "swapping",
     .needs = {"swap_bytes", "swap_used_bytes"},
     .judge = judge_swap,
     .confidence = DOCTOR_LIKELY,
     .advice = "Pages go to the swap and come back: programs wait for the disk that the transfer needs.",
     .command = "ps -eo rss,comm --sort=-rss | head"},
    {.id = "cpu",
     .what = "the processors",
     .needs = {"cpus", "load_percent"},
     .judge = judge_cpu,
     .confidence = DOCTOR_LIKELY,
     .advice = "Other work takes the processors that checksums, interrupts and copies need.",
     .command = "top -b -n 1 | head -n 20"},
    {.id = "space",
     .what = "free space",
     .needs = {"disk_bytes", "disk_free_bytes"},
     .judge = judge_space,
     .confidence = DOCTOR_SURE,
     .advice = "A full file system finds only scattered places for large files, and then none."},
    {.id = "rmem-max",
     .what = "the limit of receive buffers",
     .needs = {"rmem_max_bytes", "rcvbuf_granted_bytes"},
     .judge = judge_rmem,
     .confidence = DOCTOR_SURE,
     .advice = "The receive buffer cannot bridge the pauses of a busy disk, so the sender waits for it.",
     .command = "sysctl -w net.core.rmem_max=67108864"},
    {.id = "readahead",
     .what = "the read-ahead of the disk",
     .needs = {"disk_read_ahead_kb", "disk_bdi"},
     .judge = judge_read_ahead,
     .confidence = DOCTOR_LIKELY,
     .advice = "Programs that read without a hint, as a loader does by mmap, wait for the disk after each of "
               "these pieces.",
     .command = "echo 15360 > /sys/class/bdi/{}/read_ahead_kb",
     .command_fact = "disk_bdi"},
    {.id = "mtu",
     .what = "the MTU of both ends",
     .between = true,
     .where = DOCTOR_PATH,
     .needs = {"link_mtu_bytes"},
     .judge = judge_mtu_differs,
     .confidence = DOCTOR_SURE,
     .advice =
         "TCP agrees on the smaller one, so the larger gains nothing here; what is not TCP may be lost."},
    {.id = "disk-busy",
     .what = "a RAID at work",
     .needs = {"disk_raid_action"},
     .is_extra = true,
     .judge = judge_raid,
     .confidence = DOCTOR_SURE,
     .advice = "The RAID reads all its disks besides; transfers get what it leaves."},
    {.id = "disk-busy",
     .what = "other load on the disk",
     .needs = {"disk_busy_percent"},
     .judge = judge_disk_busy,
     .confidence = DOCTOR_LIKELY,
     .advice = "Something else uses the disk while no transfer runs: a scrub, a backup, an indexer.",
     .command = "pidstat -d 1 5"},
    {.id = "memory",
     .what = "available memory",
     .needs = {"memory_bytes", "memory_available_bytes"},
     .judge = judge_memory,
     .confidence = DOCTOR_SURE,
     .advice = "Little is left for the page cache, through which files are read ahead and written back.",
     .command = "ps -eo rss,comm --sort=-rss | head"},
    {.id = "wmem-max",
     .what = "the limit of send buffers",
     .needs = {"wmem_max_bytes", "sndbuf_granted_bytes"},
     .judge = judge_wmem,
     .confidence = DOCTOR_SURE,
     .advice = "The send buffer runs dry while the next bytes come from the disk.",
     .command = "sysctl -w net.core.wmem_max=67108864"},
    {.id = "congestion",
     .what = "congestion control",
     .needs = {"link_congestion"},
     .judge = judge_congestion,
     .confidence = DOCTOR_LIKELY,
     .advice =
         "mstore asks for cubic, which took half the processor time of bbr on a LAN, and did not get it.",
     .command = "sysctl -w net.ipv4.tcp_congestion_control=cubic"},
    {.id = "clock",
     .what = "the clocks",
     .between = true,
     .where = DOCTOR_BOTH,
     .needs = {"time_ns"},
     .judge = judge_clock,
     .confidence = DOCTOR_SURE,
     .advice = "Ages, logs and times of files of the two machines do not compare.",
     .command = "timedatectl set-ntp true"},
    {.id = "uptime",
     .what = "how long it has been up",
     .needs = {"uptime_s"},
     .judge = judge_uptime,
     .confidence = DOCTOR_PERHAPS,
     .advice =
         "One NAS that had been up for days read 3.5 times slower until it was started again. If no other "
         "finding explains what you see, try that.",
     .command = "systemctl reboot"},
    {.id = "mtu",
     .what = "the MTU of the path",
     .between = true,
     .where = DOCTOR_PATH,
     .needs = {"link_mtu_bytes", "link_path_mtu_bytes"},
     .judge = judge_path_mtu,
     .confidence = DOCTOR_SURE,
     .advice = "Something on the way carries less than both ends could; it says so, and TCP has adapted."},
    {.id = "rotational",
     .what = "whether the disk rotates",
     .needs = {"disk_is_rotational"},
     .judge = judge_rotational,
     .confidence = DOCTOR_PERHAPS,
     .advice =
         "A rotating disk seeks between files that are read at once. Streams take turns at it, so more than "
         "two gain nothing. Virtual disks often only say that they rotate.",
     .command = "mstore pull -n 2 NS/MODEL DST"},
    {.id = "mount-options",
     .what = "the mount option strictatime",
     .needs = {"disk_options", "disk_filesystem"},
     .judge = judge_atime,
     .confidence = DOCTOR_SURE,
     .advice = "Every read of a file writes its access time.",
     .command = "mount -o remount,relatime " MOUNT_PLACE,
     .command_fact = "disk_number"},
    {.id = "version",
     .what = "the versions",
     .between = true,
     .where = DOCTOR_BOTH,
     .needs = {"version"},
     .judge = judge_version,
     .confidence = DOCTOR_SURE,
     .advice = "The programs differ; what the older one does worse is not found out here."},
    {.id = "rmem-max",
     .what = "the limit of receive buffers for other programs",
     .needs = {"rmem_max_bytes", "rcvbuf_granted_bytes"},
     .judge = judge_rmem_of_others,
     .confidence = DOCTOR_SURE,
     .advice = "mstore is not held back: it may go beyond this limit, or the kernel does so by itself. Other "
               "programs that ask for a large buffer get a small one in silence.",
     .command = "sysctl -w net.core.rmem_max=67108864"},
    {.id = "wmem-max",
     .what = "the limit of send buffers for other programs",
     .needs = {"wmem_max_bytes", "sndbuf_granted_bytes"},
     .judge = judge_wmem_of_others,
     .confidence = DOCTOR_SURE,
     .advice = "mstore is not held back: it may go beyond this limit, or the kernel does so by itself. Other "
               "programs that ask for a large buffer get a small one in silence.",
     .command = "sysctl -w net.core.wmem_max=67108864"},
};

static_assert(2 * COUNT_OF(rules) <= DOCTOR_FINDINGS_MAX, "each rule may find something at both ends");

/* -- running them -- */

static bool has_needs(const struct rule *rule, const struct doctor_view *view, const struct fact_list *facts)
{
    if (rule->needs_rate && view->link.up_bytes_per_s == 0 && view->link.down_bytes_per_s == 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(rule->needs) && rule->needs[i]; i++)
        if (!facts_text(facts, rule->needs[i]))
            return false;
    return true;
}

static void run_rule(const struct rule *rule, const struct doctor_case *c, struct doctor_report *report)
{
    struct doctor_finding *finding = &report->findings[report->count];
    *finding = (struct doctor_finding){.id = rule->id,
                                       .where = rule->between ? rule->where : c->side,
                                       .confidence = rule->confidence,
                                       .advice = rule->advice};
    if (rule->command)
        doctor_set_command(finding, rule->command, c->facts, rule->command_fact);
    if (rule->judge(c, finding))
        report->count++;
}

/* Keeps the table's order among equals: the lists are short. */
static void sort_findings(struct doctor_report *report)
{
    for (size_t i = 1; i < report->count; i++) {
        struct doctor_finding moved = report->findings[i];
        size_t at = i;
        for (; at > 0 && report->findings[at - 1].severity > moved.severity; at--)
            report->findings[at] = report->findings[at - 1];
        report->findings[at] = moved;
    }
}

void doctor_judge(const struct doctor_view *view, struct doctor_report *report)
{
    const struct doctor_case path = {view, DOCTOR_PATH, view->client};
    const struct doctor_case server = {view, DOCTOR_SERVER, view->server};
    const struct doctor_case client = {view, DOCTOR_CLIENT, view->client};
    report->count = 0;
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (rules[i].between) {
            run_rule(&rules[i], &path, report);
        } else {
            run_rule(&rules[i], &server, report);
            run_rule(&rules[i], &client, report);
        }
    sort_findings(report);
}

/* -- what was looked at -- */

size_t doctor_rule_count(void)
{
    return COUNT_OF(rules);
}

struct doctor_reach doctor_rule_reach(const struct doctor_view *view, size_t rule)
{
    return (struct doctor_reach){.what = rules[rule].what,
                                 .between = rules[rule].between,
                                 .is_extra = rules[rule].is_extra,
                                 .client = has_needs(&rules[rule], view, view->client),
                                 .server = has_needs(&rules[rule], view, view->server)};
}

/* -- words -- */

const char *doctor_where_name(enum doctor_where where)
{
    static const char *const names[] = {"client", "server", "path", "both"};
    return names[where];
}

const char *doctor_severity_name(enum doctor_severity severity)
{
    static const char *const names[] = {"high", "medium", "low"};
    return names[severity];
}

const char *doctor_confidence_name(enum doctor_confidence confidence)
{
    static const char *const names[] = {"sure", "likely", "perhaps"};
    return names[confidence];
}

/* -- for judges -- */

bool doctor_fact_is(const struct fact_list *facts, const char *name, const char *word)
{
    const char *text = facts_text(facts, name);
    return text && strcmp(text, word) == 0;
}

bool doctor_is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:";
    return word && *word && *word != '-' && !strstr(word, "..") && word[strspn(word, plain)] == '\0';
}

void doctor_set_command(struct doctor_finding *finding, const char *template, const struct fact_list *facts,
                        const char *name)
{
    const char *word = name ? facts_text(facts, name) : "";
    size_t used = 0;
    finding->command[0] = '\0';
    if (name && !doctor_is_plain(word))
        return;
    for (const char *at = template; *at && used < sizeof finding->command; at++) {
        bool is_place = at[0] == '{' && at[1] == '}';
        int n = is_place ? snprintf(finding->command + used, sizeof finding->command - used, "%s", word)
                         : snprintf(finding->command + used, sizeof finding->command - used, "%c", *at);
        used += (size_t)n;
        at += is_place;
    }
    if (used >= sizeof finding->command) /* half a command is none */
        finding->command[0] = '\0';
}

unsigned doctor_percent(uint64_t part, uint64_t whole)
{
    if (whole == 0)
        return 0;
    double share = (double)part * 100.0 / (double)whole;
    return share < 1e6 ? (unsigned)share : 1000000;
}
