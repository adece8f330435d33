/* All comparing is done in constant time, by common/token. */
#include "server/admission.h"

#include <string.h>

void admission_begin(struct admission *a, const struct token_list *tokens,
                     const uint8_t session[SESSION_ID_SIZE])
{
    memset(a, 0, sizeof *a);
    a->tokens = tokens;
    a->is_proven = a->may_write = tokens->count == 0;
    memcpy(a->handshake.session, session, SESSION_ID_SIZE);
    handshake_random(a->handshake.server_nonce, SECRET_SIZE);
}

bool admission_prove(struct admission *a, const struct message *prove, uint8_t proof[SECRET_SIZE])
{
    memcpy(a->handshake.client_nonce, prove->u.prove.nonce, SECRET_SIZE);
    const struct token *token = handshake_find(&a->handshake, a->tokens, prove->u.prove.proof);
    if (!token)
        return false;
    a->is_proven = true;
    a->may_write = token->may_write;
    handshake_session_key(&a->handshake, token, a->session_key);
    handshake_server_proof(&a->handshake, token, proof);
    return true;
}

bool admission_asks_streams(const struct admission *a)
{
    return a->tokens->count > 0;
}

bool admission_takes_stream(const struct admission *a, const uint8_t nonce[SESSION_ID_SIZE], uint32_t stream,
                            const uint8_t proof[SECRET_SIZE])
{
    uint8_t wanted[SECRET_SIZE];
    handshake_stream_proof(a->session_key, nonce, stream, wanted);
    return a->is_proven && handshake_is_equal(wanted, proof, SECRET_SIZE);
}
