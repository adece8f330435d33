/* One thread that moves bytes over one blocking socket, seen from the loop that owns it.
 *
 *   stream_start() → the thread runs `run` → it posts itself to the mailbox → the loop calls stream_join()
 *
 * Threads: start, stop and join on the loop. In its thread, `run` touches its socket and buffers, its job
 * (const after start), the work queue or staging (own mutexes), atomic counters, and stream_is_stopped();
 * nothing else. The loop ends a stream with stream_stop(): a flag and shutdown() of the socket, upon which
 * its blocking calls fail. The thread never waits for anything that stream_stop() does not end, or for longer
 * than a second. Signals are blocked in the thread. */
#ifndef COMMON_STREAM_H
#define COMMON_STREAM_H

#include "common/mailbox.h"
#include "proto/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stream {
    struct mail mail; /* first: the thread posts itself when it is through */
    void (*run)(struct stream *stream);
    struct mailbox *mailbox;
    unsigned number;
    struct error error; /* set by `run`, read after the join; ERROR_NONE for a good end */
    uint64_t started_ns, ended_ns;

    pthread_t thread;
    pthread_mutex_t lock; /* guards fd against shutdown() while it is closed */
    int fd;
    atomic_bool stopped;
};

/* `fd` (taken) may be -1 if `run` connects itself. -1 if no thread could be had; the stream is as before
 * then, fd closed. */
int stream_start(struct stream *stream, unsigned number, int fd, void (*run)(struct stream *),
                 struct mailbox *mailbox, struct error *err);

/* In the thread: takes a new socket in the place of the old one, which is closed. -1 closes only. If the
 * stream was stopped meanwhile, the new one is shut down at once. */
void stream_set_fd(struct stream *stream, int fd);

static inline bool stream_is_stopped(const struct stream *stream)
{
    return atomic_load_explicit(&stream->stopped, memory_order_relaxed);
}

/* On the loop. May be called any number of times before the join. */
void stream_stop(struct stream *stream);

/* On the loop: bytes that the peer's kernel has not acknowledged yet (SIOCOUTQ, tcp(7)); 0 if unknown. */
uint64_t stream_unsent(struct stream *stream);

/* On the loop: shuts the present connection down, so that the thread notices and may connect again. */
void stream_cut(struct stream *stream);

/* On the loop, after the thread has posted itself. Closes the socket. */
void stream_join(struct stream *stream);

#endif
