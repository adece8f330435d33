/* Use of each stage, then the highest. The time that a thread spent inside calls is part waiting and part
 * work; the kernel tells how much work there was in all. */
#include "client/verdict.h"

#include <stddef.h>

/* A receiver that is never idle is the cause, even where the link seems as busy: what it has not taken yet
 * still counts as under way. */
#define TIE 0.1

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Time in file calls that was neither work nor waiting for a processor. Work outside of calls (hashing) is
 * what is left of the time; the rest of the work is copying, as much for the file as for the socket. */
static uint64_t waited_for_files(const struct activity *a)
{
    uint64_t outside = minus(a->wall_ns, a->idle_ns + a->paused_ns + a->file_ns + a->socket_ns);
    uint64_t inside = minus(a->cpu_ns + a->queued_ns, outside);
    return minus(a->file_ns, least(inside / 2, a->file_ns));
}

static double share(uint64_t part, uint64_t all)
{
    double value = (double)part / (double)all;
    return value < 1 ? value : 1;
}

static struct verdict larger(struct verdict a, struct verdict b)
{
    return a.share >= b.share ? a : b;
}

struct verdict verdict_of(const struct activity *sender, const struct activity *receiver)
{
    uint64_t idle = sender->idle_ns > receiver->idle_ns ? sender->idle_ns : receiver->idle_ns;
    uint64_t active = minus(least(sender->wall_ns, receiver->wall_ns), idle);
    struct verdict none = {VERDICT_NONE, 0};
    if (active == 0)
        return none;
    uint64_t paused = sender->paused_ns + receiver->paused_ns;
    if (paused > active / 2)
        return (struct verdict){VERDICT_LIMIT, share(paused, active)};
    uint64_t worked = sender->cpu_ns + sender->queued_ns;
    uint64_t empty = minus(active, sender->busy_ns); /* nothing was under way: the sender had nothing ready */
    struct verdict from =
        larger((struct verdict){VERDICT_SENDER_DISK, share(least(empty, minus(active, worked)), active)},
               (struct verdict){VERDICT_SENDER_CPU, share(worked, active)});
    struct verdict link = {VERDICT_LINK, share(minus(sender->busy_ns, sender->window_ns), active)};
    struct verdict disk = {VERDICT_RECEIVER_DISK, share(waited_for_files(receiver), active)};
    struct verdict cpu = {VERDICT_RECEIVER_CPU, share(receiver->cpu_ns + receiver->queued_ns, active)};
    struct verdict upstream = larger(from, link);
    return disk.share + cpu.share + TIE >= upstream.share ? larger(disk, cpu) : upstream;
}

static const struct {
    const char *sent, *received, *sent_text, *received_text;
} names[] = {
    [VERDICT_NONE] = {NULL, NULL, NULL, NULL},
    [VERDICT_SENDER_DISK] = {"disk", "peer-disk", "client disk reads", "server disk reads"},
    [VERDICT_SENDER_CPU] = {"cpu", "peer-cpu", "client CPU", "server CPU"},
    [VERDICT_LINK] = {"link", "link", "link", "link"},
    [VERDICT_RECEIVER_DISK] = {"peer-disk", "disk", "server disk writes", "client disk writes"},
    [VERDICT_RECEIVER_CPU] = {"peer-cpu", "cpu", "server CPU", "client CPU"},
    [VERDICT_LIMIT] = {"bwlimit", "bwlimit", "--bwlimit", "--bwlimit"},
};

const char *verdict_name(enum verdict_stage stage, bool client_sends)
{
    return client_sends ? names[stage].sent : names[stage].received;
}

const char *verdict_text(enum verdict_stage stage, bool client_sends)
{
    return client_sends ? names[stage].sent_text : names[stage].received_text;
}
