/* The hello, the first 48 bytes of every connection, and its reply (docs/protocol.md, section 3).
 *
 * Encoders fill a caller's array; decoders check everything and copy out. Pure: no sockets, any thread. */
#ifndef PROTO_HELLO_H
#define PROTO_HELLO_H

#include "proto/error.h"

#include <stdint.h>

#define HELLO_SIZE      48
#define SESSION_ID_SIZE 16

#define HELLO_FEATURE_AUTH 1u /* the server wants a token proven */

enum hello_role { HELLO_CONTROL = 1, HELLO_DATA = 2 };

enum hello_status {
    HELLO_OK = 0,
    HELLO_WAIT = 1,
    HELLO_VERSION = 2,
    HELLO_REFUSED = 3,
    HELLO_BUSY = 4,
    HELLO_UNKNOWN_SESSION = 5,
    HELLO_PROVE = 6,
};

struct hello {
    uint16_t version;
    enum hello_role role;
    uint32_t features;
    uint8_t session[SESSION_ID_SIZE]; /* zero for HELLO_CONTROL */
    uint32_t stream;                  /* 0 to LIMIT_STREAMS - 1 */
};

struct hello_reply {
    uint16_t version;
    enum hello_status status;
    uint32_t features;
    uint8_t session[SESSION_ID_SIZE]; /* with HELLO_PROVE a nonce */
    uint32_t max_streams;             /* 1 to LIMIT_STREAMS */
};

void hello_encode(const struct hello *hello, uint8_t out[HELLO_SIZE]);

/* ERROR_NOT_MSTORE for a wrong magic, ERROR_VERSION (with `version` filled in) for another version,
 * ERROR_PROTOCOL for anything else that breaks the page. */
int hello_decode(struct hello *hello, const uint8_t in[HELLO_SIZE], struct error *err);

void hello_reply_encode(const struct hello_reply *reply, uint8_t out[HELLO_SIZE]);

/* The same errors. A status other than OK and WAIT is no decoding error: the caller looks at it. */
int hello_reply_decode(struct hello_reply *reply, const uint8_t in[HELLO_SIZE], struct error *err);

#endif
