/* The door between threads and the loop: threads post, the loop's handler receives.
 *
 * mailbox_open() on the loop; mailbox_post() from any thread; the handler runs on the loop, once for each
 * message, in the order of posting. mailbox_close() on the loop, when no thread can post any more; what is
 * still queued is handed to the handler first. This is the only file of common/ that knows libuv.
 *
 * Sends of uv_async_send() coalesce, so each wake-up drains the whole list. */
#ifndef COMMON_MAILBOX_H
#define COMMON_MAILBOX_H

#include <uv.h>

/* Embed this as the first member of a message. The poster hands the message over; the handler owns it then.
 */
struct mail {
    struct mail *next;
};

struct mailbox;

typedef void mailbox_handler(void *context, struct mail *mail);

struct mailbox *mailbox_open(uv_loop_t *loop, mailbox_handler *handler, void *context);
void mailbox_post(struct mailbox *mailbox, struct mail *mail);

/* Sets *mailbox to NULL; the memory goes when libuv has closed the handle. */
void mailbox_close(struct mailbox **mailbox);

#endif
