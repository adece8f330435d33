/* Choose the folder, link, learn what will move (a dry run), make room, pull, look whether it is just that,
 * and switch. */
#include "client/cache_fill.h"

#include "client/cache_lock.h"
#include "client/cache_room.h"
#include "client/cache_tree.h"
#include "client/commands.h"
#include "client/prediction.h"

#include "common/fdio.h"
#include "common/fingerprint.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fill {
    const struct cache *cache;
    const struct options *options;
    const char *model;
    int lock;
    struct cache_record old; /* folder 0: there is none */
    uint64_t newest;         /* folder, 0 if there is none */
    uint64_t target;
    bool is_new;       /* the target: nobody has begun it before */
    bool from_nothing; /* what there was stood in the way */
    char *path;        /* of the target */
    int home;          /* the model's folder */
    int folder;        /* the target's */
    uint64_t fingerprint;
};

static int fill_error(const struct fill *f, const char *what, struct error *err)
{
    return error_set_sys(err, ERROR_FAILED, errno, "cannot %s '%s'", what, f->path ? f->path : f->model);
}

enum outcome { FILL_FAILED = -1, FILL_DONE, FILL_AGAIN };

static void number_name(char name[24], uint64_t number)
{
    (void)snprintf(name, 24, "%" PRIu64, number);
}

/* -- the folder -- */

/* A record that names a folder which is not there tells nothing. */
static int look_at_folders(struct fill *f)
{
    bool has_old = false;
    int fd = fdio_openat(f->home, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        fdio_drop(&fd);
        return -1;
    }
    struct dirent *entry;
    while ((errno = 0, entry = readdir(stream)) != NULL) {
        uint64_t number = cache_folder_number(entry->d_name);
        f->newest = number > f->newest ? number : f->newest;
        has_old = has_old || number == f->old.folder;
    }
    int failed = errno;
    (void)closedir(stream);
    if (failed != 0) {
        errno = failed;
        return -1;
    }
    if (!has_old)
        f->old = (struct cache_record){0};
    return 0;
}

/* A folder that is read by somebody is never filled, whatever it is. */
static uint64_t choose_target(const struct fill *f)
{
    bool goes_on = f->newest > f->old.folder && !cache_lock_is_held(f->lock, f->newest);
    return goes_on ? f->newest : f->newest + 1;
}

static void link_former(const struct fill *f)
{
    uint64_t former = f->old.folder ? f->old.folder : f->newest;
    bool is_wanted = former != 0 && former != f->target && !f->from_nothing;
    int from = is_wanted ? cache_version_open(f->cache, f->model, former) : -1;
    if (from >= 0)
        cache_tree_link(from, f->folder);
    fdio_drop(&from);
}

/* The target goes with all that stood in the way; the next one begins with nothing. */
static enum outcome start_again(struct fill *f)
{
    f->from_nothing = true;
    return cache_discard(f->cache, f->model, f->target) < 0 ? FILL_FAILED : FILL_AGAIN;
}

static enum outcome make_target(struct fill *f, struct error *err)
{
    char name[24];
    number_name(name, f->target);
    f->is_new = f->target != f->newest;
    f->folder = path_make_dir(f->home, name);
    if (f->folder >= 0 && futimens(f->folder, NULL) == 0)
        return FILL_DONE;
    bool no_folder = f->folder < 0 && (errno == ENOTDIR || errno == ELOOP);
    fill_error(f, "make the folder", err);
    return no_folder ? start_again(f) : FILL_FAILED;
}

static enum outcome open_target(struct fill *f, struct error *err)
{
    f->home = cache_model_folder(f->cache, f->model, true);
    if (f->home < 0 || look_at_folders(f) < 0) {
        fill_error(f, "open the folder of", err);
        return FILL_FAILED;
    }
    f->target = choose_target(f);
    if (f->target > CACHE_FOLDER_MAX) {
        error_set(err, ERROR_FAILED, "the cache of '%s' has no number left: remove it with 'cache rm'",
                  f->model);
        return FILL_FAILED;
    }
    f->path = cache_version_path(f->cache, f->model, f->target);
    enum outcome outcome = make_target(f, err);
    if (outcome == FILL_DONE)
        link_former(f);
    return outcome;
}

/* -- pulling -- */

static int pull(const struct fill *f, bool dry, struct report *report, struct error *err)
{
    char *words[] = {(char *)f->model, f->path};
    struct options options = *f->options;
    options.command = COMMAND_PULL;
    options.arguments = (struct optparse_list){words, 2};
    options.warm = false;
    options.dry_run = dry;
    if (dry) {
        options.progress = PROGRESS_NONE;
        options.quiet = true;
    }
    return pull_run(&options, report, err);
}

/* Of what need not move, what the folder has alone is not shared with the former version; that is exact in a
 * new folder, and at worst too careful in one that is gone on with. */
static int make_room(const struct fill *f, struct error *err)
{
    struct report report;
    struct cache_tree tree;
    int result = pull(f, true, &report, err);
    uint64_t bytes = report.bytes.total, there = report.bytes.skipped;
    report_release(&report);
    if (result < 0 || cache_tree_look(f->folder, &tree, NULL, err) < 0)
        return -1;
    struct cache_need need = {.model = f->model,
                              .lock = f->lock,
                              .bytes = bytes,
                              .shared = f->old.folder && there > tree.own ? there - tree.own : 0};
    return cache_room_make(f->cache, f->options, &need, err);
}

/* What the folder had before and the version has not. */
static void remove_others(const struct fill *f, const struct report *report)
{
    for (size_t i = 0; i < report->left_alone_count; i++) {
        const char *name, *path = report->left_alone[i];
        int parent = path_open_parent(f->folder, path, &name);
        if (parent >= 0 && unlinkat(parent, name, 0) == 0)
            path_prune_parents(f->folder, path);
        fdio_drop(&parent);
    }
}

/* Just the files of the version, and their fingerprint. */
static bool is_exact(struct fill *f, const struct report *report)
{
    struct cache_tree tree;
    struct listing listing = {0};
    struct error ignored;
    bool exact = cache_tree_look(f->folder, &tree, &listing, &ignored) == 0 && tree.odd == 0 &&
                 tree.files == report->files.total && tree.bytes == report->bytes.total;
    f->fingerprint = exact ? fingerprint_of(&listing) : 0;
    listing_release(&listing);
    return f->fingerprint != 0;
}

/* -- switching -- */

/* A convenience for paths that have to stay; nothing here reads it. */
static void point_current(const struct fill *f)
{
    char name[24];
    number_name(name, f->target);
    (void)unlinkat(f->home, "." CACHE_CURRENT, 0);
    if (symlinkat(name, f->home, "." CACHE_CURRENT) == 0)
        (void)renameat(f->home, "." CACHE_CURRENT, f->home, CACHE_CURRENT);
}

/* The replaced folder's time says since when it is one. */
static void note_replaced(const struct fill *f)
{
    char name[24];
    number_name(name, f->old.folder);
    if (f->old.folder)
        (void)utimensat(f->home, name, NULL, AT_SYMLINK_NOFOLLOW);
}

static int switch_over(struct fill *f, const struct cache_version *version, struct cache_record *record,
                       struct error *err)
{
    struct cache_record now = {0};
    if (cache_lock_take(f->lock, CACHE_LOCK_SWITCH, f->model, f->options, err) < 0)
        return -1;
    int result = cache_record_load(f->cache, f->model, &now, err);
    *record = (struct cache_record){
        .folder = f->target, .version = *version, .fingerprint = f->fingerprint, .pinned = now.pinned};
    if (result >= 0) {
        note_replaced(f);
        result = cache_record_save(f->cache, f->model, record, err);
    }
    if (result == 0)
        point_current(f);
    cache_lock_drop(f->lock, CACHE_LOCK_SWITCH);
    return result;
}

/* -- */

/* A file or link stands where the version has a folder, or a folder where it has a file: destination_check()
 * says so before anything moves. Any other failure of a file keeps what has come. */
static bool is_in_the_way(const struct report *report, const struct error *err)
{
    return err->code == ERROR_FILE && report->bytes.sent == 0 &&
           (err->sys == 0 || err->sys == ENOTDIR || err->sys == ELOOP);
}

static enum outcome pull_and_switch(struct fill *f, const struct cache_version *version,
                                    struct cache_record *record, struct cache_filled *filled,
                                    struct error *err)
{
    struct report report;
    int result = pull(f, false, &report, err);
    filled->bytes += report.bytes.sent;
    filled->seconds += report.seconds;
    if (result == 0) {
        prediction_learn(&report, f->options);
        remove_others(f, &report);
    }
    bool exact = result == 0 && is_exact(f, &report);
    bool again = result == 0 ? !exact : is_in_the_way(&report, err);
    struct cache_version pulled = *version;
    pulled.bytes = report.bytes.total; /* of what counts against the budget, should it be another version */
    pulled.files = report.files.total;
    report_release(&report);
    if (exact)
        return switch_over(f, &pulled, record, err) < 0 ? FILL_FAILED : FILL_DONE;
    if (result == 0)
        error_set(err, ERROR_FAILED, "'%s' holds other files than the model", f->path);
    return again ? start_again(f) : FILL_FAILED;
}

static enum outcome fill_once(struct fill *f, const struct cache_version *version,
                              struct cache_record *record, struct cache_filled *filled, struct error *err)
{
    enum outcome opened = open_target(f, err);
    if (opened != FILL_DONE)
        return opened;
    if (make_room(f, err) < 0) {
        if (f->is_new) /* nothing has come yet */
            (void)cache_discard(f->cache, f->model, f->target);
        return FILL_FAILED;
    }
    return pull_and_switch(f, version, record, filled, err);
}

static void close_target(struct fill *f)
{
    fdio_drop(&f->folder);
    fdio_drop(&f->home);
    free(f->path);
    f->path = NULL;
}

int cache_fill(const struct cache *cache, const struct options *options, const char *model, int lock,
               const struct cache_version *version, struct cache_record *record, struct cache_filled *filled,
               struct error *err)
{
    struct fill f = {
        .cache = cache, .options = options, .model = model, .lock = lock, .home = -1, .folder = -1};
    enum outcome outcome = cache_record_load(cache, model, &f.old, err) < 0 ? FILL_FAILED : FILL_AGAIN;
    *filled = (struct cache_filled){0};
    for (int attempt = 0; attempt < 2 && outcome == FILL_AGAIN; attempt++) {
        outcome = fill_once(&f, version, record, filled, err);
        close_target(&f);
        f.newest = 0;
    }
    cache_record_unreserve(cache, model);
    cache_sweep(cache);
    return outcome == FILL_DONE ? 0 : -1;
}
