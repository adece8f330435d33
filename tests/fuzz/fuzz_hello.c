/* Hello and reply. Of a message that was accepted, encoding gives the same bytes again. */
#include "target.h"

#include "proto/hello.h"
#include "proto/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    uint8_t again[HELLO_SIZE];
    struct hello hello;
    struct hello_reply reply;
    struct error err;
    if (length < HELLO_SIZE)
        return 0;
    if (hello_decode(&hello, bytes, &err) == 0) {
        must_hold(hello.stream < LIMIT_STREAMS);
        hello_encode(&hello, again);
        must_hold(memcmp(again, bytes, HELLO_SIZE) == 0);
    }
    if (hello_reply_decode(&reply, bytes, &err) == 0) {
        must_hold(reply.max_streams >= 1 && reply.max_streams <= LIMIT_STREAMS);
        hello_reply_encode(&reply, again);
        must_hold(memcmp(again, bytes, HELLO_SIZE) == 0);
    }
    return 0;
}
