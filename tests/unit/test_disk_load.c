/* A file without a name is written and read; what is too much, interrupted or not there. */
#include "support.h"

#include "common/disk_load.h"

#include <dirent.h>

#define SIZE (3 * BLOCK_SIZE)

static unsigned entries(int folder)
{
    unsigned count = 0;
    DIR *dir = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY));
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.' || (entry->d_name[1] && entry->d_name[1] != '.');
    (void)closedir(dir);
    return count;
}

static void write_and_read(struct scratch *scratch, bool direct)
{
    struct disk_load load;
    struct disk_rate rate;
    struct error err = {0};
    struct stat st;
    assert_int_equal(disk_load_open(&load, scratch->fd, direct, &err), 0);
    assert_int_equal(entries(scratch->fd), 0);
    assert_int_equal(disk_load_write(&load, SIZE - 100, &rate, &err), 0); /* whole blocks */
    assert_int_equal(rate.bytes, SIZE);
    assert_true(rate.ns > 0);
    assert_int_equal(fstat(load.fd, &st), 0);
    assert_int_equal(st.st_size, SIZE);
    assert_int_equal(disk_load_read(&load, &rate, &err), 0);
    assert_int_equal(rate.bytes, SIZE);
    assert_true(rate.ns > 0 && rate.cached <= SIZE);
    disk_load_close(&load);
    assert_int_equal(load.fd, -1);
    assert_int_equal(entries(scratch->fd), 0);
}

static void what_is_written_is_read_and_nothing_stays(void **state)
{
    write_and_read(*state, false);
    write_and_read(*state, true);
}

static bool stop_at(void *context, uint64_t bytes)
{
    uint64_t *most = context;
    return bytes < *most;
}

static void it_ends_when_it_is_told_to(void **state)
{
    struct scratch *scratch = *state;
    struct disk_load load;
    struct disk_rate rate;
    struct error err = {0};
    uint64_t most = 2 * BLOCK_SIZE;
    assert_int_equal(disk_load_open(&load, scratch->fd, false, &err), 0);
    load.progress = stop_at;
    load.context = &most;
    assert_int_equal(disk_load_write(&load, SIZE, &rate, &err), -1);
    assert_int_equal(err.code, ERROR_INTERRUPTED);
    load.progress = NULL;
    assert_int_equal(disk_load_write(&load, SIZE, &rate, &err), 0);
    load.progress = stop_at;
    memset(&err, 0, sizeof err);
    assert_int_equal(disk_load_read(&load, &rate, &err), -1);
    assert_int_equal(err.code, ERROR_INTERRUPTED);
    disk_load_close(&load);
}

static void more_than_half_of_what_is_free_is_refused_before_anything_is_written(void **state)
{
    struct scratch *scratch = *state;
    struct disk_load load;
    struct disk_rate rate;
    struct error err = {0};
    struct stat st;
    assert_int_equal(disk_load_open(&load, scratch->fd, false, &err), 0);
    assert_int_equal(disk_load_write(&load, UINT64_C(1) << 60, &rate, &err), -1);
    assert_int_equal(err.code, ERROR_NO_SPACE);
    assert_non_null(strstr(err.text, "--size"));
    assert_int_equal(fstat(load.fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    disk_load_close(&load);
}

static void a_folder_that_cannot_hold_a_file_is_an_error(void **state)
{
    (void)state;
    struct disk_load load;
    struct error err = {0};
    int folder = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    assert_int_equal(disk_load_open(&load, folder, false, &err), -1);
    assert_int_equal(err.code, ERROR_FILE);
    assert_int_equal(load.fd, -1);
    (void)close(folder);
}

/* A file that is shorter than asked for gives what it has; a descriptor that is for writing cannot be read.
 */
static void short_and_unreadable_files(void **state)
{
    struct scratch *scratch = *state;
    struct disk_load load = {.fd = -1};
    struct disk_rate rate = {0};
    struct error err = {0};
    int fd = openat(scratch->fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "12345", 5), 5);
    assert_int_equal(disk_load_read_file(&load, fd, 100, &rate, &err), 0);
    assert_int_equal(rate.bytes, 5);
    (void)close(fd);
    fd = openat(scratch->fd, "f", O_WRONLY | O_CLOEXEC);
    assert_int_equal(disk_load_read_file(&load, fd, 5, &rate, &err), -1);
    assert_int_equal(err.code, ERROR_FILE);
    assert_int_equal(err.sys, EBADF);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(what_is_written_is_read_and_nothing_stays),
        scratch_test(it_ends_when_it_is_told_to),
        scratch_test(more_than_half_of_what_is_free_is_refused_before_anything_is_written),
        cmocka_unit_test(a_folder_that_cannot_hold_a_file_is_an_error),
        scratch_test(short_and_unreadable_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
