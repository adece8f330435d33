/* A question to the server: a connection, a request, its answer. Asked again, with growing pauses, when the
 * connection was lost before any of the answer was passed on (client/attempts.h). One thread, which runs the
 * loop of the connection. */
#ifndef CLIENT_QUESTION_H
#define CLIENT_QUESTION_H

#include "client/attempts.h"
#include "client/control.h"

/* Asks over a connection that is open, and takes the answer. Sets attempt->told once something was done with
 * a part of it that cannot be done twice. */
typedef int question_asker(struct control *control, void *context, struct attempt *attempt,
                           struct error *err);

int question_ask(const struct options *options, question_asker *ask, void *context, struct error *err);

#endif
