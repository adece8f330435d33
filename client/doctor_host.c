/* Judges of the machines themselves. */
#include "client/doctor_judges.h"

#include "common/socket.h"
#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- socket buffers -- */

/* Where the kernel of before 2024 has its limit (208 KiB), other programs notice; from 1 MiB on they rarely
 * do. */
#define LIMIT_ENOUGH ((uint64_t)1 << 20)

struct buffer {
    const char *limit, *automatic, *granted; /* names of facts */
    uint64_t enough;                         /* of the kernel's own tuning */
};

/* A receiver has to take what comes while its disk pauses: twice the wish, for the kernel counts a buffer
 * twice over, with its book-keeping (socket(7)). A sender needs what is under way: the kernel's usual 4 MiB
 * are 10 Gbit/s over 1.6 ms, twice over. */
static const struct buffer receive_buffer = {"rmem_max_bytes", "tcp_rmem_max_bytes", "rcvbuf_granted_bytes",
                                             2 * (uint64_t)SOCKET_BUFFER_WISH};
static const struct buffer send_buffer = {"wmem_max_bytes", "tcp_wmem_max_bytes", "sndbuf_granted_bytes",
                                          (uint64_t)4 << 20};

/* Whether the limit holds mstore back: its wish is not granted, and the kernel's own tuning, which goes on
 * then, ends too early. */
static bool holds_back(const struct fact_list *facts, const struct buffer *buffer, uint64_t limit)
{
    uint64_t granted, automatic = 0;
    if (limit >= SOCKET_BUFFER_WISH || !facts_number(facts, buffer->granted, &granted))
        return false;
    (void)facts_number(facts, buffer->automatic, &automatic);
    return granted < SOCKET_BUFFER_WISH && automatic < buffer->enough;
}

/* Up to a gigabit what the kernel does by itself bridges a tenth of a second. */
static bool is_slow_link(const struct fact_list *facts)
{
    uint64_t mbit;
    return facts_number(facts, "link_speed_mbit", &mbit) && mbit > 0 && mbit <= 1000;
}

static bool judge_buffer(const struct doctor_case *c, struct doctor_finding *f, const struct buffer *buffer,
                         enum doctor_severity severity)
{
    uint64_t limit;
    if (!facts_number(c->facts, buffer->limit, &limit) || !holds_back(c->facts, buffer, limit))
        return false;
    f->severity = is_slow_link(c->facts) ? severity + 1 : severity;
    (void)snprintf(f->value, sizeof f->value, "%" PRIu64, limit);
    return true;
}

bool judge_rmem(const struct doctor_case *c, struct doctor_finding *f)
{
    return judge_buffer(c, f, &receive_buffer, DOCTOR_HIGH);
}

/* Less than for the receiver: what is to be sent comes in large pieces, by sendfile. */
bool judge_wmem(const struct doctor_case *c, struct doctor_finding *f)
{
    return judge_buffer(c, f, &send_buffer, DOCTOR_MEDIUM);
}

static bool judge_buffer_of_others(const struct doctor_case *c, struct doctor_finding *f,
                                   const struct buffer *buffer)
{
    uint64_t limit;
    if (!facts_number(c->facts, buffer->limit, &limit) || limit >= LIMIT_ENOUGH ||
        holds_back(c->facts, buffer, limit))
        return false;
    f->severity = DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "%" PRIu64, limit);
    return true;
}

bool judge_rmem_of_others(const struct doctor_case *c, struct doctor_finding *f)
{
    return judge_buffer_of_others(c, f, &receive_buffer);
}

bool judge_wmem_of_others(const struct doctor_case *c, struct doctor_finding *f)
{
    return judge_buffer_of_others(c, f, &send_buffer);
}

/* -- memory -- */

#define MEMORY_LITTLE_PERCENT 10
#define SWAP_MUCH_PERCENT     50
#define SWAP_BUSY_PAGES       100 /* a second: 400 KB/s, with seeks between */

bool judge_memory(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t total, available;
    char left[UNITS_TEXT_MAX], whole[UNITS_TEXT_MAX];
    if (!facts_number(c->facts, "memory_bytes", &total) ||
        !facts_number(c->facts, "memory_available_bytes", &available) ||
        doctor_percent(available, total) >= MEMORY_LITTLE_PERCENT || total == 0)
        return false;
    f->severity = DOCTOR_MEDIUM;
    (void)snprintf(f->value, sizeof f->value, "%s of %s available", units_format_bytes(left, available),
                   units_format_bytes(whole, total));
    return true;
}

bool judge_swap(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t total, used, pages = 0;
    char text[UNITS_TEXT_MAX], whole[UNITS_TEXT_MAX];
    if (!facts_number(c->facts, "swap_bytes", &total) || !facts_number(c->facts, "swap_used_bytes", &used))
        return false;
    (void)facts_number(c->facts, "swap_pages_per_s", &pages);
    bool is_busy = pages >= SWAP_BUSY_PAGES;
    if (!is_busy && doctor_percent(used, total) < SWAP_MUCH_PERCENT)
        return false;
    f->severity = is_busy ? DOCTOR_HIGH : DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "%s of %s swap used, %" PRIu64 " pages a second",
                   units_format_bytes(text, used), units_format_bytes(whole, total), pages);
    return true;
}

/* -- processors -- */

#define CPU_BUSY_PERCENT  90
#define CORE_BUSY_PERCENT 95
#define LOAD_MUCH_PERCENT 150 /* of what the processors can do at once */

bool judge_cpu(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t cpus, load, busy = 0, core = 0;
    if (!facts_number(c->facts, "cpus", &cpus) || !facts_number(c->facts, "load_percent", &load))
        return false;
    (void)facts_number(c->facts, "cpu_busy_percent", &busy);
    (void)facts_number(c->facts, "cpu_core_busy_percent", &core);
    if (busy >= CPU_BUSY_PERCENT) {
        f->severity = DOCTOR_HIGH;
    } else if (doctor_percent(load, cpus) / 100 >= LOAD_MUCH_PERCENT) {
        f->severity = DOCTOR_MEDIUM;
    } else if (core >= CORE_BUSY_PERCENT) {
        f->severity = DOCTOR_LOW; /* for a fraction of a second, perhaps */
        f->confidence = DOCTOR_PERHAPS;
    } else {
        return false;
    }
    (void)snprintf(f->value, sizeof f->value,
                   "%" PRIu64 " %% busy, one core %" PRIu64 " %%, load %" PRIu64 ".%02" PRIu64 " on %" PRIu64
                   " processors",
                   busy, core, load / 100, load % 100, cpus);
    return true;
}

/* -- time and versions -- */

#define NS_PER_S       1e9
#define CLOCK_OFF_S    2
#define CLOCK_FAR_S    300
#define UPTIME_LONG_S  ((uint64_t)7 * 24 * 3600)
#define SECONDS_IN_DAY 86400

/* The server looked at its clock somewhere between question and answer: the middle, give or take half. */
bool judge_clock(const struct doctor_case *c, struct doctor_finding *f)
{
    const struct doctor_view *view = c->view;
    uint64_t theirs;
    if (!facts_number(view->server, "time_ns", &theirs) || view->answered_ns < view->asked_ns)
        return false;
    double half = (double)(view->answered_ns - view->asked_ns) / 2;
    double ahead = (double)theirs - ((double)view->asked_ns + half);
    double off = (ahead < 0 ? -ahead : ahead) - half;
    if (off <= CLOCK_OFF_S * NS_PER_S)
        return false;
    f->severity = off > CLOCK_FAR_S * NS_PER_S ? DOCTOR_MEDIUM : DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "the server is %.1f s %s",
                   (ahead < 0 ? -ahead : ahead) / NS_PER_S, ahead < 0 ? "behind" : "ahead");
    return true;
}

bool judge_version(const struct doctor_case *c, struct doctor_finding *f)
{
    const char *client = facts_text(c->view->client, "version");
    const char *server = facts_text(c->view->server, "version");
    if (!client || !server || strcmp(client, server) == 0)
        return false;
    f->severity = DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "client %.64s, server %.64s", client, server);
    doctor_set_command(f,
                       strverscmp(client, server) < 0
                           ? "apt-get install --only-upgrade mstore  # on the client"
                           : "apt-get install --only-upgrade mstored  # on the server",
                       NULL, NULL);
    return true;
}

bool judge_uptime(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t seconds;
    if (c->side != DOCTOR_SERVER || !facts_number(c->facts, "uptime_s", &seconds) || seconds < UPTIME_LONG_S)
        return false;
    f->severity = DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "%" PRIu64 " days", seconds / SECONDS_IN_DAY);
    return true;
}
