/* One summary, two questions. */
#include "client/model_check.h"

#include "common/fdio.h"
#include "common/model_summary.h"

#include <errno.h>
#include <fcntl.h>

struct place {
    int folder;
    bool is_part; /* of the model; the rest is elsewhere */
};

static int open_file(void *context, const struct file_entry *file)
{
    const struct place *place = context;
    int fd = fdio_openat(place->folder, file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    return fd < 0 && errno == ENOENT && place->is_part ? MODEL_FILE_ELSEWHERE : fd;
}

/* Warns of what stops; false if nothing does. */
static bool warn(struct place place, const struct listing *files, bool shards_too,
                 const struct options *options, struct report *report)
{
    struct model_source source = {files, open_file, &place, NULL};
    struct model_summary summary;
    bool found = false;
    model_summary_read(&summary, &source);
    for (size_t i = 0; i < summary.findings.count; i++) {
        const struct model_finding *f = &summary.findings.items[i];
        if (!finding_stops(f->finding.kind) || f->finding.kind == FINDING_UNFINISHED ||
            (f->finding.kind == FINDING_MISSING_SHARD && !shards_too))
            continue; /* what is unfinished by its name is the scan's to judge, and --all takes it */
        report_warn(report, options, "'%s' %s", f->path, f->finding.text);
        found = true;
    }
    found = found || (summary.findings.omitted > 0 && summary.findings.stops);
    model_summary_release(&summary);
    return found;
}

int model_check_push(int folder, const struct listing *files, const struct options *options,
                     struct report *report, struct error *err)
{
    bool filtered = options->include.count > 0 || options->exclude.count > 0;
    if (!warn((struct place){folder, false}, files, !options->add && !filtered, options, report) ||
        options->allow_incomplete)
        return 0;
    return error_set(err, ERROR_SOME_FILES,
                     "the model is not whole, and nothing was sent; --allow-incomplete pushes it as it is");
}

int model_check_pull(int folder, const struct listing *all, const struct options *options,
                     struct report *report, struct error *err)
{
    if (!warn((struct place){folder, true}, all, true, options, report))
        return 0;
    return error_set(err, ERROR_SOME_FILES,
                     "the model was stored like that: it is pulled, but it is not whole");
}
