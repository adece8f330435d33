/* Judges of the file system and the disk at each end: the server's root, and the folder where the client is.
 */
#include "client/doctor_judges.h"

#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has_option(const struct fact_list *facts, const char *option)
{
    const char *at = facts_text(facts, "disk_options");
    size_t length = strlen(option);
    for (; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, option, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool is_in_memory(const struct fact_list *facts)
{
    return doctor_fact_is(facts, "disk_filesystem", "tmpfs") ||
           doctor_fact_is(facts, "disk_filesystem", "ramfs");
}

static bool is_on_network(const struct fact_list *facts)
{
    static const char *const begins[] = {"nfs", "cifs", "smb", "fuse", "9p", "ceph"};
    const char *type = facts_text(facts, "disk_filesystem");
    for (size_t i = 0; type && i < sizeof begins / sizeof *begins; i++)
        if (strncmp(type, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

bool judge_sync_mount(const struct doctor_case *c, struct doctor_finding *f)
{
    if (!has_option(c->facts, "sync") || is_in_memory(c->facts))
        return false;
    f->severity = DOCTOR_HIGH;
    (void)snprintf(f->value, sizeof f->value, "sync");
    return true;
}

/* Without an option that tames it the kernel does as POSIX says. */
bool judge_atime(const struct doctor_case *c, struct doctor_finding *f)
{
    static const char *const tame[] = {"relatime", "noatime", "lazytime", "ro"};
    if (!facts_text(c->facts, "disk_options") || is_in_memory(c->facts))
        return false;
    for (size_t i = 0; i < sizeof tame / sizeof *tame; i++)
        if (has_option(c->facts, tame[i]))
            return false;
    f->severity = DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "strictatime");
    return true;
}

/* A check can wait; what mends the array must not be stopped. */
bool judge_raid(const struct doctor_case *c, struct doctor_finding *f)
{
    const char *action = facts_text(c->facts, "disk_raid_action");
    if (!action || strcmp(action, "idle") == 0 || strcmp(action, "frozen") == 0 ||
        strcmp(action, "none") == 0)
        return false;
    f->severity = DOCTOR_MEDIUM;
    (void)snprintf(f->value, sizeof f->value, "%s", action);
    if (strcmp(action, "check") == 0)
        doctor_set_command(f, "echo idle > /sys/block/{}/md/sync_action", c->facts, "disk_device");
    else
        doctor_set_command(f, "cat /proc/mdstat", NULL, NULL);
    return true;
}

#define DISK_BUSY_PERCENT 50

bool judge_disk_busy(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t busy, read = 0, written = 0;
    char in[UNITS_TEXT_MAX], out[UNITS_TEXT_MAX];
    if (!facts_number(c->facts, "disk_busy_percent", &busy) || busy < DISK_BUSY_PERCENT)
        return false;
    (void)facts_number(c->facts, "disk_read_bytes_per_s", &read);
    (void)facts_number(c->facts, "disk_write_bytes_per_s", &written);
    f->severity = DOCTOR_MEDIUM;
    (void)snprintf(f->value, sizeof f->value, "busy %" PRIu64 " %% of the time, %s read and %s written", busy,
                   units_format_rate(in, read), units_format_rate(out, written));
    return true;
}

/* ZFS looks for places another way from 80 % on, and slows down. */
static bool judge_used(const struct fact_list *facts, unsigned used, enum doctor_severity *severity)
{
    bool zfs = doctor_fact_is(facts, "disk_filesystem", "zfs");
    *severity = used >= (zfs ? 90u : 95u) ? DOCTOR_HIGH : DOCTOR_MEDIUM;
    return used >= (zfs ? 80u : 90u);
}

bool judge_space(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t total, left;
    char text[UNITS_TEXT_MAX];
    if (!facts_number(c->facts, "disk_bytes", &total) || !facts_number(c->facts, "disk_free_bytes", &left) ||
        left > total || total == 0)
        return false;
    unsigned used = doctor_percent(total - left, total);
    if (!judge_used(c->facts, used, &f->severity))
        return false;
    (void)snprintf(f->value, sizeof f->value, "%u %% used, %s free", used, units_format_bytes(text, left));
    doctor_set_command(f, c->side == DOCTOR_SERVER ? "mstore rm NS/MODEL" : "du -xsh -- * | sort -h", NULL,
                       NULL);
    return true;
}

#define READ_AHEAD_ENOUGH_KB 1024

/* mstore gives hints when it reads and is little concerned; other readers are, the more so the longer the way
 * to the bytes. */
bool judge_read_ahead(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t kb;
    if (!facts_number(c->facts, "disk_read_ahead_kb", &kb) || kb >= READ_AHEAD_ENOUGH_KB)
        return false;
    if (is_on_network(c->facts))
        f->severity = DOCTOR_HIGH;
    else if (doctor_fact_is(c->facts, "disk_is_rotational", "1"))
        f->severity = DOCTOR_MEDIUM;
    else
        f->severity = DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "%" PRIu64 " KB", kb);
    return true;
}

bool judge_rotational(const struct doctor_case *c, struct doctor_finding *f)
{
    const char *device = facts_text(c->facts, "disk_device");
    if (!doctor_fact_is(c->facts, "disk_is_rotational", "1"))
        return false;
    f->severity = DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "%.64s rotates", device ? device : "the disk");
    return true;
}
