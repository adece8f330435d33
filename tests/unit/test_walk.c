/* A walk sees everything once, in order, opens nothing that could block, and always ends. */
#include "support.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/walk.h"

struct seen {
    char text[8192];
    const char *skip, *stop;
};

static enum walk_step note(void *context, const struct walk_entry *entry, struct error *err)
{
    static const char *const kinds[] = {"file", "folder", "link", "dangling", "special", "failed"};
    struct seen *seen = context;
    size_t used = strlen(seen->text);
    const char *slash = strrchr(entry->path, '/');
    assert_string_equal(entry->name, slash ? slash + 1 : entry->path);
    assert_true(used + strlen(entry->path) + 12 < sizeof seen->text);
    (void)snprintf(seen->text + used, sizeof seen->text - used, "%s %s\n", kinds[entry->kind], entry->path);
    if (seen->stop && strcmp(entry->path, seen->stop) == 0) {
        error_set(err, ERROR_BUSY, "told to stop");
        return WALK_STOP;
    }
    return seen->skip && strcmp(entry->path, seen->skip) == 0 ? WALK_SKIP : WALK_ON;
}

static int walk(struct scratch *scratch, bool follow, struct seen *seen)
{
    struct error err = {0};
    int fds = count_fds();
    seen->text[0] = '\0';
    int result = walk_tree(scratch->fd, follow, note, seen, &err);
    assert_int_equal(count_fds(), fds);
    assert_int_equal(err.code, result == 0 ? ERROR_NONE : ERROR_BUSY);
    return result;
}

static void touch(struct scratch *scratch, const char *path)
{
    write_file(scratch->fd, path, "x", 1);
}

static void folder(struct scratch *scratch, const char *path)
{
    (void)close(make_dir(scratch->fd, path));
}

static void link_to(struct scratch *scratch, const char *to, const char *path)
{
    assert_int_equal(symlinkat(to, scratch->fd, path), 0);
}

static void everything_is_seen_in_the_order_of_bytes(void **state)
{
    struct scratch *scratch = *state;
    struct seen seen = {{0}};
    folder(scratch, "b");
    folder(scratch, "b/empty");
    touch(scratch, "b/z");
    touch(scratch, "b/.dot");
    touch(scratch, "a");
    touch(scratch, "B");
    touch(scratch, "b.txt");
    touch(scratch, "\xff");
    assert_int_equal(walk(scratch, true, &seen), 0);
    assert_string_equal(
        seen.text,
        "file B\nfile a\nfolder b\nfile b/.dot\nfolder b/empty\nfile b/z\nfile b.txt\nfile \xff\n");
}

static void links_to_files_are_followed_where_asked_and_to_folders_never(void **state)
{
    struct scratch *scratch = *state;
    struct seen seen = {{0}};
    folder(scratch, "blobs");
    touch(scratch, "blobs/x");
    link_to(scratch, "blobs/x", "file");
    link_to(scratch, "file", "again");
    link_to(scratch, "blobs", "folder");
    link_to(scratch, "nowhere", "dangling");
    link_to(scratch, "/dev/null", "device");
    assert_int_equal(walk(scratch, true, &seen), 0);
    assert_string_equal(
        seen.text,
        "file again\nfolder blobs\nfile blobs/x\ndangling dangling\nlink device\nfile file\nlink folder\n");
    assert_int_equal(walk(scratch, false, &seen), 0);
    assert_string_equal(
        seen.text,
        "link again\nfolder blobs\nfile blobs/x\nlink dangling\nlink device\nlink file\nlink folder\n");
}

static void loops_end(void **state)
{
    struct scratch *scratch = *state;
    struct seen seen = {{0}};
    folder(scratch, "sub");
    link_to(scratch, ".", "loop");
    link_to(scratch, "..", "sub/up");
    link_to(scratch, "b", "a");
    link_to(scratch, "a", "b");
    link_to(scratch, "self", "self");
    for (int follow = 0; follow < 2; follow++) {
        assert_int_equal(walk(scratch, follow != 0, &seen), 0);
        const char *kind = follow ? "dangling" : "link";
        char wanted[256];
        (void)snprintf(wanted, sizeof wanted, "%s a\n%s b\nlink loop\n%s self\nfolder sub\nlink sub/up\n",
                       kind, kind, kind);
        assert_string_equal(seen.text, wanted);
    }
}

static void special_files_are_named_and_not_opened(void **state)
{
    struct scratch *scratch = *state;
    struct seen seen = {{0}};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(mkfifoat(scratch->fd, "fifo", 0600), 0); /* opening it would block for ever */
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", scratch->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    link_to(scratch, "fifo", "link");
    assert_int_equal(walk(scratch, true, &seen), 0);
    assert_string_equal(seen.text, "special fifo\nlink link\nspecial socket\n");
    (void)close(fd);
}

static void a_folder_can_be_skipped(void **state)
{
    struct scratch *scratch = *state;
    struct seen seen = {.skip = "b"};
    folder(scratch, "b");
    touch(scratch, "b/inside");
    touch(scratch, "c");
    assert_int_equal(walk(scratch, true, &seen), 0);
    assert_string_equal(seen.text, "folder b\nfile c\n");
}

static void a_visitor_can_stop_from_any_depth(void **state)
{
    struct scratch *scratch = *state;
    struct seen seen = {.stop = "a/b/c"};
    folder(scratch, "a");
    folder(scratch, "a/b");
    touch(scratch, "a/b/c");
    touch(scratch, "a/b/d");
    touch(scratch, "e");
    assert_int_equal(walk(scratch, true, &seen), -1);
    assert_string_equal(seen.text, "folder a\nfolder a/b\nfile a/b/c\n");
    seen.stop = "a";
    assert_int_equal(walk(scratch, true, &seen), -1);
    assert_string_equal(seen.text, "folder a\n");
}

static enum walk_step remove_next(void *context, const struct walk_entry *entry, struct error *err)
{
    struct scratch *scratch = *(struct scratch **)context;
    (void)err;
    if (strcmp(entry->path, "a") == 0) {
        (void)unlinkat(scratch->fd, "b", 0);
        (void)unlinkat(scratch->fd, "c", AT_REMOVEDIR);
        touch(scratch, "d");
    }
    if (strcmp(entry->path, "b") == 0 || strcmp(entry->path, "c") == 0) {
        assert_int_equal(entry->kind, WALK_FAILED);
        assert_int_equal(entry->sys, ENOENT);
    }
    assert_string_not_equal(entry->path, "d");
    return WALK_ON;
}

static void what_vanishes_under_the_walk_is_reported(void **state)
{
    struct scratch *scratch = *state;
    struct error err;
    touch(scratch, "a");
    touch(scratch, "b");
    folder(scratch, "c");
    assert_int_equal(walk_tree(scratch->fd, true, remove_next, &scratch, &err), 0);
}

static enum walk_step count_files(void *context, const struct walk_entry *entry, struct error *err)
{
    (void)err;
    ((int *)context)[entry->kind]++;
    return WALK_ON;
}

static void a_tree_deeper_than_the_limit_of_open_files_is_walked(void **state)
{
    struct scratch *scratch = *state;
    struct rlimit before, low = {64, 0};
    struct error err = {0};
    char path[402];
    int counts[6] = {0};
    for (size_t i = 0; i < 400; i += 2)
        memcpy(path + i, "d/", 2);
    memcpy(path + 400, "f", 2);
    assert_int_equal(path_make_parents(scratch->fd, path), 0);
    touch(scratch, path);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int result = walk_tree(scratch->fd, false, count_files, counts, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, 0);
    assert_int_equal(counts[WALK_FOLDER], 200);
    assert_int_equal(counts[WALK_FAILED], 0);
    assert_int_equal(counts[WALK_FILE], 1);
}

static void a_top_that_cannot_be_read_is_an_error(void **state)
{
    struct scratch *scratch = *state;
    struct seen seen = {{0}};
    struct error err = {0};
    int fd = make_dir(scratch->fd, "gone");
    assert_int_equal(walk_tree(fd, true, note, &seen, &err), 0);
    write_file(scratch->fd, "file", "", 0);
    int file = openat(scratch->fd, "file", O_RDONLY);
    assert_int_equal(walk_tree(file, true, note, &seen, &err), -1);
    assert_int_equal(err.sys, ENOTDIR);
    assert_int_equal(walk_tree(-1, true, note, &seen, &err), -1);
    (void)close(file);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(everything_is_seen_in_the_order_of_bytes),
        scratch_test(links_to_files_are_followed_where_asked_and_to_folders_never),
        scratch_test(loops_end),
        scratch_test(special_files_are_named_and_not_opened),
        scratch_test(a_folder_can_be_skipped),
        scratch_test(a_visitor_can_stop_from_any_depth),
        scratch_test(what_vanishes_under_the_walk_is_reported),
        scratch_test(a_tree_deeper_than_the_limit_of_open_files_is_walked),
        scratch_test(a_top_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
