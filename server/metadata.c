/* The summary of a version reads through it, so it sees what a pull would get. */
#include "server/metadata.h"

#include "common/model_summary.h"
#include "common/path.h"
#include "proto/limits.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Room for what is around it in the message. */
#define MOST_BYTES (LIMIT_FRAME - 1024)

static int open_of_version(void *context, const struct file_entry *file)
{
    const struct version *version = context;
    return version_open_file(version, (uint32_t)(file - version->manifest.listing.files));
}

static bool fits_a_frame(const struct json *object)
{
    char *text = json_print(object);
    bool fits = strlen(text) <= MOST_BYTES;
    free(text);
    return fits;
}

struct json *version_metadata(struct version *version, const atomic_bool *cancelled)
{
    struct model_source source = {&version->manifest.listing, open_of_version, version, cancelled};
    struct model_summary summary;
    struct json *object = json_object();
    model_summary_read(&summary, &source);
    model_summary_json(&summary, object);
    if (!atomic_load(cancelled))
        version_note_flawed(version, summary.findings.stops);
    if (!fits_a_frame(object)) {
        json_free(object);
        object = json_object();
        json_add_bool(object, "complete", !summary.findings.stops);
    }
    model_summary_release(&summary);
    return object;
}

static int open_below(void *context, const struct file_entry *file)
{
    return path_open(*(const int *)context, file->path, O_RDONLY | O_NONBLOCK, 0);
}

bool metadata_is_flawed(int folder, const struct listing *files)
{
    struct model_source source = {files, open_below, &folder, NULL};
    struct model_summary summary;
    model_summary_read(&summary, &source);
    bool flawed = summary.findings.stops;
    model_summary_release(&summary);
    return flawed;
}
