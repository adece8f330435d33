/* Which request is whose. */
#include "server/requests.h"

#include "server/session.h"

bool requests_begin(struct session *session, struct message *message)
{
    switch (message->type) {
    case MESSAGE_LIST:
    case MESSAGE_INFO:
    case MESSAGE_REMOVE:
    case MESSAGE_VERIFY:
        query_begin(session, message);
        return true;
    case MESSAGE_PUSH:
        push_begin(session, message);
        return true;
    case MESSAGE_PULL:
        pull_begin(session, message);
        return true;
    case MESSAGE_STATUS:
        status_begin(session);
        return true;
    case MESSAGE_LINK:
        link_begin(session);
        return true;
    case MESSAGE_DISK_WRITE:
    case MESSAGE_DISK_READ:
        disk_begin(session, message);
        return true;
    case MESSAGE_HOST:
        host_begin(session, message);
        return true;
    default:
        return false;
    }
}
