/* get: a path on standard output, and nothing else there. */
#include "client/cache_get.h"
#include "client/commands.h"
#include "client/output.h"
#include "client/warm.h"

#include <stdio.h>

static struct json *to_json(const struct options *options, const struct cache_copy *copy,
                            const struct warm *warm)
{
    struct json *result = json_object();
    json_add_text(result, "command", "get");
    json_add_text(result, "model", options->arguments.items[0]);
    json_add_path(result, "path", copy->path, true);
    json_add_bool(result, "ok", true);
    json_add_bool(result, "current", copy->current);
    json_add_size(result, "bytes", copy->record.version.bytes);
    json_add_size(result, "bytes_received", copy->moved);
    if (options->warm)
        warm_add_json(result, warm);
    return result;
}

int command_get(const struct options *options)
{
    struct cache cache;
    struct cache_copy copy;
    struct warm warm = {0};
    struct error err = {0};
    struct json *result = NULL;
    if (cache_open(&cache, &err) == 0) {
        if (cache_get(&cache, options, options->arguments.items[0], &copy, &err) == 0) {
            if (options->warm)
                warm_path(&warm, copy.path, options);
            if (options->json)
                result = to_json(options, &copy, &warm);
            else
                (void)printf("%s\n", copy.path);
            cache_copy_release(&copy);
        }
        cache_close(&cache);
    }
    return output_finish(options, result, &err);
}
