/* Trying again when the connection was lost: the same from the start. A transfer goes on where the last
 * attempt was cut.
 *
 * The first failure to connect at all is final, for then the address is wrong or nothing runs there. One
 * thread. */
#ifndef CLIENT_ATTEMPTS_H
#define CLIENT_ATTEMPTS_H

#include "client/options.h"
#include "proto/error.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt {
    bool connected; /* set by `once` when it has a session */
    bool lost;      /* a former attempt has lost its connection */
    bool goes_on;   /* what this attempt has moved stays, and the same command goes on from there */
    bool told;      /* a part of the answer was passed on: the rest cannot be asked for again */
    uint64_t moved; /* bytes moved so far, over all attempts; progress starts the count of retries anew */
};

/* Calls `once` until it succeeds, fails for another reason than a lost connection, or `retries` attempts
 * without progress have failed. Waits between attempts, longer each time; a signal ends the waiting. */
int attempts_run(const struct options *options,
                 int (*once)(void *context, struct attempt *attempt, struct error *err), void *context,
                 struct error *err);

#endif
