/* Facts of the link under a connected socket: the interface of its own address, and what TCP knows.
 *
 * Everything is asked by ioctl and getsockopt, or read in /proc/net: getifaddrs() needs netlink, which the
 * unit of the daemon forbids, and /sys/class/net may be that of another network namespace. What cannot be
 * told is left out: virtual interfaces have no speed, old drivers no list of what they can. Thread-safe.
 *
 * | name | unit, source |
 * | --- | --- |
 * | link_interface, link_driver | text |
 * | link_is_loopback | 0 or 1 |
 * | link_mtu_bytes | of the interface |
 * | link_speed_mbit, link_duplex | negotiated; `half` or `full` (ETHTOOL_GLINKSETTINGS) |
 * | link_speed_max_mbit | the fastest mode that the interface supports |
 * | link_congestion | text: what this socket uses |
 * | link_rtt_us, link_segment_bytes, link_segment_received_bytes, link_path_mtu_bytes, link_retransmits |
 *   TCP_INFO of this socket | */
#ifndef COMMON_LINK_FACTS_H
#define COMMON_LINK_FACTS_H

#include "common/facts.h"

#include <net/if.h>

void link_facts(struct fact_list *facts, int socket);

/* The interface that has the socket's own address; the socket is bound or connected, of any type. */
bool link_interface(int socket, char name[IF_NAMESIZE]);

/* Whether what was sent on this socket waits to be acknowledged by the peer's kernel. */
bool link_is_unanswered(int socket);

/* -- pure -- */

/* The interface with that address in the text of /proc/net/if_inet6. */
bool link_find_inet6(const char *text, const uint8_t address[16], char name[IF_NAMESIZE]);

/* The fastest of the link modes in a bit set (linux/ethtool.h) in Mbit/s; 0 if it has none that is known. */
unsigned link_fastest_mode(const uint32_t *words, size_t count);

#endif
