/* Which request is whose. */
#include "server/requests.h"

#include "server/session.h"

int requests_begin(struct session *session, struct message *message, struct error *err)
{
    switch (message->type) {
    case MESSAGE_LIST:
    case MESSAGE_INFO:
    case MESSAGE_REMOVE:
    case MESSAGE_VERIFY:
        query_begin(session, message);
        return 0;
    case MESSAGE_PUSH:
        push_begin(session, message);
        return 0;
    case MESSAGE_PULL:
        pull_begin(session, message);
        return 0;
    default:
        return error_set(err, ERROR_PROTOCOL, "the message '%s' is out of place here",
                         message_type_name(message->type));
    }
}
