/* What the kernel writes about mounts is read as it was meant: escapes, optional fields, mounts over mounts;
 * connections are those that were made. */
#include "support.h"

#include "common/mount.h"

static const char mountinfo[] =
    "21 26 0:20 / /proc rw,relatime - proc proc rw\n"
    "26 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda1 rw,errors=remount-ro\n"
    "30 26 0:51 / /mnt/my\\040models rw,noatime shared:9 - nfs4 nas:/models\\0401 "
    "rw,vers=4.2,rsize=1048576,nconnect=4,addr=10.0.0.2\n"
    "31 26 0:52 /sub /mnt/a\\134b ro - btrfs /dev/sdb rw,subvol=/a,b\n"
    "33 26 8:1\n"
    "34 26 x:y / /mnt rw - ext4 /dev/sda rw\n"
    "310 26 0:53 / /last rw - tmpfs tmpfs rw";

static void a_line_is_found_by_its_number(void **state)
{
    (void)state;
    struct mount mount;
    assert_true(mount_parse(mountinfo, 26, &mount));
    assert_int_equal(mount.major, 254);
    assert_int_equal(mount.minor, 0);
    assert_string_equal(mount.point, "/");
    assert_string_equal(mount.type, "ext4");
    assert_string_equal(mount.source, "/dev/vda1");
    assert_string_equal(mount.options, "rw,relatime");
    assert_string_equal(mount.super_options, "rw,errors=remount-ro");
    mount_release(&mount);
    assert_true(mount_parse(mountinfo, 310, &mount));
    assert_string_equal(mount.super_options, "rw");
    mount_release(&mount);
}

static void escapes_are_undone(void **state)
{
    (void)state;
    struct mount mount;
    assert_true(mount_parse(mountinfo, 30, &mount));
    assert_string_equal(mount.point, "/mnt/my models");
    assert_string_equal(mount.source, "nas:/models 1");
    mount_release(&mount);
    assert_true(mount_parse(mountinfo, 31, &mount));
    assert_string_equal(mount.point, "/mnt/a\\b");
    mount_release(&mount);
}

static void what_is_not_there_or_cut_off_is_not_found(void **state)
{
    (void)state;
    static const unsigned absent[] = {0, 2, 3, 27, 33, 34, 3100};
    struct mount mount;
    for (size_t i = 0; i < COUNT_OF(absent); i++)
        assert_false(mount_parse(mountinfo, absent[i], &mount));
    assert_false(mount_parse("", 1, &mount));
}

static void the_number_of_an_open_file_is_in_its_fdinfo(void **state)
{
    (void)state;
    unsigned id;
    assert_true(mount_parse_id("pos:\t0\nflags:\t0100000\nmnt_id:\t26\nino:\t7\n", &id));
    assert_int_equal(id, 26);
    assert_false(mount_parse_id("pos:\t0\n", &id));
    assert_false(mount_parse_id("mnt_id:\tx\n", &id));
}

static void an_open_file_has_a_mount(void **state)
{
    (void)state;
    struct mount mount;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    assert_true(mount_of_fd(fd, &mount));
    assert_string_equal(mount.point, "/proc");
    assert_string_equal(mount.type, "proc");
    mount_release(&mount);
    close(fd);
    assert_false(mount_of_fd(-1, &mount));
}

static const char mountstats[] =
    "device proc mounted on /proc with fstype proc\n"
    "device nas:/other mounted on /mnt with fstype nfs4 statvers=1.1\n"
    "\txprt:\ttcp 700 1 1 0 0 9 9 0 9 0 2 0 0\n"
    "device nas:/models mounted on /mnt/my\\040models with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,nconnect=4\n"
    "\txprt:\ttcp 875 1 2 0 0 100 100 0 100 0 2 0 0\n"
    "\txprt:\ttcp 926 1 1 0 3 90 90 0 90 0 2 0 0\n"
    "\txprt:\ttcp 926 1 1 0 3 90 90 0 90 0 2 0 0\n"
    "\txprt:\ttcp 0 0 0 0 0 0 0 0 0 0 2 0 0\n"
    "\txprt:\trdma 0 0 1 0 0 0 0 0 0 0 2 0 0\n"
    "\tper-op statistics\n"
    "\t        READ: 1 1 0 0 0 0 0 0 0\n"
    "device nas:/third mounted on /third with fstype nfs statvers=1.1\n"
    "\txprt:\ttcp 0 1 1 0 0 9 9 0 9 0 2 0 0\n"
    "\txprt:\ttcp 0 1 1 0 0 9 9 0 9 0 2 0 0\n";

static void connections_are_counted_once_and_only_if_made(void **state)
{
    (void)state;
    assert_int_equal(mount_parse_connections(mountstats, "/mnt/my models"), 2);
    assert_int_equal(mount_parse_connections(mountstats, "/mnt"), 1);
    assert_int_equal(mount_parse_connections(mountstats, "/third"), 2); /* ports that are not told */
    assert_int_equal(mount_parse_connections(mountstats, "/proc"), 0);
    assert_int_equal(mount_parse_connections(mountstats, "/nowhere"), 0);
    assert_int_equal(mount_parse_connections("", "/"), 0);
}

static void an_option_has_a_value(void **state)
{
    (void)state;
    static const char options[] = "rw,vers=4.2,myaddr=1,addr=10.0.0.2,clientaddr=10.0.0.9";
    char value[16];
    assert_true(mount_option(options, "addr", value, sizeof value));
    assert_string_equal(value, "10.0.0.2");
    assert_true(mount_option(options, "clientaddr", value, sizeof value));
    assert_string_equal(value, "10.0.0.9");
    assert_false(mount_option(options, "rw", value, sizeof value));
    assert_false(mount_option(options, "add", value, sizeof value));
    assert_false(mount_option("addr=0123456789abcdef", "addr", value, sizeof value)); /* does not fit */
    assert_true(mount_option("addr=", "addr", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(mount_option("", "addr", value, sizeof value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found_by_its_number),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(what_is_not_there_or_cut_off_is_not_found),
        cmocka_unit_test(the_number_of_an_open_file_is_in_its_fdinfo),
        cmocka_unit_test(an_open_file_has_a_mount),
        cmocka_unit_test(connections_are_counted_once_and_only_if_made),
        cmocka_unit_test(an_option_has_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
