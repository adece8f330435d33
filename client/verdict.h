/* Names what held a transfer back, from what the sending and the receiving end did with their time.
 *
 * Both ends of a stream and the link between them are stages of one pipe. A stage that is the narrowest is at
 * work all the time, the others wait for it; so the verdict is the stage with the highest use, and its share
 * is the part of the time for which it worked. Pure. */
#ifndef CLIENT_VERDICT_H
#define CLIENT_VERDICT_H

#include "common/activity.h"

#include <stdbool.h>

enum verdict_stage {
    VERDICT_NONE, /* nothing moved, or the peer told nothing */
    VERDICT_SENDER_DISK,
    VERDICT_SENDER_CPU,
    VERDICT_LINK,
    VERDICT_RECEIVER_DISK,
    VERDICT_RECEIVER_CPU,
    VERDICT_LIMIT, /* --bwlimit */
};

struct verdict {
    enum verdict_stage stage;
    double share; /* 0 to 1 */
};

/* Of one stream, or of the sum of several. */
struct verdict verdict_of(const struct activity *sender, const struct activity *receiver);

/* "disk", "cpu", "link", "peer-disk", "peer-cpu", "bwlimit" as seen by the client; NULL for VERDICT_NONE. */
const char *verdict_name(enum verdict_stage stage, bool client_sends);

/* For people: "server disk writes"; NULL for VERDICT_NONE. */
const char *verdict_text(enum verdict_stage stage, bool client_sends);

#endif
