/* A loop with growing pauses. */
#include "client/attempts.h"

#include "client/interrupt.h"
#include "client/output.h"
#include "common/socket.h"

#include <poll.h>
#include <string.h>

#define PAUSE_FIRST_MS 500
#define PAUSE_LAST_MS  15000

static bool may_come_back(const struct error *err, const struct attempt *attempt)
{
    /* Busy: the server has not yet noticed that the former attempt of this very command is gone. Not mstore:
     * it closed the connection before its hello, so it is ending or starting. */
    bool by_former = attempt->lost && (err->code == ERROR_BUSY || err->code == ERROR_NOT_MSTORE);
    return attempt->connected && !attempt->told &&
           (err->code == ERROR_LOST || err->code == ERROR_CONNECT || by_former);
}

static void add_hint(struct error *err, unsigned retries, const struct attempt *attempt)
{
    char text[ERROR_TEXT_MAX];
    memcpy(text, err->text, sizeof text);
    error_set(err, err->code == ERROR_BUSY ? ERROR_BUSY : ERROR_LOST, "%.300s (given up after %u %s)%s", text,
              retries, retries == 1 ? "retry" : "retries",
              attempt->goes_on ? "; the same command again goes on from here" : "");
}

int attempts_run(const struct options *options,
                 int (*once)(void *context, struct attempt *attempt, struct error *err), void *context,
                 struct error *err)
{
    struct attempt attempt = {0};
    unsigned failures = 0;
    int pause_ms = PAUSE_FIRST_MS;
    for (;;) {
        uint64_t before = attempt.moved;
        if (once(context, &attempt, err) == 0) {
            err->code = ERROR_NONE; /* of an earlier attempt */
            return 0;
        }
        if (!may_come_back(err, &attempt))
            return -1;
        attempt.lost = true;
        if (attempt.moved > before) {
            failures = 0;
            pause_ms = PAUSE_FIRST_MS;
        }
        if (failures++ >= options->retries) {
            add_hint(err, options->retries, &attempt);
            return -1;
        }
        output_note(options, "%s; trying again", err->text);
        (void)socket_wait(interrupt_fd(), POLLIN, -1, pause_ms);
        if (interrupt_check(err) < 0)
            return -1;
        pause_ms = 2 * pause_ms < PAUSE_LAST_MS ? 2 * pause_ms : PAUSE_LAST_MS;
    }
}
