/* The streams of one push or pull, seen from the loop: starts them, watches them, ends them, and says what
 * they did.
 *
 * transfer_run() returns when every block is answered or nothing more can be done. One thread, which runs the
 * loop of `control`. */
#ifndef CLIENT_TRANSFER_H
#define CLIENT_TRANSFER_H

#include "client/control.h"
#include "client/progress.h"
#include "client/report.h"
#include "client/streams.h"

struct transfer_setup {
    struct control *control;
    struct stream_job *job; /* server, session, times, cancel_fd and pacer are filled in here */
    void (*run)(struct stream *stream);
    unsigned streams;
    unsigned retries;
    uint64_t bytes_per_s; /* --bwlimit, 0: none */
    struct progress *progress;
    uint64_t skipped_bytes, skipped_files; /* there before, for the progress */
    uint64_t total_bytes, total_files;
    bool pushing;
};

/* 0: the queue is done; files may have failed, see work_failures(). Adds streams, seconds and moved bytes to
 * the report, also when it fails: ERROR_LOST, ERROR_NO_SPACE, ERROR_INTERRUPTED … */
int transfer_run(const struct transfer_setup *setup, struct report *report, struct error *err);

/* The server's last word, which has to be of this type; what it tells before about its streams goes into the
 * report. On success message_release() it. */
int transfer_read_last(struct control *control, enum message_type type, struct message *message,
                       struct report *report, struct error *err);

#endif
