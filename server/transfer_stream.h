/* Inside a transfer of the server: what its stream threads see of it. Used by transfer.c and the files with
 * the streams' loops. The members of struct transfer_job are const while streams run; the staging and the
 * version have locks of their own. */
#ifndef SERVER_TRANSFER_STREAM_H
#define SERVER_TRANSFER_STREAM_H

#include "common/activity.h"
#include "common/disk.h"
#include "common/staging.h"
#include "common/stream.h"
#include "common/wire.h"
#include "server/version.h"

struct transfer;

struct transfer_job {
    void (*run)(struct stream *stream);
    struct staging *staging; /* push */
    const struct listing *plan;
    struct version *version; /* pull */
    struct disk *disk;       /* that the version is on */
};

struct transfer_stream {
    struct stream stream; /* first: the mail is the stream */
    struct transfer *transfer;
    const struct transfer_job *job;
    struct transfer_stream *next;
    _Atomic uint64_t payload_bytes, hashed_bytes;
    struct activity activity;
};

/* The threads' functions, for struct transfer_job. */
void push_stream_run(struct stream *stream); /* receives blocks and acknowledges them */
void pull_stream_run(struct stream *stream); /* sends what is asked for */
void link_stream_run(struct stream *stream); /* takes and gives bytes that mean nothing */

/* The first and the last of a stream's connection. */
void transfer_stream_begin(struct transfer_stream *stream, struct wire *wire);
void transfer_stream_end(struct transfer_stream *stream, struct wire *wire);

/* FAIL for this block. */
int transfer_stream_fail(struct wire *wire, const struct chunk *chunk, const struct error *trouble,
                         struct error *err);
int transfer_stream_answer_end(struct wire *wire, uint64_t bytes, bool sendfile, struct error *err);

#endif
