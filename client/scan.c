/* A walk that turns entries into files to push, notices and failures. */
#include "client/scan.h"

#include "client/interrupt.h"
#include "client/select.h"
#include "common/fdio.h"
#include "common/junk.h"
#include "common/path.h"
#include "common/walk.h"
#include "proto/bytes.h"
#include "proto/name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scanning {
    struct scan *scan;
    const struct options *options;
    struct report *report;
    char *unfinished; /* first name of a download under way */
};

/* 53 bits by which this file is recognised later: inode and the time of its last change of any kind. Not the
 * device: its number is another after a restart, or each time a share is mounted. */
static uint64_t source_number(const struct stat *st)
{
    uint64_t parts[3] = {st->st_ino, (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
    return (fnv1a_64(parts, sizeof parts) & LIMIT_SIZE) | 1;
}

static void fail(struct scanning *s, const struct walk_entry *entry, const char *what, int sys)
{
    struct error error;
    error_set_sys(&error, ERROR_FILE, sys, "%s '%s'", what, entry->path);
    report_fail(s->report, entry->path, &error);
    s->report->files.failed++;
    s->report->unreadable_bytes += entry->kind == WALK_FILE ? (uint64_t)entry->st.st_size : 0;
}

static enum walk_step add_file(struct scanning *s, const struct walk_entry *entry, struct error *err)
{
    struct file_entry file = {.path = (char *)entry->path,
                              .size = (uint64_t)entry->st.st_size,
                              .mtime = entry->st.st_mtim.tv_sec,
                              .nsec = (uint32_t)entry->st.st_mtim.tv_nsec,
                              .source = source_number(&entry->st)};
    struct error error;
    if (!select_is_in(s->options, entry->path))
        return WALK_ON;
    if (!name_is_path(entry->path)) {
        error_set(&error, ERROR_FILE, "the name is too long or not allowed in a model: '%s'", entry->path);
        report_fail(s->report, entry->path, &error);
        s->report->files.failed++;
        return WALK_ON;
    }
    if (faccessat(s->scan->folder, entry->path, R_OK, AT_EACCESS) < 0) {
        fail(s, entry, "cannot read", errno);
        return WALK_ON;
    }
    if (s->scan->listing.count == LIMIT_FILES ||
        s->scan->listing.path_bytes + strlen(file.path) > LIMIT_PATHS) {
        error_set(err, ERROR_FAILED,
                  "a model has at most %llu files, with %zu MB of paths; the source has more",
                  (unsigned long long)LIMIT_FILES, LIMIT_PATHS >> 20);
        return WALK_STOP;
    }
    listing_add(&s->scan->listing, &file);
    return WALK_ON;
}

static enum walk_step take_entry(void *context, const struct walk_entry *entry, struct error *err)
{
    struct scanning *s = context;
    if (interrupt_check(err) < 0)
        return WALK_STOP;
    bool own = strcmp(entry->path, ".mstore") == 0;
    if (own || (!s->options->all && junk_is(entry->name, entry->path))) {
        s->report->junk++;
        return WALK_SKIP;
    }
    if (!s->options->all && !s->unfinished && entry->kind == WALK_FILE && junk_is_unfinished(entry->name))
        s->unfinished = strdup(entry->path);
    switch (entry->kind) {
    case WALK_FILE:
        return add_file(s, entry, err);
    case WALK_FOLDER:
        break;
    case WALK_LINK:
        report_warn(s->report, s->options, "notice: the link '%s' to a folder is not followed", entry->path);
        break;
    case WALK_SPECIAL:
        report_warn(s->report, s->options, "notice: '%s' is no regular file and is left out", entry->path);
        break;
    case WALK_DANGLING:
        if (select_is_in(s->options, entry->path))
            fail(s, entry, "cannot follow the link", entry->sys);
        break;
    case WALK_FAILED:
        fail(s, entry, "cannot read", entry->sys);
        break;
    }
    return WALK_ON;
}

static bool has_folder(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of a repo in the Hub's cache holds every file twice, as blob and as link. */
static int refuse_hub_repo(int folder, const char *source, struct error *err)
{
    char revision[128];
    if (!has_folder(folder, "blobs") || !has_folder(folder, "snapshots") || !has_folder(folder, "refs"))
        return 0;
    int fd = fdio_openat(folder, "refs/main", O_RDONLY | O_CLOEXEC, 0);
    ssize_t n = fd < 0 ? -1 : fdio_read(fd, revision, sizeof revision - 1);
    fdio_drop(&fd);
    revision[n > 0 ? n : 0] = '\0';
    revision[strcspn(revision, "\n")] = '\0';
    return error_set(
        err, ERROR_USAGE,
        "'%s' is the folder of a repo in a Hugging Face cache; push one of its snapshots: '%s/snapshots/%s'",
        source, source, revision[0] ? revision : "<revision>");
}

static int scan_folder(struct scan *scan, const char *source, const struct options *options,
                       struct report *report, struct error *err)
{
    struct scanning s = {scan, options, report, NULL};
    if (refuse_hub_repo(scan->folder, source, err) < 0)
        return -1;
    int result = walk_tree(scan->folder, true, take_entry, &s, err);
    if (result == 0 && s.unfinished)
        result =
            error_set(err, ERROR_SOME_FILES,
                      "the source looks unfinished: '%s' is a download under way; --all pushes it as it is",
                      s.unfinished);
    free(s.unfinished);
    return result;
}

/* One file: the model is that file, under its own name. */
static int scan_file(struct scan *scan, const char *source, const struct options *options,
                     struct report *report, struct error *err)
{
    const char *name = path_name(source);
    struct walk_entry entry = {.path = name, .name = name, .kind = WALK_FILE};
    struct scanning s = {scan, options, report, NULL};
    if (fstatat(scan->folder, name, &entry.st, 0) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot read '%s'", source);
    return add_file(&s, &entry, err) == WALK_STOP ? -1 : 0;
}

static int open_parent(const char *source)
{
    const char *slash = strrchr(source, '/');
    if (!slash)
        return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *parent = strndup(source, slash == source ? 1 : (size_t)(slash - source));
    if (!parent)
        abort();
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int saved = errno;
    free(parent);
    errno = saved;
    return fd;
}

int scan_open(struct scan *scan, const char *source, const struct options *options, struct report *report,
              struct error *err)
{
    struct stat st;
    memset(scan, 0, sizeof *scan);
    scan->folder = -1;
    if (stat(source, &st) < 0)
        return error_set_sys(err, ERROR_USAGE, errno, "cannot push '%s'", source);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return error_set(err, ERROR_USAGE, "'%s' is neither a folder nor a regular file", source);
    bool folder = S_ISDIR(st.st_mode);
    scan->folder = folder ? open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : open_parent(source);
    if (scan->folder < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot open '%s'", source);
    int result = folder ? scan_folder(scan, source, options, report, err)
                        : scan_file(scan, source, options, report, err);
    if (result == 0 && scan->listing.count == 0 && report->files.failed == 0)
        result = options->include.count > 0
                     ? error_set(err, ERROR_FAILED, "no file in '%s' matches --include '%s'", source,
                                 options->include.items[0])
                     : error_set(err, ERROR_FAILED, "there is no file to push in '%s'%s", source,
                                 options->exclude.count > 0 ? " that --exclude lets through" : "");
    if (result < 0)
        scan_release(scan);
    return result;
}

void scan_release(struct scan *scan)
{
    listing_release(&scan->listing);
    fdio_drop(&scan->folder);
}
