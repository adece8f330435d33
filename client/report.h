/* What a push or pull came to: collected while it runs, printed at its end as text or as the JSON object of
 * the command-line contract. One thread. */
#ifndef CLIENT_REPORT_H
#define CLIENT_REPORT_H

#include "client/options.h"
#include "client/warm.h"
#include "common/activity.h"
#include "proto/error.h"

#include <stdbool.h>
#include <stdint.h>

struct report_stream {
    unsigned number;
    struct activity own, peer; /* peer is all zero until the server has told */
    uint64_t bytes, rcvbuf, sndbuf;
    double seconds;
    bool sendfile;
};

struct report_move {
    char *path;
    uint64_t bytes;
};

struct report_failure {
    char *path; /* NULL for the transfer as a whole */
    char *error;
    enum error_code code;
};

struct report {
    const char *command, *model;
    struct {
        uint64_t total, sent, skipped, failed;
    } files;
    struct {
        uint64_t total, sent, resumed, skipped;
    } bytes;
    double seconds;           /* of the transfer itself */
    uint64_t flush_ns;        /* after it, until all was durable and shown */
    double predicted_seconds; /* of both; 0 where there was nothing to go by */
    struct report_stream *streams;
    size_t stream_count;
    struct report_failure *failures;
    size_t failure_count;
    char **warnings;
    size_t warning_count;
    char **left_alone; /* files in DST that are not the model's */
    size_t left_alone_count;
    struct report_move *moves; /* of a dry run: what would move */
    size_t move_count;
    uint64_t junk;
    uint64_t unreadable_bytes; /* of source files that failed before anything moved */
    bool verified, durable, dry_run;
    bool has_warm;
    struct warm warm; /* what --warm left in the page cache */
    bool in_turn;     /* the streams read a rotating disk one after the other */
};

/* Copies what it is given. A failure and a warning are also said on standard error at once, unless --quiet.
 */
void report_fail(struct report *report, const char *path, const struct error *error);
void report_warn(struct report *report, const struct options *options, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_stream(struct report *report, const struct report_stream *stream);
/* What the server's end of the latest stream of this number did; ignored if there was none. */
void report_peer(struct report *report, unsigned number, const struct activity *activity);
/* Seconds until all was durable and shown. */
double report_took(const struct report *report);
void report_move(struct report *report, const char *path, uint64_t bytes);
void report_leave_alone(struct report *report, const char *path);

/* Prints the result, and returns the exit status: `result` is 0 or the error that ended the command. */
int report_print(const struct report *report, const struct options *options, const struct error *error);
void report_release(struct report *report);

#endif
