/* What a data stream did with its time: the measure behind "limited by".
 *
 *   activity_begin() … moving, adding to the members … activity_add_socket() before each close …
 * activity_end()
 *
 * The thread of the stream owns it; others read it after the join. Times are nanoseconds. Nothing here costs
 * a system call for each piece: time inside calls is taken from the clock, which the kernel maps into the
 * process, and how much of that was work is asked once at the end (/proc/thread-self/schedstat, the kernel's
 * page "scheduler statistics"; zero where the kernel has none). */
#ifndef COMMON_ACTIVITY_H
#define COMMON_ACTIVITY_H

#include <stdint.h>

struct activity {
    uint64_t bytes;     /* payload */
    uint64_t wall_ns;   /* from activity_begin() to activity_end() */
    uint64_t idle_ns;   /* of it: there was nothing to move */
    uint64_t paused_ns; /* of it: held back by --bwlimit */
    uint64_t
        file_ns; /* of it: inside calls that read or write files, and waiting for one's turn at the disk */
    uint64_t socket_ns; /* of it: inside calls on the socket; sendfile is one */
    uint64_t cpu_ns;    /* of it: the thread ran */
    uint64_t queued_ns; /* of it: the thread could have run, but the processors were taken */
    uint64_t busy_ns;   /* TCP_INFO: bytes were under way to the peer … */
    uint64_t window_ns; /* … and the peer's receive window held more of them back */
    uint64_t source_bytes,
        cached_bytes; /* of what was read from files: asked about, and found in the page cache */
};

void activity_begin(struct activity *activity);

/* In the thread of activity_begin(). */
void activity_end(struct activity *activity);

/* Adds what the kernel knows about this TCP connection; tcp(7), TCP_INFO. */
void activity_add_socket(struct activity *activity, int fd);

/* Sums up two streams, or two connections of one. */
void activity_add(struct activity *sum, const struct activity *part);

#endif
