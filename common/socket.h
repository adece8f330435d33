/* TCP sockets: connecting, listening, and the options that matter for large transfers.
 *
 * All descriptors are close-on-exec and belong to the caller. Thread-safe. */
#ifndef COMMON_SOCKET_H
#define COMMON_SOCKET_H

#include "common/hostport.h"
#include "proto/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The buffer that is wished for on each side of a data connection. It has to cover what arrives while a
 * receiver writes one block; more than that did not help on the loopback or a LAN. */
#define SOCKET_BUFFER_WISH (8 << 20)

#define SOCKET_NAME_MAX 80 /* "[IPv6%zone]:port" */

/* How a buffer size was settled, see socket_buffer_rule(). */
enum socket_buffer { SOCKET_BUFFER_FORCE, SOCKET_BUFFER_SET, SOCKET_BUFFER_AUTO };

/* The rule: SO_RCVBUF turns the kernel's auto-tuning off and is clamped in silence to net.core.rmem_max, so
 * asking for more than that gives less than not asking (socket(7), tcp(7)). Set it only where the limit lets
 * the whole wish through, else leave auto-tuning on. Forcing (CAP_NET_ADMIN) is tried before. */
enum socket_buffer socket_buffer_rule(uint64_t wish, uint64_t limit, bool may_force);

/* Applies the rule to both directions. Before connect() and listen(), for the window scale is agreed then.
 * Returns false if a limit stood in the way, so that the caller can say once what to set. */
bool socket_set_buffers(int fd);

/* The sizes that the kernel granted, as getsockopt() gives them. */
void socket_granted(int fd, uint64_t *rcvbuf, uint64_t *sndbuf);

/* TCP_NODELAY, keepalive and TCP_USER_TIMEOUT so that a silent death of the peer is noticed within
 * `timeout_s` also while nothing is sent, and cubic, which took half of bbr's CPU on a LAN. Best effort. */
void socket_tune(int fd, unsigned timeout_s);

/* What a connection is for: few messages, many bytes with large buffers, or few messages in segments so small
 * that they pass wherever IP does (RFC 791: 576 bytes with all headers), in both directions. */
enum socket_purpose { SOCKET_CONTROL, SOCKET_DATA, SOCKET_NARROW };
#define SOCKET_NARROW_SEGMENT 512

/* Connects to the first address of the host that answers. A blocking socket, tuned for its purpose.
 * Gives up after timeout_s; `cancel_fd` (or -1) becoming readable gives up at once with ERROR_INTERRUPTED. */
int socket_connect(const struct hostport *to, unsigned timeout_s, enum socket_purpose purpose, int cancel_fd,
                   struct error *err);

/* Listens on the first address of the host, non-blocking, SO_REUSEADDR (never SO_REUSEPORT: a second daemon
 * on the same address must be refused). *bound gets the real port. */
int socket_listen(const struct hostport *at, struct hostport *bound, struct error *err);

/* "10.0.0.2:1234" of the peer; "?" if unknown. Returns `out`. */
const char *socket_peer(int fd, char out[SOCKET_NAME_MAX]);

/* Who the peer is, for counting: an IPv4 address as mapped into IPv6, of an IPv6 address the first 64 bits,
 * for a host has the rest to choose from. All zero if that cannot be told. */
#define SOCKET_HOST_SIZE 16
void socket_host(int fd, uint8_t host[SOCKET_HOST_SIZE]);

/* Waits until `fd` has one of `events` (poll(2)). 1 it has, 0 time-out or `cancel_fd` readable, -1 errno.
 * timeout_ms < 0: no limit. */
int socket_wait(int fd, short events, int cancel_fd, int timeout_ms);

#endif
