/* sd_notify(3) without the library: one datagram to the socket that systemd names in NOTIFY_SOCKET.
 *
 * Does nothing where the variable is not set. Any thread; never blocks for long. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

/* `state` as in sd_notify(3): "READY=1", "STOPPING=1". */
void notify_systemd(const char *state);

#endif
