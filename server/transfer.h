/* The data streams of one push or pull on the server, or of a measurement of the link: threads that do what
 * the client asks on their connections.
 *
 *   transfer_create_push/pull/link() … transfer_add() for each data connection … transfer_stop() → on_idle →
 * transfer_destroy()
 *
 * Threads: all functions on the loop. The streams' threads use the staging or the version (own locks) and
 * their counters. */
#ifndef SERVER_TRANSFER_H
#define SERVER_TRANSFER_H

#include "common/activity.h"
#include "common/disk.h"
#include "common/mailbox.h"
#include "common/staging.h"
#include "proto/limits.h"
#include "server/version.h"

#include <stdbool.h>
#include <stdint.h>

struct transfer;

struct transfer_owner {
    void *context;
    void (*on_stream_ended)(void *context); /* a stream slot is free again */
    void (*on_idle)(void *context);         /* after transfer_stop(): no thread is left */
};

/* The plan is that of the staging. All are borrowed until on_idle. */
struct transfer *transfer_create_push(struct staging *staging, const struct listing *plan,
                                      const struct transfer_owner *owner);
struct transfer *transfer_create_pull(struct version *version, struct disk *disk,
                                      const struct transfer_owner *owner);
struct transfer *transfer_create_link(const struct transfer_owner *owner);

/* Takes a blocking socket. Its end is handed to the owner through `mailbox`, whose handler calls
 * transfer_on_mail(). */
int transfer_add(struct transfer *transfer, unsigned number, int fd, struct mailbox *mailbox,
                 struct error *err);
void transfer_on_mail(struct mail *mail);

/* Ends all streams; on_idle comes when the last is joined, perhaps before this returns. */
void transfer_stop(struct transfer *transfer);

/* When it is idle. */
void transfer_destroy(struct transfer **transfer);

/* What the connections of this stream that have ended did with their time; NULL if there were none. */
const struct activity *transfer_activity(const struct transfer *transfer, unsigned number);

uint64_t transfer_bytes(struct transfer *transfer);        /* payload so far, over all streams */
unsigned transfer_active(const struct transfer *transfer); /* streams at work */
uint64_t transfer_hashed_bytes(struct transfer *transfer);

#endif
