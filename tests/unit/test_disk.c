/* What is fetched is there afterwards; what is not, or where the disk does not rotate, is left alone. */
#include "support.h"

#include "common/disk.h"

#include <sys/mman.h>

#define SIZE ((size_t)5 << 20)

/* Pages of the file in the cache, from `offset` on. */
static size_t cached(int fd, size_t offset, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = length / page, found = 0;
    unsigned char *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0), *states = malloc(count);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map + offset, length, states), 0);
    for (size_t i = 0; i < count; i++)
        found += states[i] & 1;
    assert_int_equal(munmap(map, SIZE), 0);
    free(states);
    return found;
}

/* A file that is not cached; skips the test where there is none to be had. */
static int make_cold(const struct scratch *scratch)
{
    char *bytes = calloc(1, SIZE);
    write_file(scratch->fd, "cold", bytes, SIZE);
    free(bytes);
    int fd = openat(scratch->fd, "cold", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (cached(fd, 0, SIZE) > 0) {
        close(fd);
        skip(); /* a file system in memory */
    }
    return fd;
}

static void a_run_is_there_when_its_turn_is_over(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (size_t)1 << 20, length = (size_t)3 << 20;
    int fd = make_cold(*state);
    struct disk disk;
    disk_init(&disk, fd);
    disk.is_rotational = true;
    disk_fetch(&disk, fd, from, length);
    assert_int_equal(cached(fd, from, length), length / page);
    disk_fetch(&disk, fd, from, 0);
    disk_fetch(&disk, fd, SIZE + 1, 10); /* behind the end: for the reader to notice */
    disk_release(&disk);
    close(fd);
}

static void a_disk_that_does_not_rotate_is_left_alone(void **state)
{
    int fd = make_cold(*state);
    struct disk disk;
    disk_init(&disk, fd);
    disk.is_rotational = false;
    disk_fetch(&disk, fd, 0, SIZE);
    assert_int_equal(cached(fd, 0, SIZE), 0);
    disk_release(&disk);
    close(fd);
}

static void what_is_on_no_disk_does_not_rotate(void **state)
{
    (void)state;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    assert_false(disk_is_rotational(fd));
    close(fd);
    assert_false(disk_is_rotational(-1));
    assert_false(disk_is_memory(-1));
}

static void a_file_system_in_memory_is_known(void **state)
{
    (void)state;
    int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        proc = open("/proc", O_RDONLY | O_CLOEXEC);
    assert_true(shm < 0 || disk_is_memory(shm)); /* where there is none, there is nothing to see */
    assert_false(disk_is_memory(proc));
    close(shm);
    close(proc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(a_run_is_there_when_its_turn_is_over),
        scratch_test(a_disk_that_does_not_rotate_is_left_alone),
        cmocka_unit_test(what_is_on_no_disk_does_not_rotate),
        cmocka_unit_test(a_file_system_in_memory_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
