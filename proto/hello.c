/* Hello and reply: fixed layouts, checked field by field in the order of the page. */
#include "proto/hello.h"

#include "proto/bytes.h"
#include "proto/limits.h"
#include "proto/version.h"

#include <string.h>

static const uint8_t magic[8] = {'m', 's', 't', 'o', 'r', 'e', '\r', '\n'};

void hello_encode(const struct hello *hello, uint8_t out[HELLO_SIZE])
{
    memset(out, 0, HELLO_SIZE);
    memcpy(out, magic, sizeof magic);
    put_le(out + 8, hello->version, 2);
    put_le(out + 10, hello->role, 2);
    put_le(out + 12, hello->features, 4);
    memcpy(out + 16, hello->session, SESSION_ID_SIZE);
    put_le(out + 32, hello->stream, 4);
}

int hello_decode(struct hello *hello, const uint8_t in[HELLO_SIZE], struct error *err)
{
    if (memcmp(in, magic, sizeof magic) != 0)
        return error_set(err, ERROR_NOT_MSTORE, "the peer is not an mstore client");
    hello->version = (uint16_t)get_le(in + 8, 2);
    if (hello->version != PROTOCOL_VERSION)
        return error_set(err, ERROR_VERSION, "client speaks mstore protocol %u, this server %u",
                         hello->version, PROTOCOL_VERSION);
    uint64_t role = get_le(in + 10, 2);
    if (role != HELLO_CONTROL && role != HELLO_DATA)
        return error_set(err, ERROR_PROTOCOL, "hello with unknown role %u", (unsigned)role);
    hello->role = (enum hello_role)role;
    hello->features = (uint32_t)get_le(in + 12, 4);
    memcpy(hello->session, in + 16, SESSION_ID_SIZE);
    hello->stream = (uint32_t)get_le(in + 32, 4);
    if (!is_zero(in + 36, 12))
        return error_set(err, ERROR_PROTOCOL, "hello with bytes set that must be zero");
    if (hello->stream >= LIMIT_STREAMS)
        return error_set(err, ERROR_PROTOCOL, "hello with stream number %u", hello->stream);
    if (role == HELLO_CONTROL && (hello->stream != 0 || !is_zero(hello->session, SESSION_ID_SIZE)))
        return error_set(err, ERROR_PROTOCOL, "hello of a control connection names a session or a stream");
    return 0;
}

void hello_reply_encode(const struct hello_reply *reply, uint8_t out[HELLO_SIZE])
{
    memset(out, 0, HELLO_SIZE);
    memcpy(out, magic, sizeof magic);
    put_le(out + 8, reply->version, 2);
    put_le(out + 10, reply->status, 2);
    put_le(out + 12, reply->features, 4);
    memcpy(out + 16, reply->session, SESSION_ID_SIZE);
    put_le(out + 32, BLOCK_SIZE, 4);
    put_le(out + 36, reply->max_streams, 4);
}

int hello_reply_decode(struct hello_reply *reply, const uint8_t in[HELLO_SIZE], struct error *err)
{
    if (memcmp(in, magic, sizeof magic) != 0)
        return error_set(err, ERROR_NOT_MSTORE, "what answers there is not an mstore server");
    reply->version = (uint16_t)get_le(in + 8, 2);
    if (reply->version != PROTOCOL_VERSION)
        return error_set(err, ERROR_VERSION, "server speaks mstore protocol %u, this client %u",
                         reply->version, PROTOCOL_VERSION);
    uint64_t status = get_le(in + 10, 2);
    reply->status = (enum hello_status)status;
    reply->features = (uint32_t)get_le(in + 12, 4);
    memcpy(reply->session, in + 16, SESSION_ID_SIZE);
    reply->max_streams = (uint32_t)get_le(in + 36, 4);
    if (status > HELLO_PROVE || !is_zero(in + 40, 8))
        return error_set(err, ERROR_PROTOCOL, "the server's hello breaks the protocol");
    if (get_le(in + 32, 4) != BLOCK_SIZE)
        return error_set(err, ERROR_PROTOCOL, "the server uses blocks of %u bytes",
                         (unsigned)get_le(in + 32, 4));
    if (reply->max_streams < 1 || reply->max_streams > LIMIT_STREAMS)
        return error_set(err, ERROR_PROTOCOL, "the server offers %u streams", reply->max_streams);
    return 0;
}
