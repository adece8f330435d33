/* Bytes by the rate that is usual, or by the limit that was asked for. */
#include "client/prediction.h"

#include "client/history.h"
#include "client/output.h"
#include "common/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum history_direction direction_of(const struct report *report)
{
    return strcmp(report->command, "push") == 0 ? HISTORY_PUSH : HISTORY_PULL;
}

static void say(const struct report *report, const struct options *options, size_t runs)
{
    char time[UNITS_TEXT_MAX], server[HOSTPORT_TEXT_MAX], count[24] = "";
    bool pushes = direction_of(report) == HISTORY_PUSH;
    const char *one = pushes ? "push to" : "pull from", *many = pushes ? "pushes to" : "pulls from";
    if (runs > 1)
        (void)snprintf(count, sizeof count, "%zu ", runs);
    output_note(options, "about %s by the last %s%s %s",
                units_format_duration(time, (uint64_t)(report->predicted_seconds * 1000)), count,
                runs > 1 ? many : one, hostport_format(server, &options->server));
}

void prediction_make(struct report *report, const struct options *options, uint64_t bytes)
{
    struct history history;
    size_t runs;
    if (bytes < HISTORY_MIN_BYTES)
        return;
    history_load(&history, &options->server, direction_of(report));
    double rate = history_rate(&history, &runs);
    if (runs == 0)
        return;
    if (options->bytes_per_s > 0)
        rate = fmin(rate, (double)options->bytes_per_s);
    report->predicted_seconds = (double)bytes / rate;
    say(report, options, runs);
}

void prediction_learn(const struct report *report, const struct options *options)
{
    struct history_run run = {report->bytes.sent, (uint64_t)(report_took(report) * 1000)};
    if (!report->dry_run && options->bytes_per_s == 0)
        history_record(&options->server, direction_of(report), &run);
}

const char *prediction_text(char out[PREDICTION_TEXT_MAX], double predicted_s, double took_s)
{
    char time[UNITS_TEXT_MAX];
    double off = took_s > 0 ? 100 * (predicted_s - took_s) / took_s : 0;
    (void)units_format_duration(time, (uint64_t)(predicted_s * 1000));
    if (fabs(off) < 0.5)
        (void)snprintf(out, PREDICTION_TEXT_MAX, "predicted %s, right to 1 %%", time);
    else
        (void)snprintf(out, PREDICTION_TEXT_MAX, "predicted %s, %.0f %% too %s", time, fabs(off),
                       off < 0 ? "little" : "much");
    return out;
}
