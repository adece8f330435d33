/* No path leads out of its root: neither by links nor by dots, with openat2() and without it. */
#include "support.h"

#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/path.h"

/* root/ with sub/deep/file, links that lead out, in and nowhere; outside/ beside it. */
struct tree {
    int top, root, fds;
};

static void begin(struct tree *t, struct scratch *scratch)
{
    t->fds = count_fds();
    t->top = scratch->fd;
    t->root = make_dir(t->top, "root");
    (void)close(make_dir(t->root, "sub"));
    (void)close(make_dir(t->root, "sub/deep"));
    (void)close(make_dir(t->top, "outside"));
    write_file(t->root, "sub/deep/file", "inside", 6);
    write_file(t->root, "plain", "plain", 5);
    write_file(t->top, "outside/file", "outside", 7);
    assert_int_equal(symlinkat("../outside", t->root, "out"), 0);
    assert_int_equal(symlinkat("sub", t->root, "in"), 0);
    assert_int_equal(symlinkat("plain", t->root, "filelink"), 0);
    assert_int_equal(symlinkat("nowhere", t->root, "dangling"), 0);
    assert_int_equal(symlinkat("/etc/passwd", t->root, "absolute"), 0);
    assert_int_equal(symlinkat("loop", t->root, "loop"), 0);
}

static void end(struct tree *t)
{
    (void)close(t->root);
    assert_int_equal(count_fds(), t->fds);
}

static void expect_open(struct tree *t, const char *path, const char *text)
{
    char got[16] = "";
    int fd = path_open(t->root, path, O_RDONLY, 0);
    if (fd < 0)
        fail_msg("%s: %s", path, strerror(errno));
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(read(fd, got, sizeof got), (int)strlen(text));
    assert_string_equal(got, text);
    (void)close(fd);
}

static void expect_refused(struct tree *t, const char *path, int flags, int wanted)
{
    int fd = path_open(t->root, path, flags, 0666);
    if (fd >= 0 || errno != wanted)
        fail_msg("'%s' gives %s, not %s", path, fd >= 0 ? "a descriptor" : strerrorname_np(errno),
                 strerrorname_np(wanted));
}

static void files_inside_are_opened(void **state)
{
    struct tree t;
    begin(&t, *state);
    expect_open(&t, "plain", "plain");
    expect_open(&t, "sub/deep/file", "inside");
    int fd = path_open(t.root, "sub/new", O_WRONLY | O_CREAT | O_EXCL, 0640);
    struct stat st;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777 & ~0640u, 0);
    (void)close(fd);
    expect_refused(&t, "sub/new", O_WRONLY | O_CREAT | O_EXCL, EEXIST);
    expect_refused(&t, "missing", O_RDONLY, ENOENT);
    expect_refused(&t, "sub/missing/x", O_RDONLY, ENOENT);
    expect_refused(&t, "plain/x", O_RDONLY, ENOTDIR);
    end(&t);
}

static void links_are_never_followed(void **state)
{
    struct tree t;
    static const char *const paths[] = {"out/file", "in/deep/file", "filelink", "dangling",
                                        "absolute", "loop",         "loop/x"};
    begin(&t, *state);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        expect_refused(&t, paths[i], O_RDONLY, ELOOP);
        expect_refused(&t, paths[i], O_WRONLY | O_CREAT, ELOOP);
        expect_refused(&t, paths[i], O_WRONLY | O_TRUNC, ELOOP);
    }
    assert_false(is_there(t.root, "nowhere"));
    assert_true(file_equals(t.top, "outside/file", "outside", 7));
    end(&t);
}

static void a_parent_is_opened_and_its_last_part_named(void **state)
{
    struct tree t;
    const char *name = NULL;
    begin(&t, *state);
    int fd = path_open_parent(t.root, "sub/deep/file", &name);
    assert_true(fd >= 0);
    assert_string_equal(name, "file");
    assert_true(file_equals(fd, "file", "inside", 6));
    (void)close(fd);
    fd = path_open_parent(t.root, "top", &name);
    assert_true(fd >= 0);
    assert_true(fd != t.root);
    assert_string_equal(name, "top");
    (void)close(fd);
    assert_int_equal(path_open_parent(t.root, "out/file", &name), -1);
    assert_int_equal(path_open_parent(t.root, "in/file", &name), -1);
    assert_int_equal(path_open_parent(t.root, "plain/file", &name), -1);
    assert_int_equal(errno, ENOTDIR);
    end(&t);
}

static void stat_does_not_follow(void **state)
{
    struct tree t;
    struct stat st;
    begin(&t, *state);
    assert_int_equal(path_stat(t.root, "sub/deep/file", &st), 0);
    assert_int_equal(st.st_size, 6);
    assert_int_equal(path_stat(t.root, "filelink", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(path_stat(t.root, "out/file", &st), -1);
    assert_int_equal(path_stat(t.root, "missing", &st), -1);
    assert_int_equal(errno, ENOENT);
    end(&t);
}

static void parents_are_made_inside_only(void **state)
{
    struct tree t;
    begin(&t, *state);
    assert_int_equal(path_make_parents(t.root, "a/b/c/file"), 0);
    assert_true(is_there(t.root, "a/b/c"));
    assert_false(is_there(t.root, "a/b/c/file"));
    assert_int_equal(path_make_parents(t.root, "a/b/c/file"), 0);
    assert_int_equal(path_make_parents(t.root, "file"), 0);
    assert_int_equal(path_make_parents(t.root, "out/new/file"), -1);
    assert_true(errno == ELOOP || errno == ENOTDIR);
    assert_false(is_there(t.top, "outside/new"));
    assert_int_equal(path_make_parents(t.root, "dangling/x"), -1);
    assert_false(is_there(t.root, "nowhere"));
    assert_int_equal(path_make_parents(t.root, "plain/x"), -1);
    assert_int_equal(errno, ENOTDIR);
    end(&t);
}

static void long_paths_work_to_the_limit(void **state)
{
    struct tree t;
    char path[LIMIT_PATH + 1];
    const char *name;
    begin(&t, *state);
    memset(path, 'a', LIMIT_PATH);
    for (size_t i = 255; i < LIMIT_PATH; i += 256)
        path[i] = '/';
    path[LIMIT_PATH] = '\0';
    assert_int_equal(path_make_parents(t.root, path), 0);
    int fd = path_open(t.root, path, O_RDWR | O_CREAT, 0666);
    assert_true(fd >= 0);
    (void)close(fd);
    struct stat st;
    assert_int_equal(path_stat(t.root, path, &st), 0);
    fd = path_open_parent(t.root, path, &name);
    assert_true(fd >= 0);
    assert_int_equal(unlinkat(fd, name, 0), 0);
    (void)close(fd);
    path_prune_parents(t.root, path);
    memset(path + 255, '\0', 1);
    assert_false(is_there(t.root, path));
    end(&t);
}

static void a_part_that_is_too_long_is_an_error(void **state)
{
    struct tree t;
    char path[300];
    begin(&t, *state);
    memset(path, 'a', 256);
    memcpy(path + 256, "/x", 3);
    assert_int_equal(path_make_parents(t.root, path), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    expect_refused(&t, path, O_RDONLY, ENAMETOOLONG);
    path[256] = '\0';
    expect_refused(&t, path, O_WRONLY | O_CREAT, ENAMETOOLONG);
    end(&t);
}

static void a_tree_is_removed_without_following_links(void **state)
{
    struct tree t;
    begin(&t, *state);
    assert_int_equal(symlinkat("../../outside", t.root, "sub/out"), 0);
    assert_int_equal(mkfifoat(t.root, "sub/fifo", 0600), 0);
    assert_int_equal(path_remove_tree(t.root, "sub"), 0);
    assert_false(is_there(t.root, "sub"));
    assert_int_equal(path_remove_tree(t.root, "out"), 0);
    assert_false(is_there(t.root, "out"));
    assert_int_equal(path_remove_tree(t.root, "plain"), 0);
    assert_int_equal(path_remove_tree(t.root, "never-there"), 0);
    assert_true(file_equals(t.top, "outside/file", "outside", 7));
    end(&t);
}

/* A path may have more parts than this process may have files open: a client decides how deep a model is. */
static void a_tree_deeper_than_the_limit_of_open_files_is_removed(void **state)
{
    struct tree t;
    struct rlimit before, low = {64, 0};
    char path[401];
    begin(&t, *state);
    for (size_t i = 0; i < 400; i += 2)
        memcpy(path + i, "d/", 2);
    path[400] = '\0';
    assert_int_equal(path_make_parents(t.root, path), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int result = path_remove_tree(t.root, "d");
    int saved = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (result < 0)
        fail_msg("%s", strerror(saved));
    assert_false(is_there(t.root, "d"));
    end(&t);
}

static void empty_parents_are_pruned_and_others_stay(void **state)
{
    struct tree t;
    begin(&t, *state);
    assert_int_equal(path_make_parents(t.root, "a/b/c/d/file"), 0);
    write_file(t.root, "a/keep", "", 0);
    path_prune_parents(t.root, "a/b/c/d/file");
    assert_false(is_there(t.root, "a/b"));
    assert_true(is_there(t.root, "a"));
    path_prune_parents(t.root, "sub/deep/other");
    assert_true(is_there(t.root, "sub/deep/file"));
    path_prune_parents(t.root, "missing/x/y");
    path_prune_parents(t.root, "plain");
    path_prune_parents(t.root, "out/x");
    assert_true(is_there(t.top, "outside"));
    end(&t);
}

static void a_name_is_the_last_part(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name;
    } cases[] = {{"a", "a"}, {"a/b", "b"}, {"a/bc/d.e", "d.e"}, {"/a", "a"}, {"a/", ""}, {"", ""}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(path_name(cases[i].path), cases[i].name);
        assert_int_equal(path_folder_length(cases[i].path), strlen(cases[i].path) - strlen(cases[i].name));
    }
}

static void expect_folders(const char *path, int wanted)
{
    int result = path_make_folders(path, 0700);
    if (wanted == 0 ? result < 0 : result == 0 || errno != wanted)
        fail_msg("%s: %d %s", path, result, strerror(errno));
}

/* As mkdir -p: from where the program stands, or from the root, and through links. */
static void folders_are_made_down_to_the_last(void **state)
{
    struct tree t;
    struct stat st;
    char cwd[PATH_MAX], path[PATH_MAX + 32];
    begin(&t, *state);
    int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(back >= 0);
    assert_int_equal(fchdir(t.root), 0);
    expect_folders("one/two//three/", 0);
    assert_int_equal(fstatat(t.root, "one/two/three", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0700);
    expect_folders("one/two/three", 0);
    expect_folders("in/new/folder", 0);
    assert_true(is_there(t.root, "sub/new/folder"));
    assert_non_null(getcwd(cwd, sizeof cwd));
    (void)snprintf(path, sizeof path, "%s/absolute-one/two", cwd);
    expect_folders(path, 0);
    assert_true(is_there(t.root, "absolute-one/two"));
    expect_folders("/proc/self", 0); /* there, where nothing can be made */
    expect_folders("plain/below", ENOTDIR);
    expect_folders("dangling/below", ENOENT);
    expect_folders("/proc/nothing-here", ENOENT);
    expect_folders("", ENOENT);
    memset(path, 'x', PATH_MAX);
    path[PATH_MAX] = '\0';
    expect_folders(path, ENAMETOOLONG);
    assert_int_equal(fchdir(back), 0);
    (void)close(back);
    end(&t);
}

static void a_folder_is_made_or_opened(void **state)
{
    struct tree t;
    begin(&t, *state);
    int fd = path_make_dir(t.root, "new");
    assert_true(fd >= 0);
    (void)close(fd);
    fd = path_make_dir(t.root, "new");
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(path_make_dir(t.root, "out"), -1);
    assert_int_equal(path_make_dir(t.root, "plain"), -1);
    assert_int_equal(errno, ENOTDIR);
    end(&t);
}

/* -- a folder that becomes a link and back while it is used -- */

struct swapper {
    int root;
    atomic_bool stop;
};

static void *swapper_thread_main(void *context)
{
    struct swapper *s = context;
    while (!s->stop)
        (void)renameat2(s->root, "sub", s->root, "out", RENAME_EXCHANGE);
    return NULL;
}

static void a_race_with_a_link_never_leads_out(void **state)
{
    struct tree t;
    begin(&t, *state);
    (void)close(make_dir(t.top, "outside/deep"));
    write_file(t.top, "outside/deep/file", "secret", 6);
    struct swapper swapper = {.root = t.root};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, swapper_thread_main, &swapper), 0);
    int opened = 0, out = 0;
    for (int i = 0; i < 3000 || (opened == 0 && i < 3000000);
         i++) { /* on a busy machine the link may stay long */
        char got[8] = "";
        int fd = path_open(t.root, "sub/deep/file", O_RDONLY, 0);
        if (fd < 0)
            continue;
        ssize_t length = read(fd, got, sizeof got);
        out += length != 6 || memcmp(got, "inside", 6) != 0;
        opened++;
        (void)close(fd);
    }
    for (int i = 0; i < 300; i++) {
        (void)path_make_parents(t.root, "sub/made/x");
        path_prune_parents(t.root, "sub/made/x");
    }
    swapper.stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(out, 0);
    assert_true(opened > 0);
    assert_false(is_there(t.top, "outside/made"));
    end(&t);
}

static void pruning_and_making_race_without_an_error(void **state)
{
    struct tree t;
    begin(&t, *state);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(path_make_parents(t.root, "x/y/z"), 0);
        path_prune_parents(t.root, "x/y/z");
    }
    assert_false(is_there(t.root, "x"));
    end(&t);
}

/* From now on openat2() says ENOSYS, as on a kernel before 5.6. */
static bool forbid_openat2(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = COUNT_OF(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(SYS_openat2, -1, "x", NULL, 0) == -1 && errno == ENOSYS;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(files_inside_are_opened),
        scratch_test(links_are_never_followed),
        scratch_test(a_parent_is_opened_and_its_last_part_named),
        scratch_test(stat_does_not_follow),
        scratch_test(parents_are_made_inside_only),
        scratch_test(long_paths_work_to_the_limit),
        scratch_test(a_part_that_is_too_long_is_an_error),
        scratch_test(a_tree_is_removed_without_following_links),
        scratch_test(a_tree_deeper_than_the_limit_of_open_files_is_removed),
        scratch_test(empty_parents_are_pruned_and_others_stay),
        scratch_test(a_folder_is_made_or_opened),
        scratch_test(folders_are_made_down_to_the_last),
        cmocka_unit_test(a_name_is_the_last_part),
        scratch_test(a_race_with_a_link_never_leads_out),
        scratch_test(pruning_and_making_race_without_an_error),
    };
    int failed = cmocka_run_group_tests_name("with openat2", tests, NULL, NULL);
    if (!forbid_openat2()) {
        print_message("no seccomp here: the way without openat2 is not tested\n");
        return failed;
    }
    return failed + cmocka_run_group_tests_name("without openat2", tests, NULL, NULL);
}
