/* A division and a sum; what there is to know about them is where the rates come from. */
#include "client/load_time.h"

#include "common/units.h"

#include <stdio.h>

struct load_time load_time_of(uint64_t bytes, double server_rate, size_t pulls, double local_rate,
                              unsigned cost_s)
{
    struct load_time time = {
        .has_server = server_rate > 0, .has_local = local_rate > 0, .pulls = pulls, .cost_s = cost_s};
    if (time.has_server)
        time.server_s = (double)bytes / server_rate + cost_s;
    if (time.has_local)
        time.local_s = (double)bytes / local_rate + cost_s;
    return time;
}

static void add(struct json *object, const char *key, bool known, double seconds)
{
    if (known)
        json_add_number(object, key, seconds);
    else
        json_add_null(object, key);
}

void load_time_add_json(struct json *object, const struct load_time *time)
{
    struct json *seconds = json_add(object, "load_seconds", json_object());
    add(seconds, "server", time->has_server, time->server_s);
    add(seconds, "local", time->has_local, time->local_s);
}

static const char *duration(char out[UNITS_TEXT_MAX], double seconds)
{
    return units_format_duration(out, (uint64_t)(seconds * 1000));
}

const char *load_time_text(char out[LOAD_TIME_TEXT_MAX], const struct load_time *time)
{
    char text[UNITS_TEXT_MAX], count[24] = "", server[128] = "", local[96] = "", cost[96] = "";
    if (time->pulls > 1)
        (void)snprintf(count, sizeof count, "%zu ", time->pulls);
    if (time->has_server)
        (void)snprintf(server, sizeof server, "%s from the server (by the last %spull%s)",
                       duration(text, time->server_s), count, time->pulls > 1 ? "s" : "");
    if (time->has_local)
        (void)snprintf(local, sizeof local, "%s%s from a local disk", time->has_server ? ", " : "",
                       duration(text, time->local_s));
    if (time->cost_s > 0)
        (void)snprintf(cost, sizeof cost, "; %s of it beside reading", duration(text, time->cost_s));
    out[0] = '\0';
    if (time->has_server || time->has_local)
        (void)snprintf(out, LOAD_TIME_TEXT_MAX, "about %s%s%s", server, local, cost);
    return out;
}
