/* From a socket to its address, from the address to the interface, from the interface to what it can. */
#include "common/link_facts.h"

#include "common/fdio.h"
#include "common/sysfile.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define INTERFACES_MAX 128

/* -- pure -- */

bool link_find_inet6(const char *text, const uint8_t address[16], char name[IF_NAMESIZE])
{
    char wanted[33], found[33];
    for (int i = 0; i < 16; i++)
        (void)snprintf(wanted + 2 * i, 3, "%02x", address[i]);
    /* address, index, length of the prefix, scope, flags, name */
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (sscanf(line, "%32s %*s %*s %*s %*s %15s", found, name) == 2 && strcmp(found, wanted) == 0)
            return true;
    }
    return false;
}

/* Modes that a NAS or a node of today has; a faster one that is not here is only not boasted of. */
static const struct {
    unsigned bit, mbit;
} modes[] = {
    {ETHTOOL_LINK_MODE_10baseT_Half_BIT, 10},
    {ETHTOOL_LINK_MODE_10baseT_Full_BIT, 10},
    {ETHTOOL_LINK_MODE_100baseT_Half_BIT, 100},
    {ETHTOOL_LINK_MODE_100baseT_Full_BIT, 100},
    {ETHTOOL_LINK_MODE_1000baseT_Half_BIT, 1000},
    {ETHTOOL_LINK_MODE_1000baseT_Full_BIT, 1000},
    {ETHTOOL_LINK_MODE_1000baseKX_Full_BIT, 1000},
    {ETHTOOL_LINK_MODE_1000baseX_Full_BIT, 1000},
    {ETHTOOL_LINK_MODE_2500baseX_Full_BIT, 2500},
    {ETHTOOL_LINK_MODE_2500baseT_Full_BIT, 2500},
    {ETHTOOL_LINK_MODE_5000baseT_Full_BIT, 5000},
    {ETHTOOL_LINK_MODE_10000baseT_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_10000baseKX4_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_10000baseKR_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_10000baseCR_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_10000baseSR_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_10000baseLR_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_10000baseLRM_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_10000baseER_Full_BIT, 10000},
    {ETHTOOL_LINK_MODE_25000baseCR_Full_BIT, 25000},
    {ETHTOOL_LINK_MODE_25000baseKR_Full_BIT, 25000},
    {ETHTOOL_LINK_MODE_25000baseSR_Full_BIT, 25000},
    {ETHTOOL_LINK_MODE_40000baseKR4_Full_BIT, 40000},
    {ETHTOOL_LINK_MODE_40000baseCR4_Full_BIT, 40000},
    {ETHTOOL_LINK_MODE_40000baseSR4_Full_BIT, 40000},
    {ETHTOOL_LINK_MODE_40000baseLR4_Full_BIT, 40000},
    {ETHTOOL_LINK_MODE_50000baseCR2_Full_BIT, 50000},
    {ETHTOOL_LINK_MODE_50000baseKR2_Full_BIT, 50000},
    {ETHTOOL_LINK_MODE_50000baseSR2_Full_BIT, 50000},
    {ETHTOOL_LINK_MODE_100000baseKR4_Full_BIT, 100000},
    {ETHTOOL_LINK_MODE_100000baseSR4_Full_BIT, 100000},
    {ETHTOOL_LINK_MODE_100000baseCR4_Full_BIT, 100000},
    {ETHTOOL_LINK_MODE_100000baseLR4_ER4_Full_BIT, 100000},
};

unsigned link_fastest_mode(const uint32_t *words, size_t count)
{
    unsigned fastest = 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        unsigned word = modes[i].bit / 32, bit = modes[i].bit % 32;
        if (word < count && (words[word] >> bit & 1) && modes[i].mbit > fastest)
            fastest = modes[i].mbit;
    }
    return fastest;
}

/* -- the interface -- */

static bool find_inet4(int socket, const struct in_addr *address, char name[IF_NAMESIZE])
{
    struct ifreq found[INTERFACES_MAX];
    struct ifconf all = {.ifc_len = sizeof found, .ifc_req = found};
    if (ioctl(socket, SIOCGIFCONF, &all) < 0)
        return false;
    for (size_t i = 0; i < (size_t)all.ifc_len / sizeof *found; i++) {
        struct sockaddr_in own;
        memcpy(&own, &found[i].ifr_addr, sizeof own);
        if (own.sin_addr.s_addr != address->s_addr)
            continue;
        memcpy(name, found[i].ifr_name, IF_NAMESIZE);
        name[strcspn(name, ":")] = '\0'; /* "eth0:1" is a label of an address, not an interface */
        return true;
    }
    return false;
}

static bool find_inet6(const struct in6_addr *address, char name[IF_NAMESIZE])
{
    char *text = sysfile_read("/proc/net/if_inet6");
    bool there = text && link_find_inet6(text, address->s6_addr, name);
    free(text);
    return there;
}

bool link_interface(int socket, char name[IF_NAMESIZE])
{
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    if (getsockname(socket, (struct sockaddr *)&own, &length) < 0)
        return false;
    if (own.ss_family == AF_INET)
        return find_inet4(socket, &((struct sockaddr_in *)&own)->sin_addr, name);
    if (own.ss_family != AF_INET6)
        return false;
    const struct in6_addr *six = &((struct sockaddr_in6 *)&own)->sin6_addr;
    struct in_addr four;
    memcpy(&four, six->s6_addr + 12, sizeof four);
    return IN6_IS_ADDR_V4MAPPED(six) ? find_inet4(socket, &four, name) : find_inet6(six, name);
}

static void prepare(struct ifreq *request, const char *name)
{
    memset(request, 0, sizeof *request);
    memcpy(request->ifr_name, name, strnlen(name, IF_NAMESIZE - 1));
}

/* -- what it can -- */

/* The largest bit set that the call can return: its number of words is an __s8 (linux/ethtool.h). */
#define MODE_WORDS_MAX 127

/* Behind the head are three sets: what is supported, what is advertised, and what the peer advertises. */
union link_settings {
    struct ethtool_link_settings head;
    uint8_t room[sizeof(struct ethtool_link_settings) + 3 * MODE_WORDS_MAX * sizeof(uint32_t)];
};

/* The first call says how many words there are, as a negative number. */
static bool read_settings(int socket, const char *name, union link_settings *settings)
{
    struct ifreq request;
    prepare(&request, name);
    request.ifr_data = (char *)settings;
    memset(settings, 0, sizeof *settings);
    settings->head.cmd = ETHTOOL_GLINKSETTINGS;
    if (ioctl(socket, SIOCETHTOOL, &request) < 0 || settings->head.link_mode_masks_nwords >= 0)
        return false;
    int words = -settings->head.link_mode_masks_nwords;
    if (words > MODE_WORDS_MAX)
        return false;
    memset(settings, 0, sizeof *settings);
    settings->head.cmd = ETHTOOL_GLINKSETTINGS;
    settings->head.link_mode_masks_nwords = (int8_t)words;
    return ioctl(socket, SIOCETHTOOL, &request) == 0 && settings->head.link_mode_masks_nwords == words;
}

static void add_settings(struct fact_list *facts, int socket, const char *name)
{
    union link_settings settings;
    if (!read_settings(socket, name, &settings))
        return;
    uint32_t speed = settings.head.speed;
    if (speed != 0 && speed != (uint32_t)SPEED_UNKNOWN)
        facts_add_number(facts, "link_speed_mbit", speed);
    if (settings.head.duplex == DUPLEX_HALF || settings.head.duplex == DUPLEX_FULL)
        facts_add(facts, "link_duplex", "%s", settings.head.duplex == DUPLEX_HALF ? "half" : "full");
    unsigned fastest =
        link_fastest_mode(settings.head.link_mode_masks, (size_t)settings.head.link_mode_masks_nwords);
    if (fastest > 0)
        facts_add_number(facts, "link_speed_max_mbit", fastest);
}

static void add_driver(struct fact_list *facts, int socket, const char *name)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request;
    prepare(&request, name);
    request.ifr_data = (char *)&info;
    if (ioctl(socket, SIOCETHTOOL, &request) == 0 && info.driver[0])
        facts_add(facts, "link_driver", "%.*s", (int)sizeof info.driver, info.driver);
}

static void add_interface(struct fact_list *facts, int socket)
{
    char name[IF_NAMESIZE] = "";
    struct ifreq request;
    if (!link_interface(socket, name))
        return;
    facts_add(facts, "link_interface", "%.*s", IF_NAMESIZE, name);
    prepare(&request, name);
    if (ioctl(socket, SIOCGIFFLAGS, &request) == 0)
        facts_add_number(facts, "link_is_loopback", (request.ifr_flags & IFF_LOOPBACK) != 0);
    prepare(&request, name);
    if (ioctl(socket, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0)
        facts_add_number(facts, "link_mtu_bytes", (uint64_t)request.ifr_mtu);
    add_settings(facts, socket, name);
    add_driver(facts, socket, name);
}

/* -- TCP -- */

static bool read_tcp(int socket, struct tcp_info *info)
{
    socklen_t length = sizeof *info;
    memset(info, 0, sizeof *info);
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, info, &length) == 0;
}

static void add_tcp(struct fact_list *facts, int socket)
{
    struct tcp_info info;
    char congestion[32] = "";
    socklen_t length = sizeof congestion - 1;
    if (getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, congestion, &length) == 0)
        facts_add(facts, "link_congestion", "%s", congestion);
    if (!read_tcp(socket, &info))
        return;
    facts_add_number(facts, "link_rtt_us", info.tcpi_rtt);
    facts_add_number(facts, "link_segment_bytes", info.tcpi_snd_mss);
    facts_add_number(facts, "link_segment_received_bytes", info.tcpi_rcv_mss);
    facts_add_number(facts, "link_path_mtu_bytes", info.tcpi_pmtu);
    facts_add_number(facts, "link_retransmits", info.tcpi_total_retrans);
}

bool link_is_unanswered(int socket)
{
    struct tcp_info info;
    return read_tcp(socket, &info) && info.tcpi_unacked > 0;
}

void link_facts(struct fact_list *facts, int socket)
{
    add_interface(facts, socket);
    add_tcp(facts, socket);
}
