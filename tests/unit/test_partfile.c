/* Temporary files: invisible until they are published, gone when they are discarded, never in another's
 * place. */
#include "support.h"

#include <dirent.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "common/partfile.h"

/* -- system calls with moods -- */

static int fallocate_errno, rename_errno, futimens_errno, fdatasync_errno, ftruncate_errno;
static atomic_int renames;

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    errno = fallocate_errno;
    return fallocate_errno ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    renames++;
    errno = rename_errno;
    return rename_errno ? -1 : (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int futimens(int fd, const struct timespec times[2])
{
    errno = futimens_errno;
    return futimens_errno ? -1 : (int)syscall(SYS_utimensat, fd, NULL, times, 0);
}

int fdatasync(int fd)
{
    errno = fdatasync_errno;
    return fdatasync_errno ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t length)
{
    errno = ftruncate_errno;
    return ftruncate_errno ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}

static int setup(void **state)
{
    fallocate_errno = rename_errno = futimens_errno = fdatasync_errno = ftruncate_errno = 0;
    return scratch_setup(state);
}

#define part_test(function) cmocka_unit_test_setup_teardown(function, setup, scratch_teardown)

static struct file_entry entry_of(const char *path, uint64_t size)
{
    return (struct file_entry){.path = (char *)path, .size = size, .mtime = -5, .nsec = 123};
}

/* The names in a folder, without `.` and `..`. */
static int count_names(int folder)
{
    int count = 0;
    DIR *stream = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY));
    assert_non_null(stream);
    while (readdir(stream))
        count++;
    (void)closedir(stream);
    return count - 2;
}

static void make(struct partfile *part, struct scratch *scratch, const struct file_entry *entry,
                 const char *text)
{
    struct error err = {0};
    if (partfile_create(part, scratch->fd, entry, false, &err) < 0 ||
        partfile_write(part, entry, text, strlen(text), 0, &err) < 0)
        fail_msg("%s", err.text);
}

static void bytes_are_invisible_until_they_are_published(void **state)
{
    struct scratch *scratch = *state;
    struct partfile part;
    struct error err;
    struct stat st;
    struct file_entry entry = entry_of("sub/dir/file", 5);
    int fds = count_fds();
    make(&part, scratch, &entry, "hello");
    assert_false(is_there(scratch->fd, "sub/dir/file"));
    char *path = partfile_path(&part, &entry);
    assert_true(strncmp(path, "sub/dir/.file.", 14) == 0);
    assert_int_equal(strlen(path), 14 + 16);
    assert_true(is_there(scratch->fd, path));
    assert_int_equal(partfile_publish(&part, &entry, true, &err), 0);
    assert_false(is_there(scratch->fd, path));
    free(path);
    assert_true(file_equals(scratch->fd, "sub/dir/file", "hello", 5));
    assert_int_equal(fstatat(scratch->fd, "sub/dir/file", &st, 0), 0);
    assert_int_equal(st.st_mtim.tv_sec, -5);
    assert_int_equal(st.st_mtim.tv_nsec, 123);
    assert_int_equal(count_fds(), fds);
}

static void modes_are_those_of_the_umask(void **state)
{
    struct scratch *scratch = *state;
    static const mode_t masks[] = {022, 077, 002, 0};
    mode_t before = umask(0);
    for (size_t i = 0; i < COUNT_OF(masks); i++) {
        struct partfile part;
        struct error err;
        struct stat st;
        char path[32];
        (void)umask(masks[i]);
        (void)snprintf(path, sizeof path, "d%zu/f", i);
        struct file_entry entry = entry_of(path, 1);
        make(&part, scratch, &entry, "x");
        assert_int_equal(partfile_publish(&part, &entry, false, &err), 0);
        assert_int_equal(fstatat(scratch->fd, path, &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0666 & ~masks[i]);
        path[2] = '\0';
        assert_int_equal(fstatat(scratch->fd, path, &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0777 & ~masks[i]);
    }
    (void)umask(before);
}

static void a_file_has_exactly_its_size_when_it_is_published(void **state)
{
    struct scratch *scratch = *state;
    struct partfile part;
    struct error err;
    struct stat st;
    struct file_entry entry = entry_of("f", 3);
    make(&part, scratch, &entry, "too long");
    assert_int_equal(partfile_publish(&part, &entry, false, &err), 0);
    assert_true(file_equals(scratch->fd, "f", "too", 3));
    entry = entry_of("g", (uint64_t)5 << 30); /* sparse: the reservation is not counted as its size */
    fallocate_errno = EOPNOTSUPP;
    make(&part, scratch, &entry, "x");
    assert_int_equal(partfile_write(&part, &entry, "end", 3, ((uint64_t)5 << 30) - 3, &err), 0);
    assert_int_equal(partfile_publish(&part, &entry, false, &err), 0);
    assert_int_equal(fstatat(scratch->fd, "g", &st, 0), 0);
    assert_int_equal(st.st_size, (off_t)5 << 30);
}

static void reserving_does_not_pretend_a_size(void **state)
{
    struct scratch *scratch = *state;
    struct partfile part;
    struct error err;
    struct stat st;
    struct file_entry entry = entry_of("f", 4 << 20);
    assert_int_equal(partfile_create(&part, scratch->fd, &entry, false, &err), 0);
    assert_int_equal(fstat(part.fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    partfile_discard(&part);
}

static void a_name_that_is_taken_is_never_replaced(void **state)
{
    struct scratch *scratch = *state;
    static const int errors[] = {0, EINVAL,
                                 ENOSYS}; /* also where the file system knows no RENAME_NOREPLACE */
    write_file(scratch->fd, "file", "theirs", 6);
    assert_int_equal(symlinkat("nowhere", scratch->fd, "link"), 0);
    (void)close(make_dir(scratch->fd, "folder"));
    static const char *const names[] = {"file", "link", "folder"};
    for (size_t e = 0; e < COUNT_OF(errors); e++)
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            struct partfile part;
            struct error err = {0};
            struct file_entry entry = entry_of(names[i], 4);
            rename_errno = errors[e];
            make(&part, scratch, &entry, "ours");
            assert_int_equal(partfile_publish(&part, &entry, false, &err), -1);
            assert_int_equal(err.code, ERROR_FILE);
            assert_non_null(strstr(err.text, names[i]));
            assert_int_equal(count_names(scratch->fd), 3); /* and nothing is left lying about */
        }
    assert_true(file_equals(scratch->fd, "file", "theirs", 6));
    assert_false(is_there(scratch->fd, "nowhere"));
}

static void a_file_system_without_noreplace_still_publishes(void **state)
{
    struct scratch *scratch = *state;
    struct partfile part;
    struct error err;
    struct file_entry entry = entry_of("sub/f", 4);
    rename_errno = EINVAL;
    make(&part, scratch, &entry, "ours");
    assert_int_equal(partfile_publish(&part, &entry, false, &err), 0);
    assert_true(file_equals(scratch->fd, "sub/f", "ours", 4));
}

static void every_failure_of_publishing_is_told_and_leaves_nothing(void **state)
{
    struct scratch *scratch = *state;
    int *const switches[] = {&rename_errno, &fdatasync_errno, &ftruncate_errno};
    int fds = count_fds();
    for (size_t i = 0; i < COUNT_OF(switches); i++) {
        struct partfile part;
        struct error err = {0};
        struct file_entry entry = entry_of("f", 4);
        make(&part, scratch, &entry, "ours");
        *switches[i] = EIO;
        assert_int_equal(partfile_publish(&part, &entry, true, &err), -1);
        *switches[i] = 0;
        assert_int_equal(err.sys, EIO);
        assert_non_null(strstr(err.text, "'f'"));
        assert_int_equal(count_names(scratch->fd), 0);
        assert_int_equal(count_fds(), fds);
    }
}

static void a_refused_mtime_is_no_failure(void **state)
{
    struct scratch *scratch = *state;
    struct partfile part;
    struct error err;
    struct file_entry entry = entry_of("f", 4);
    futimens_errno = EPERM;
    make(&part, scratch, &entry, "ours");
    assert_int_equal(partfile_publish(&part, &entry, true, &err), 0);
}

static void space_that_cannot_be_had_is_told_at_once_and_no_support_is_not(void **state)
{
    struct scratch *scratch = *state;
    static const struct {
        int sys;
        enum error_code code;
    } cases[] = {{ENOSPC, ERROR_NO_SPACE}, {EDQUOT, ERROR_NO_SPACE}, {EFBIG, ERROR_NO_SPACE},
                 {EIO, ERROR_FILE},        {EOPNOTSUPP, ERROR_NONE}, {EINVAL, ERROR_NONE},
                 {ENOSYS, ERROR_NONE}};
    int fds = count_fds();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct partfile part;
        struct error err = {0};
        struct file_entry entry = entry_of("f", 4 << 20);
        fallocate_errno = cases[i].sys;
        int result = partfile_create(&part, scratch->fd, &entry, false, &err);
        assert_int_equal(result, cases[i].code ? -1 : 0);
        assert_int_equal(err.code, cases[i].code);
        if (result == 0)
            partfile_discard(&part);
        assert_int_equal(count_names(scratch->fd), 0);
        assert_int_equal(count_fds(), fds);
    }
}

static void what_is_left_can_be_reopened_and_what_is_discarded_is_gone(void **state)
{
    struct scratch *scratch = *state;
    struct partfile part;
    struct error err = {0};
    struct file_entry entry = entry_of("sub/f", 10);
    int fds = count_fds();
    make(&part, scratch, &entry, "hello");
    char *path = partfile_path(&part, &entry);
    partfile_leave(&part);
    assert_true(file_equals(scratch->fd, path, "hello", 5));
    assert_int_equal(partfile_reopen(&part, scratch->fd, &entry, path, false, &err), 0);
    assert_int_equal(partfile_write(&part, &entry, "world", 5, 5, &err), 0);
    assert_int_equal(partfile_publish(&part, &entry, false, &err), 0);
    assert_true(file_equals(scratch->fd, "sub/f", "helloworld", 10));
    assert_int_equal(partfile_reopen(&part, scratch->fd, &entry, path, false, &err), -1);
    assert_int_equal(err.sys, ENOENT);
    assert_int_equal(symlinkat("f", scratch->fd, path), 0);
    assert_int_equal(partfile_reopen(&part, scratch->fd, &entry, path, false, &err),
                     -1); /* never through a link */
    free(path);
    entry = entry_of("other", 5);
    make(&part, scratch, &entry, "hello");
    partfile_discard(&part);
    assert_int_equal(count_names(scratch->fd), 1); /* sub */
    assert_int_equal(count_fds(), fds);
}

static void temporary_names_differ_and_fit_whatever_the_name(void **state)
{
    struct scratch *scratch = *state;
    static const size_t lengths[] = {1, 236, 237, 238, 240, 254, 255};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct partfile one, two;
        struct error err = {0};
        char name[256];
        memset(name, 'n', lengths[i]);
        name[lengths[i]] = '\0';
        struct file_entry entry = entry_of(name, 1);
        make(&one, scratch, &entry, "1");
        make(&two, scratch, &entry, "2");
        assert_string_not_equal(one.name, two.name);
        assert_true(strlen(one.name) <= 255);
        assert_int_equal(one.name[0], '.');
        partfile_discard(&two);
        assert_int_equal(partfile_publish(&one, &entry, false, &err), 0);
        assert_true(file_equals(scratch->fd, name, "1", 1));
    }
    struct partfile part;
    struct error err;
    char name[257];
    memset(name, 'n', 256);
    name[256] = '\0';
    struct file_entry entry = entry_of(name, 1);
    make(&part, scratch, &entry, "x"); /* the temporary name is short, so this is found out at the end */
    assert_int_equal(partfile_publish(&part, &entry, false, &err), -1);
    assert_int_equal(err.sys, ENAMETOOLONG);
}

/* Of what is written directly, lengths and places that are not aligned go by the page cache; the bytes are
 * right. */
static void direct_writes_of_any_alignment_give_the_same_bytes(void **state)
{
    struct scratch *scratch = *state;
    const size_t size = 3 * 4096 + 777;
    void *memory = NULL;
    struct partfile part;
    struct error err = {0};
    struct file_entry entry = entry_of("f", size);
    assert_int_equal(posix_memalign(&memory, 4096, size), 0);
    uint8_t *bytes = memory;
    fill(bytes, size, 1);
    for (int direct = 0; direct < 2; direct++)
        for (size_t step = 4096; step <= 8192 + 100; step += 2098) {
            if (partfile_create(&part, scratch->fd, &entry, direct != 0, &err) < 0)
                fail_msg("%s", err.text);
            for (size_t at = 0; at < size; at += step)
                assert_int_equal(
                    partfile_write(&part, &entry, bytes + at, size - at < step ? size - at : step, at, &err),
                    0);
            assert_int_equal(partfile_start_writeback(&part, &entry, 0, size, &err), 0);
            assert_int_equal(partfile_finish_writeback(&part, &entry, 0, size, true, &err), 0);
            assert_int_equal(partfile_publish(&part, &entry, true, &err), 0);
            assert_true(file_equals(scratch->fd, "f", bytes, size));
            assert_int_equal(unlinkat(scratch->fd, "f", 0), 0);
        }
    free(memory);
}

static void a_folder_that_cannot_be_made_names_the_file(void **state)
{
    struct scratch *scratch = *state;
    struct partfile part;
    struct error err = {0};
    int fds = count_fds();
    write_file(scratch->fd, "afile", "", 0);
    assert_int_equal(symlinkat("/tmp", scratch->fd, "alink"), 0);
    static const char *const paths[] = {"afile/x", "alink/x", "afile/deep/x", "alink/deep/x"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct file_entry entry = entry_of(paths[i], 1);
        assert_int_equal(partfile_create(&part, scratch->fd, &entry, false, &err), -1);
        assert_int_equal(err.code, ERROR_FILE);
        assert_non_null(strstr(err.text, paths[i]));
        assert_int_equal(count_fds(), fds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        part_test(bytes_are_invisible_until_they_are_published),
        part_test(modes_are_those_of_the_umask),
        part_test(a_file_has_exactly_its_size_when_it_is_published),
        part_test(reserving_does_not_pretend_a_size),
        part_test(a_name_that_is_taken_is_never_replaced),
        part_test(a_file_system_without_noreplace_still_publishes),
        part_test(every_failure_of_publishing_is_told_and_leaves_nothing),
        part_test(a_refused_mtime_is_no_failure),
        part_test(space_that_cannot_be_had_is_told_at_once_and_no_support_is_not),
        part_test(what_is_left_can_be_reopened_and_what_is_discarded_is_gone),
        part_test(temporary_names_differ_and_fit_whatever_the_name),
        part_test(direct_writes_of_any_alignment_give_the_same_bytes),
        part_test(a_folder_that_cannot_be_made_names_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
