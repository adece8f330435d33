/* Lines may come from elsewhere: what is read is checked as if a stranger had written it. */
#include "client/bench_round.h"

#include "proto/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four places: a share is no more exact than the page it is counted in. */
#define SHARE_STEPS 10000

/* A petabyte a second, or thirty million years: what is beyond, or below the inverse, is no measurement, and
 * what is within can be computed with. */
#define MOST 1e15

void bench_round_set(struct bench_round *it, uint64_t bytes, double seconds, bool is_cached_known,
                     uint64_t cached)
{
    it->bytes = bytes;
    it->seconds = seconds;
    it->bytes_per_s = (double)bytes / seconds;
    it->is_cached_known = is_cached_known;
    it->cached_before =
        is_cached_known ? round(SHARE_STEPS * (double)cached / (double)bytes) / SHARE_STEPS : 0;
    it->cache = is_cached_known ? cache_state_of(it->cached_before) : CACHE_MIXED;
}

struct json *bench_round_json(const struct bench_round *it, struct json *conditions)
{
    struct json *line = json_object();
    json_add_text(line, "label", it->label);
    json_add_text(line, "mode", read_mode_names[it->mode]);
    json_add_size(line, "bytes", it->bytes);
    json_add_number(line, "seconds", it->seconds);
    json_add_size(line, "bytes_per_second", (uint64_t)llround(fmax(it->bytes_per_s, 1)));
    if (it->is_cached_known)
        json_add_number(line, "cached_before", it->cached_before);
    else
        json_add_null(line, "cached_before");
    json_add_text(line, "cache", cache_state_names[it->cache]);
    json_add_bool(json_add(line, "conditions", conditions), "hidden_cache", it->is_cache_suspected);
    return line;
}

static int get_name(const struct json *line, const char *key, const char *const *names, unsigned *index,
                    struct error *err)
{
    const char *text = json_as_text(json_get(line, key));
    for (*index = 0; text && names[*index]; ++*index)
        if (strcmp(names[*index], text) == 0)
            return 0;
    return error_set(err, ERROR_FAILED, "'%s' is missing or not one that bench read writes", key);
}

static int get_number(const struct json *line, const char *key, double max, double *number, struct error *err)
{
    if (json_as_number(json_get(line, key), number) && *number >= 1 / max && *number <= max)
        return 0;
    return error_set(err, ERROR_FAILED, "'%s' is missing or not a number from %g to %g", key, 1 / max, max);
}

static int get_fields(struct bench_round *it, const struct json *line, struct error *err)
{
    unsigned mode, cache;
    const char *label = json_as_text(json_get(line, "label"));
    if (!json_is_object(line))
        return error_set(err, ERROR_FAILED, "this is not a JSON object");
    if (!label)
        return error_set(err, ERROR_FAILED, "'label' is missing or not a text");
    if (!json_as_size(json_get(line, "bytes"), &it->bytes) || it->bytes == 0)
        return error_set(err, ERROR_FAILED, "'bytes' is missing or not a whole number above 0");
    if (get_name(line, "mode", read_mode_names, &mode, err) < 0 ||
        get_name(line, "cache", cache_state_names, &cache, err) < 0 ||
        get_number(line, "seconds", MOST, &it->seconds, err) < 0 ||
        get_number(line, "bytes_per_second", MOST, &it->bytes_per_s, err) < 0)
        return -1;
    it->mode = (enum read_mode)mode;
    it->cache = (enum cache_state)cache;
    it->is_cached_known = json_as_number(json_get(line, "cached_before"), &it->cached_before);
    (void)json_as_bool(json_get(json_get(line, "conditions"), "hidden_cache"), &it->is_cache_suspected);
    it->label = strdup(label);
    if (!it->label)
        abort();
    return 0;
}

int bench_round_parse(struct bench_round *it, const char *line, size_t length, struct error *err)
{
    memset(it, 0, sizeof *it);
    struct json *value = json_parse(line, length, LIMIT_JSON_DEPTH);
    if (!value)
        return error_set(err, ERROR_FAILED, "this is not JSON");
    int result = get_fields(it, value, err);
    json_free(value);
    return result;
}

void bench_round_release(struct bench_round *it)
{
    free(it->label);
    it->label = NULL;
}
