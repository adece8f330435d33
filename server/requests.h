/* The requests that a client can make, each begun by its first message. On the loop. */
#ifndef SERVER_REQUESTS_H
#define SERVER_REQUESTS_H

#include "proto/message.h"

struct session;

/* Begins what `message` asks for. ERROR_PROTOCOL if it asks for nothing. */
int requests_begin(struct session *session, struct message *message, struct error *err);

void query_begin(struct session *session, struct message *message); /* list, info, remove, verify */
void push_begin(struct session *session, struct message *message);
void pull_begin(struct session *session, struct message *message);

#endif
