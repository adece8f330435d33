/* The cache is the user's own, but not each link in it need be what the Hub's library made: where a link
 * leads is looked at by its real path, and what lies outside of the repo is not pushed. */
#include "client/hub_snapshot.h"

#include "client/hub.h"
#include "common/fdio.h"
#include "common/junk.h"
#include "proto/hex.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Fewer digits are more often a mistake than a commit; Git's least, too. */
#define COMMIT_DIGITS_MIN 4

static char *below(const char *folder, const char *path)
{
    char *joined;
    if (asprintf(&joined, "%s/%s", folder, path) < 0)
        abort();
    return joined;
}

/* -- which snapshot -- */

static bool says_not_there(int sys)
{
    return sys == ENOENT || sys == ENOTDIR || sys == EISDIR || sys == ENAMETOOLONG;
}

/* The commit that the file `path` of the repo's folder names. 0 if it is not there or names none, -1. */
static int read_ref(const char *repo_folder, const char *path, char commit[HUB_COMMIT_DIGITS + 1],
                    struct error *err)
{
    char text[HUB_COMMIT_DIGITS + 2] = "";
    char *name = below(repo_folder, path);
    int fd = fdio_openat(AT_FDCWD, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    ssize_t n = fd < 0 ? -1 : fdio_read(fd, text, sizeof text - 1);
    int result = n < 0 && !says_not_there(errno)
                     ? error_set_sys(err, ERROR_FAILED, errno, "cannot read '%s'", name)
                     : 0;
    fdio_drop(&fd);
    free(name);
    text[strcspn(text, "\n")] = '\0';
    memcpy(commit, text, HUB_COMMIT_DIGITS + 1);
    return n >= 0 && hub_is_commit(text) ? 1 : result;
}

/* refs/<revision>; "refs/pr/1" lies at refs/refs/pr/1, and is also looked for where its name says. */
static int find_ref(const char *repo_folder, const char *revision, char commit[HUB_COMMIT_DIGITS + 1],
                    struct error *err)
{
    char *path = below("refs", revision);
    int found = read_ref(repo_folder, path, commit, err);
    if (found == 0 && strncmp(revision, "refs/", 5) == 0)
        found = read_ref(repo_folder, revision, commit, err);
    free(path);
    return found;
}

/* The one snapshot whose name begins with `start`. 0 if there is none, 2 if there are more, -1 with errno. */
static int look_for_start(DIR *folder, const char *start, char commit[HUB_COMMIT_DIGITS + 1])
{
    int found = 0;
    struct dirent *entry;
    while (found < 2 && (errno = 0, entry = readdir(folder)) != NULL)
        if (hub_is_commit(entry->d_name) && strncmp(entry->d_name, start, strlen(start)) == 0) {
            memcpy(commit, entry->d_name, HUB_COMMIT_DIGITS + 1);
            found++;
        }
    return found < 2 && errno != 0 ? -1 : found;
}

static int find_start(const char *repo_folder, const char *start, char commit[HUB_COMMIT_DIGITS + 1],
                      struct error *err)
{
    char *path = below(repo_folder, "snapshots");
    DIR *folder = opendir(path);
    int found = folder ? look_for_start(folder, start, commit) : errno == ENOENT ? 0 : -1;
    if (found < 0)
        error_set_sys(err, ERROR_FAILED, errno, "cannot read '%s'", path);
    if (folder)
        (void)closedir(folder);
    free(path);
    return found;
}

static int find_commit(const char *repo_folder, const struct hub_name *name,
                       char commit[HUB_COMMIT_DIGITS + 1], struct error *err)
{
    size_t digits = strlen(name->revision);
    int found = find_ref(repo_folder, name->revision, commit, err);
    if (found != 0)
        return found > 0 ? 0 : -1;
    bool could_be = digits >= COMMIT_DIGITS_MIN && digits == strspn(name->revision, "0123456789abcdef");
    found = could_be ? find_start(repo_folder, name->revision, commit, err) : 0;
    if (found < 0)
        return -1;
    if (found == 1)
        return 0;
    if (found > 1)
        return error_set(err, ERROR_USAGE,
                         "more than one snapshot of '%s' begins with '%s': write more digits", name->repo,
                         name->revision);
    return error_set(err, ERROR_USAGE, "there is no revision '%s' of '%s' in '%s'", name->revision,
                     name->repo, repo_folder);
}

/* The real path of the repo's folder. */
static char *find_repo(const struct hub_name *name, struct error *err)
{
    char *cache = hub_cache_folder(NULL, err);
    if (!cache)
        return NULL;
    char *folder = hub_repo_folder(cache, name->repo), *real = realpath(folder, NULL);
    if (!real)
        error_set_sys(err, ERROR_USAGE, errno, "'%s' is not in the Hugging Face cache: cannot open '%s'",
                      name->repo, folder);
    free(folder);
    free(cache);
    return real;
}

int hub_snapshot_find(struct hub_snapshot *s, const char *source, struct error *err)
{
    struct hub_name name;
    char commit[HUB_COMMIT_DIGITS + 1];
    struct stat st;
    memset(s, 0, sizeof *s);
    if (hub_parse(&name, source, err) < 0 || !(s->repo_folder = find_repo(&name, err)))
        return -1;
    if (find_commit(s->repo_folder, &name, commit, err) < 0) {
        hub_snapshot_release(s);
        return -1;
    }
    char *snapshots = below(s->repo_folder, "snapshots");
    s->path = below(snapshots, commit);
    free(snapshots);
    hub_origin(s->origin, name.repo, commit);
    if (stat(s->path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    error_set(err, ERROR_USAGE, "'%s' is commit %s, whose snapshot is not there: '%s'", source, commit,
              s->path);
    hub_snapshot_release(s);
    return -1;
}

void hub_snapshot_release(struct hub_snapshot *s)
{
    free(s->repo_folder);
    free(s->path);
    memset(s, 0, sizeof *s);
}

/* -- its files -- */

struct judging {
    const struct hub_snapshot *snapshot;
    struct report *report;
};

/* Exactly `size` bytes. */
static bool decode_name(const char *name, uint8_t *out, size_t size)
{
    return strlen(name) == 2 * size && hex_parse(out, size, name);
}

/* What lies in the repo's folder, or NULL. */
static const char *inside(const char *repo_folder, const char *real)
{
    size_t length = strlen(repo_folder);
    return strncmp(real, repo_folder, length) == 0 && real[length] == '/' ? real + length + 1 : NULL;
}

static void fail(struct judging *j, const struct file_entry *entry, const char *real)
{
    struct error error;
    error_set(&error, ERROR_FILE, "the link '%s' leads out of '%s': to '%s'", entry->path,
              j->snapshot->repo_folder, real);
    report_fail(j->report, entry->path, &error);
    j->report->files.failed++;
    j->report->unreadable_bytes += entry->size;
}

static bool judge(void *context, struct file_entry *entry)
{
    struct judging *j = context;
    char *path = below(j->snapshot->path, entry->path), *real = realpath(path, NULL);
    const char *place = real ? inside(j->snapshot->repo_folder, real) : NULL;
    if (place && strncmp(place, "blobs/", 6) == 0) {
        entry->has_sha256 = decode_name(place + 6, entry->sha256, SHA256_SIZE);
        entry->has_git_blob = decode_name(place + 6, entry->git_blob, GIT_BLOB_SIZE);
    }
    if (!place)
        fail(j, entry, real ? real : "nothing");
    free(real);
    free(path);
    return place != NULL;
}

/* The first name of an unfinished download; NULL with errno, 0 if there is none. */
static const char *find_unfinished(DIR *blobs)
{
    struct dirent *entry;
    while ((errno = 0, entry = readdir(blobs)) != NULL)
        if (junk_is_unfinished(entry->d_name))
            return entry->d_name;
    return NULL;
}

/* It may be of another revision, or left by one that was given up: no reason to stop. */
static void warn_of_download(const struct hub_snapshot *snapshot, const struct options *options,
                             struct report *report)
{
    char *path = below(snapshot->repo_folder, "blobs");
    DIR *blobs = opendir(path);
    const char *name = blobs ? find_unfinished(blobs) : NULL;
    int failed = errno;
    if (name)
        report_warn(report, options,
                    "warning: '%s/%s' is a download under way or cut off; the snapshot may lack files", path,
                    name);
    else if (failed != 0 && failed != ENOENT)
        report_warn(report, options, "warning: cannot read '%s', so the snapshot may lack files: %s", path,
                    strerror(failed));
    if (blobs)
        (void)closedir(blobs);
    free(path);
}

void hub_snapshot_judge(const struct hub_snapshot *snapshot, struct listing *listing,
                        const struct options *options, struct report *report)
{
    struct judging judging = {snapshot, report};
    listing_filter(listing, judge, &judging);
    if (!options->all)
        warn_of_download(snapshot, options, report);
}
