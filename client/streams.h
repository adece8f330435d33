/* The threads that move blocks: one function for a push, one for a pull, for struct stream.
 *
 * A thread connects, says hello, and works off the queue. When its connection fails, what it had goes back
 * into the queue and it connects again with growing pauses, `retries` times without a block moved in between.
 * It ends when the queue is done, when it is stopped, or for good with stream.error. */
#ifndef CLIENT_STREAMS_H
#define CLIENT_STREAMS_H

#include "common/activity.h"
#include "common/hostport.h"
#include "common/receiver.h"
#include "common/sender.h"
#include "common/stream.h"
#include "common/work.h"
#include "proto/hello.h"

/* What all streams of a transfer share; const while they run, but for the queue and the staging, which lock.
 */
struct stream_job {
    struct hostport server;
    uint8_t session[SESSION_ID_SIZE];
    const uint8_t *session_key; /* NULL: no token was asked for */
    unsigned timeout_s, retries;
    int cancel_fd;       /* readable when the streams shall end */
    struct pacer *pacer; /* NULL: no limit */
    struct disk *disk;   /* push: that the files are on */
    struct work_queue *work;
    const struct listing *plan;
    int folder;              /* push: the files of the plan are below it */
    struct staging *staging; /* pull: where they go */
    const uint32_t *numbers; /* pull: file number on the server of each file of the plan */
};

struct client_stream {
    struct stream stream; /* first */
    const struct stream_job *job;
    struct wire wire;
    struct sender sender;     /* push */
    struct receiver receiver; /* pull */
    bool connected;           /* at least once */
    bool peer_sendfile;       /* pull: the server says so at the end */
    _Atomic uint64_t moved;   /* blocks sent and answers taken, a sign of life */
    uint64_t answered;        /* blocks that the server or this side has dealt with: progress */
    uint64_t rcvbuf, sndbuf;  /* granted */
    struct activity activity; /* over all its connections; after the join */

    /* push: */
    int fd; /* of source file `file` */
    uint32_t file;
    uint64_t acknowledged; /* blocks, on this connection */
    uint64_t arrived;      /* bytes of the block after them, as the server said */
    /* pull: */
    uint64_t wanted_bytes; /* asked for and not answered */
};

void push_stream_run(struct stream *stream);
void pull_stream_run(struct stream *stream);

/* Payload bytes over all its connections; after the join exact. */
uint64_t client_stream_bytes(const struct client_stream *stream);

#endif
