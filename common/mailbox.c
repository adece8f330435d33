/* A mutex, a list and a uv_async_t. */
#include "common/mailbox.h"

#include <pthread.h>
#include <stdlib.h>

struct mailbox {
    uv_async_t wake;
    pthread_mutex_t lock;
    struct mail *first, **last; /* under lock */
    mailbox_handler *handler;
    void *context;
};

static void drain(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    struct mail *mail = mailbox->first;
    mailbox->first = NULL;
    mailbox->last = &mailbox->first;
    pthread_mutex_unlock(&mailbox->lock);
    while (mail) {
        struct mail *next = mail->next;
        mailbox->handler(mailbox->context, mail);
        mail = next;
    }
}

static void on_wake(uv_async_t *wake)
{
    drain(wake->data);
}

struct mailbox *mailbox_open(uv_loop_t *loop, mailbox_handler *handler, void *context)
{
    struct mailbox *mailbox = calloc(1, sizeof *mailbox);
    if (!mailbox || uv_async_init(loop, &mailbox->wake, on_wake) != 0)
        abort();
    mailbox->wake.data = mailbox;
    mailbox->last = &mailbox->first;
    mailbox->handler = handler;
    mailbox->context = context;
    pthread_mutex_init(&mailbox->lock, NULL);
    return mailbox;
}

void mailbox_post(struct mailbox *mailbox, struct mail *mail)
{
    mail->next = NULL;
    pthread_mutex_lock(&mailbox->lock);
    *mailbox->last = mail;
    mailbox->last = &mail->next;
    /* Under the lock, so that a poster is through with the mailbox before the loop can see its message. */
    (void)uv_async_send(&mailbox->wake);
    pthread_mutex_unlock(&mailbox->lock);
}

static void on_closed(uv_handle_t *handle)
{
    struct mailbox *mailbox = handle->data;
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox);
}

void mailbox_close(struct mailbox **mailbox)
{
    struct mailbox *closing = *mailbox;
    *mailbox = NULL;
    if (!closing)
        return;
    drain(closing);
    uv_close((uv_handle_t *)&closing->wake, on_closed);
}
