/* The requests that a client can make, each begun by its first message. On the loop. */
#ifndef SERVER_REQUESTS_H
#define SERVER_REQUESTS_H

#include "proto/message.h"

#include <stdbool.h>

struct session;

/* Begins what `message` asks for; false if it asks for nothing. */
bool requests_begin(struct session *session, struct message *message);

void query_begin(struct session *session, struct message *message); /* list, info, remove, verify */
void push_begin(struct session *session, struct message *message);
void pull_begin(struct session *session, struct message *message);
void status_begin(struct session *session);
void link_begin(struct session *session);
void disk_begin(struct session *session, struct message *message); /* disk_write, disk_read */
void host_begin(struct session *session, struct message *message);

#endif
