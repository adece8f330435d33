/* HOST[:PORT] as users write it: a name, an IPv4 address or an [IPv6] address, with a port or without.
 *
 * Only the form is checked here; names are resolved by whoever connects or listens, with `host` and
 * `port` given to getaddrinfo().
 * Threads: a struct hostport is a plain value; the functions are pure. */
#ifndef COMMON_HOSTPORT_H
#define COMMON_HOSTPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/error.h"

#define HOSTPORT_DEFAULT_PORT 7420

/* The longest DNS name (RFC 1035) with its NUL. */
#define HOSTPORT_HOST_MAX 254

/* Enough for hostport_format(): the host, brackets, colon and five digits. */
#define HOSTPORT_TEXT_MAX (HOSTPORT_HOST_MAX + 8)

struct hostport {
    char host[HOSTPORT_HOST_MAX]; /* without brackets */
    uint16_t port;
};

struct sockaddr;

/* Reads "nas", "nas:7420", "10.0.0.2:7420", "[fe80::1%eth0]:7420". Without a port it becomes
 * `default_port`. Port 0 is taken as it stands: it means a free port to a listener, and callers to
 * whom it means nothing refuse it. The error (ERROR_USAGE) quotes the text and shows the right form. */
int hostport_parse(struct hostport *hostport, const char *text, uint16_t default_port, struct error *err);

/* Writes "host:port", IPv6 in brackets, to a buffer of HOSTPORT_TEXT_MAX bytes and returns it. */
char *hostport_format(char *buffer, const struct hostport *hostport);

/* True for "localhost" and for addresses that never leave the machine: 127.0.0.0/8, ::1, and the
 * former mapped into IPv6. Other names are not looked up and count as not loopback. */
bool hostport_is_loopback(const struct hostport *hostport);

/* The same for an address that getaddrinfo() or accept() gave. */
bool hostport_is_loopback_address(const struct sockaddr *address);

#endif
