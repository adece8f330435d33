/* What was written is cached, what was dropped is not, half is half; a stranger's file is not called cached.
 */
#include "support.h"

#include "common/page_cache.h"

#include <sys/wait.h>

#define SIZE ((size_t)4 << 20)

/* A file of SIZE bytes, flushed; skips the test where the file system is memory. */
static int make_file(const struct scratch *scratch)
{
    uint8_t *bytes = filled(SIZE, 1);
    write_file(scratch->fd, "file", bytes, SIZE);
    free(bytes);
    int fd = openat(scratch->fd, "file", O_RDONLY | O_CLOEXEC);
    uint64_t cached;
    assert_true(fd >= 0);
    assert_int_equal(page_cache_drop(fd), 0);
    assert_int_equal(page_cache_resident(fd, 0, SIZE, &cached), 0);
    if (cached > 0) {
        close(fd);
        skip();
    }
    return fd;
}

static uint64_t resident(int fd, uint64_t offset, uint64_t length)
{
    uint64_t bytes;
    assert_int_equal(page_cache_resident(fd, offset, length, &bytes), 0);
    return bytes;
}

static void what_was_just_written_is_cached_and_can_be_dropped(void **state)
{
    const struct scratch *scratch = *state;
    uint8_t *bytes = filled(SIZE, 2);
    write_file(scratch->fd, "written", bytes, SIZE);
    free(bytes);
    int fd = openat(scratch->fd, "written", O_RDONLY | O_CLOEXEC);
    assert_int_equal(resident(fd, 0, SIZE), SIZE);
    close(fd);
    fd = make_file(scratch);
    assert_int_equal(resident(fd, 0, SIZE), 0);
    close(fd);
}

static void a_part_is_counted_as_a_part(void **state)
{
    int fd = make_file(*state);
    static char buffer[SIZE / 2];
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0); /* no read-ahead past the half */
    assert_int_equal(pread(fd, buffer, sizeof buffer, 0), sizeof buffer);
    assert_int_equal(resident(fd, 0, SIZE), SIZE / 2);
    assert_int_equal(resident(fd, 0, SIZE / 2), SIZE / 2);
    assert_int_equal(resident(fd, SIZE / 2, SIZE / 2), 0);
    assert_int_equal(resident(fd, SIZE / 4, SIZE / 2), SIZE / 4);
    close(fd);
}

static void the_answer_is_never_more_than_was_asked_about(void **state)
{
    int fd = make_file(*state);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
    assert_int_equal(resident(fd, 0, 1), 1);
    assert_int_equal(resident(fd, 10, 100), 100);
    assert_int_equal(resident(fd, 0, 0), 0);
    close(fd);
}

static void what_is_no_file_is_an_error(void **state)
{
    (void)state;
    uint64_t bytes;
    int ends[2];
    assert_int_equal(page_cache_resident(-1, 0, 10, &bytes), -1);
    assert_int_equal(page_cache_drop(-1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(page_cache_drop(ends[0]), -1);
    close(ends[0]);
    close(ends[1]);
}

/* In a child without rights: 0 if the kernel's silence is passed on as EPERM. */
static int ask_as_a_stranger(int fd)
{
    uint64_t bytes;
    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 2;
    return page_cache_resident(fd, 0, SIZE, &bytes) == -1 && errno == EPERM ? 0 : 1;
}

static void a_strangers_file_is_unknown_and_not_warm(void **state)
{
    if (geteuid() != 0)
        skip();
    int fd = make_file(*state), status;
    assert_int_equal(fchmod(fd, 0644), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(ask_as_a_stranger(fd));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(what_was_just_written_is_cached_and_can_be_dropped),
        scratch_test(a_part_is_counted_as_a_part),
        scratch_test(the_answer_is_never_more_than_was_asked_about),
        cmocka_unit_test(what_is_no_file_is_an_error),
        scratch_test(a_strangers_file_is_unknown_and_not_warm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
