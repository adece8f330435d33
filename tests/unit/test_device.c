/* From a file system to its device and the whole disk, planted under the folder of the test. */
#include "support.h"

#include "common/device.h"

#include <sys/sysmacros.h>

static void plant(const struct scratch *scratch, const char *path, const char *text)
{
    assert_int_equal(path_make_parents(scratch->fd, path), 0);
    write_file(scratch->fd, path, text, strlen(text));
}

/* As the mount of a btrfs says it: mountinfo gives a number of no device, and this source. */
static void expect_source(const struct scratch *scratch, const char *source, const char *number,
                          const char *disk)
{
    struct device device;
    bool found = device_of_source(&device, scratch->path, source);
    if (found != (number != NULL))
        fail_msg("%s: %d", source, found);
    if (!found)
        return;
    assert_string_equal(device.number, number);
    assert_string_equal(device.disk, disk);
}

static void a_source_names_its_device(void **state)
{
    const struct scratch *scratch = *state;
    plant(scratch, "sys/class/block/sdb/dev", "8:16\n");
    plant(scratch, "sys/class/block/sda1/dev", "8:1\n");
    plant(scratch, "sys/dev/block/8:1/partition", "1\n");
    plant(scratch, "sys/dev/block/8:16/size", "1\n");
    expect_source(scratch, "/dev/sdb", "8:16", "/sys/dev/block/8:16");
    expect_source(scratch, "/dev/sda1", "8:1", "/sys/dev/block/8:1/..");
    expect_source(scratch, "/dev/sdc", NULL, NULL);
    expect_source(scratch, "/dev/", NULL, NULL);
    expect_source(scratch, "/dev/root", NULL, NULL);
}

static void the_device_mapper_has_names_of_its_own(void **state)
{
    const struct scratch *scratch = *state;
    expect_source(scratch, "/dev/mapper/vg1-volume_1", NULL, NULL);
    plant(scratch, "sys/class/block/dm-0/dm/name", "vg1-volume_10\n");
    plant(scratch, "sys/class/block/dm-0/dev", "253:0\n");
    plant(scratch, "sys/class/block/dm-1/dm/name", "vg1-volume_1\n");
    plant(scratch, "sys/class/block/dm-1/dev", "253:1\n");
    plant(scratch, "sys/class/block/dm-2/dev", "253:2\n");
    expect_source(scratch, "/dev/mapper/vg1-volume_1", "253:1", "/sys/dev/block/253:1");
    expect_source(scratch, "/dev/mapper/vg1-volume_10", "253:0", "/sys/dev/block/253:0");
    expect_source(scratch, "/dev/dm-1", "253:1", "/sys/dev/block/253:1");
    expect_source(scratch, "/dev/mapper/vg1-volume", NULL, NULL);
    expect_source(scratch, "/dev/mapper/", NULL, NULL);
}

static void what_is_on_no_disk_has_no_device(void **state)
{
    const struct scratch *scratch = *state;
    struct device device;
    plant(scratch, "sys/class/block/tank/dev", "8:16\n");
    expect_source(scratch, "nas:/models", NULL, NULL);
    expect_source(scratch, "tank", NULL, NULL);
    expect_source(scratch, "tank/models", NULL, NULL);
    expect_source(scratch, "overlay", NULL, NULL);
    expect_source(scratch, "", NULL, NULL);
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    assert_false(device_of_fd(&device, "", fd));
    assert_false(device_of_fd(&device, scratch->path, fd));
    (void)close(fd);
    assert_false(device_of_fd(&device, "", -1));
}

static void an_open_file_has_the_number_of_its_file_system(void **state)
{
    const struct scratch *scratch = *state;
    struct device device;
    struct stat st;
    char number[DEVICE_NUMBER_MAX], path[64];
    assert_int_equal(fstat(scratch->fd, &st), 0);
    if (major(st.st_dev) == 0)
        skip(); /* in memory, or of a number of its own */
    (void)snprintf(number, sizeof number, "%u:%u", major(st.st_dev), minor(st.st_dev));
    (void)snprintf(path, sizeof path, "sys/dev/block/%s/partition", number);
    assert_true(device_of_fd(&device, scratch->path, scratch->fd));
    assert_string_equal(device.number, number);
    assert_null(strstr(device.disk, ".."));
    plant(scratch, path, "3\n");
    assert_true(device_of_fd(&device, scratch->path, scratch->fd));
    assert_string_equal(device.number, number);
    assert_non_null(strstr(device.disk, "/.."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(a_source_names_its_device),
        scratch_test(the_device_mapper_has_names_of_its_own),
        scratch_test(what_is_on_no_disk_has_no_device),
        scratch_test(an_open_file_has_the_number_of_its_file_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
