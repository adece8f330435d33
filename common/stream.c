/* Starting, stopping and joining; what a stream does is its owner's. */
#include "common/stream.h"

#include "common/clock.h"
#include "common/fdio.h"

#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static void *stream_thread_main(void *context)
{
    struct stream *stream = context;
    stream->run(stream);
    stream->ended_ns = clock_ns();
    mailbox_post(stream->mailbox, &stream->mail);
    return NULL;
}

int stream_start(struct stream *stream, unsigned number, int fd, void (*run)(struct stream *),
                 struct mailbox *mailbox, struct error *err)
{
    sigset_t all, old;
    stream->run = run;
    stream->mailbox = mailbox;
    stream->number = number;
    stream->error.code = ERROR_NONE;
    stream->started_ns = clock_ns();
    stream->fd = fd;
    atomic_init(&stream->stopped, false);
    pthread_mutex_init(&stream->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int result = pthread_create(&stream->thread, NULL, stream_thread_main, stream);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (result == 0)
        return 0;
    pthread_mutex_destroy(&stream->lock);
    fdio_drop(&stream->fd);
    return error_set_sys(err, ERROR_FAILED, result, "cannot start a thread");
}

void stream_set_fd(struct stream *stream, int fd)
{
    pthread_mutex_lock(&stream->lock);
    fdio_drop(&stream->fd);
    stream->fd = fd;
    if (fd >= 0 && stream_is_stopped(stream))
        (void)shutdown(fd, SHUT_RDWR);
    pthread_mutex_unlock(&stream->lock);
}

void stream_stop(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    atomic_store(&stream->stopped, true);
    if (stream->fd >= 0)
        (void)shutdown(stream->fd, SHUT_RDWR);
    pthread_mutex_unlock(&stream->lock);
}

uint64_t stream_unsent(struct stream *stream)
{
    int unsent = 0;
    pthread_mutex_lock(&stream->lock);
    if (stream->fd < 0 || ioctl(stream->fd, SIOCOUTQ, &unsent) < 0 || unsent < 0)
        unsent = 0;
    pthread_mutex_unlock(&stream->lock);
    return (uint64_t)unsent;
}

void stream_cut(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->fd >= 0)
        (void)shutdown(stream->fd, SHUT_RDWR);
    pthread_mutex_unlock(&stream->lock);
}

void stream_join(struct stream *stream)
{
    pthread_join(stream->thread, NULL);
    fdio_drop(&stream->fd);
    pthread_mutex_destroy(&stream->lock);
}
