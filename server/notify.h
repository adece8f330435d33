/* sd_notify(3) without the library: one datagram to the socket that systemd names in NOTIFY_SOCKET.
 *
 * Does nothing where the variable is not set. Any thread; never blocks for long. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

#include <stdint.h>

/* `state` as in sd_notify(3): "READY=1", "STOPPING=1", "WATCHDOG=1". */
void notify_systemd(const char *state);

/* How often "WATCHDOG=1" is due, in ms: half of what systemd waits for it. 0: nobody waits. */
uint64_t notify_watchdog_ms(void);

#endif
