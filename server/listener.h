/* Accepts connections, reads their hello under a deadline, and hands the socket to a session. On the loop. */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include "server/server.h"

/* Listens on every address of the configuration. *first gets the real address of the first, for the ready
 * line. */
int listener_open(struct server *server, struct hostport *first, struct error *err);

/* Stops accepting, and closes what has not said hello. Once. */
void listener_close(struct listener *listener);

#endif
