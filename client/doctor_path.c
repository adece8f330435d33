/* Judges of what lies between the two machines, and of the cards at its ends. */
#include "client/doctor_judges.h"

#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ETHERNET_MTU   1500
#define BYTES_PER_MBIT 125000u
#define FASTEST_MBIT   10000000u /* faster cards are a lie */

static bool is_loopback(const struct doctor_view *view)
{
    return doctor_fact_is(view->client, "link_is_loopback", "1") ||
           doctor_fact_is(view->server, "link_is_loopback", "1");
}

/* A smaller MTU at one end is announced to the other when a connection begins, so that it mends both
 * directions; below Ethernet's usual one TCP has to find out by itself. */
bool judge_black_hole(const struct doctor_case *c, struct doctor_finding *f)
{
    const struct doctor_view *view = c->view;
    bool up = view->large == DOCTOR_LARGE_LOST_UP;
    uint64_t mtu = 0;
    if (view->large == DOCTOR_LARGE_PASS)
        return false;
    (void)facts_number(view->client, "link_mtu_bytes", &mtu);
    f->severity = DOCTOR_HIGH;
    (void)snprintf(f->value, sizeof f->value, "packets of %" PRIu64 " bytes do not arrive at the %s", mtu,
                   up ? "server" : "client");
    if (mtu > ETHERNET_MTU)
        doctor_set_command(f, "ip link set dev {} mtu 1500", view->client, "link_interface");
    else
        doctor_set_command(f,
                           up ? "sysctl -w net.ipv4.tcp_mtu_probing=1"
                              : "sysctl -w net.ipv4.tcp_mtu_probing=1  # on the server",
                           NULL, NULL);
    return true;
}

uint64_t doctor_nominal_rate(const struct doctor_view *view)
{
    uint64_t client = 0, server = 0;
    bool has_client = facts_number(view->client, "link_speed_mbit", &client) && client > 0;
    bool has_server = facts_number(view->server, "link_speed_mbit", &server) && server > 0;
    if (!has_client || (has_server && server < client))
        client = server;
    return client <= FASTEST_MBIT ? client * BYTES_PER_MBIT : 0;
}

static uint64_t slower(const struct doctor_link *link)
{
    uint64_t up = link->up_bytes_per_s, down = link->down_bytes_per_s;
    return up == 0 || (down > 0 && down < up) ? down : up;
}

static const char *rate_text(char out[UNITS_TEXT_MAX], uint64_t bytes_per_s)
{
    return bytes_per_s ? units_format_rate(out, bytes_per_s) : "unknown";
}

/* TCP over Ethernet carries 94 % of the nominal rate with the usual MTU. Weak processors reach two thirds of
 * 10 Gbit/s; below half there is something else. */
bool judge_link_rate(const struct doctor_case *c, struct doctor_finding *f)
{
    const struct doctor_link *link = &c->view->link;
    uint64_t nominal = doctor_nominal_rate(c->view), measured = slower(link);
    char up[UNITS_TEXT_MAX], down[UNITS_TEXT_MAX], whole[UNITS_TEXT_MAX];
    if (nominal == 0 || measured == 0 || measured >= nominal / 2)
        return false;
    f->severity = measured < nominal / 4 ? DOCTOR_HIGH : DOCTOR_MEDIUM;
    (void)snprintf(f->value, sizeof f->value, "%s up and %s down of %s", rate_text(up, link->up_bytes_per_s),
                   rate_text(down, link->down_bytes_per_s), rate_text(whole, nominal));
    return true;
}

bool judge_half_duplex(const struct doctor_case *c, struct doctor_finding *f)
{
    if (!doctor_fact_is(c->facts, "link_duplex", "half"))
        return false;
    f->severity = DOCTOR_HIGH;
    (void)snprintf(f->value, sizeof f->value, "half duplex");
    return true;
}

bool judge_nic_below(const struct doctor_case *c, struct doctor_finding *f)
{
    uint64_t now, most;
    if (!facts_number(c->facts, "link_speed_mbit", &now) ||
        !facts_number(c->facts, "link_speed_max_mbit", &most))
        return false;
    if (now == 0 || now >= most)
        return false;
    f->severity = now <= 100 ? DOCTOR_HIGH : DOCTOR_MEDIUM;
    (void)snprintf(f->value, sizeof f->value, "%" PRIu64 " of %" PRIu64 " Mbit/s", now, most);
    return true;
}

/* The way that works whatever the cards can: the larger one comes down. */
static void set_mtu_command(struct doctor_finding *f, const struct fact_list *larger, uint64_t mtu,
                            const char *behind)
{
    const char *interface = facts_text(larger, "link_interface");
    if (doctor_is_plain(interface))
        (void)snprintf(f->command, sizeof f->command, "ip link set dev %.32s mtu %" PRIu64 "%s", interface,
                       mtu, behind);
}

bool judge_mtu_differs(const struct doctor_case *c, struct doctor_finding *f)
{
    const struct doctor_view *view = c->view;
    uint64_t client, server;
    if (is_loopback(view) || !facts_number(view->client, "link_mtu_bytes", &client) ||
        !facts_number(view->server, "link_mtu_bytes", &server) || client == server)
        return false;
    f->severity = DOCTOR_MEDIUM;
    (void)snprintf(f->value, sizeof f->value, "client %" PRIu64 ", server %" PRIu64, client, server);
    if (client > server)
        set_mtu_command(f, view->client, server, "");
    else
        set_mtu_command(f, view->server, client, "  # on the server");
    return true;
}

bool judge_path_mtu(const struct doctor_case *c, struct doctor_finding *f)
{
    const struct doctor_view *view = c->view;
    uint64_t client, server, path, back;
    if (is_loopback(view) || !facts_number(view->client, "link_mtu_bytes", &client) ||
        !facts_number(view->server, "link_mtu_bytes", &server) ||
        !facts_number(view->client, "link_path_mtu_bytes", &path))
        return false;
    if (facts_number(view->server, "link_path_mtu_bytes", &back) && back < path)
        path = back;
    uint64_t ends = client < server ? client : server;
    if (path == 0 || path >= ends)
        return false;
    f->severity = DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "%" PRIu64 " of %" PRIu64 " bytes", path, ends);
    if (doctor_is_plain(view->host))
        (void)snprintf(f->command, sizeof f->command, "tracepath -n %.200s", view->host);
    return true;
}

/* What counts is what the connection has got; the default of the machine is for other programs. */
bool judge_congestion(const struct doctor_case *c, struct doctor_finding *f)
{
    const char *now = facts_text(c->facts, "link_congestion");
    const char *known = facts_text(c->facts, "congestion_available");
    if (!now || !*now || strcmp(now, "cubic") == 0)
        return false;
    f->severity = strncmp(now, "bbr", 3) == 0 ? DOCTOR_MEDIUM : DOCTOR_LOW;
    (void)snprintf(f->value, sizeof f->value, "%s", now);
    if (known && !strstr(known, "cubic"))
        doctor_set_command(f, "modprobe tcp_cubic", NULL, NULL);
    return true;
}
