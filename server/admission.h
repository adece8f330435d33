/* Who a session belongs to: the server's half of the proof of a token (docs/protocol.md, section 3.1).
 *
 *   admission_begin() … admission_prove() … admission_takes_stream() for each data connection
 *
 * Plain data; on the loop. */
#ifndef SERVER_ADMISSION_H
#define SERVER_ADMISSION_H

#include "common/token.h"

struct admission {
    const struct token_list *tokens; /* borrowed; an empty list lets everyone in */
    struct handshake handshake;
    bool is_proven, may_write;
    uint8_t session_key[SECRET_SIZE];
};

void admission_begin(struct admission *admission, const struct token_list *tokens,
                     const uint8_t session[SESSION_ID_SIZE]);

/* The client's `prove`. True if it knows a token; `proof` gets the server's own. There is one try. */
bool admission_prove(struct admission *admission, const struct message *prove, uint8_t proof[SECRET_SIZE]);

/* Whether data connections have to prove themselves. */
bool admission_asks_streams(const struct admission *admission);

/* Whether the proof for `nonce` and this number of a stream comes from the session's client. */
bool admission_takes_stream(const struct admission *admission, const uint8_t nonce[SESSION_ID_SIZE],
                            uint32_t stream, const uint8_t proof[SECRET_SIZE]);

#endif
