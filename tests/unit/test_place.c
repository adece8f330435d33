/* What is known of a place is true for the places that every machine has: /proc, and the way to itself. */
#include "support.h"

#include "client/place.h"
#include "client/sysfile.h"

static void a_place_without_a_device_has_a_mount_alone(void **state)
{
    (void)state;
    struct place place;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    place_find(&place, fd);
    assert_true(place.has_mount);
    assert_int_equal(place.stack.count, 0);
    assert_false(place.has_connections || place.has_nic);
    struct json *object = json_object();
    place_add_json(object, &place);
    assert_string_equal(json_as_text(json_get(json_get(object, "mount"), "type")), "proc");
    assert_string_equal(json_as_text(json_get(json_get(object, "mount"), "point")), "/proc");
    assert_null(json_get(object, "device"));
    assert_null(json_get(object, "nic"));
    json_free(object);
    place_release(&place);
    close(fd);
}

static void a_place_is_told_in_one_line(void **state)
{
    (void)state;
    char text[PLACE_TEXT_MAX], point[600];
    struct place disk = {.has_mount = true,
                         .mount = {.point = (char *)"/srv", .type = (char *)"ext4"},
                         .stack = {.devices = {{.name = "sda1", .is_rotational = true}}, .count = 1},
                         .has_read_ahead = true,
                         .read_ahead_kb = 128};
    assert_string_equal(place_text(&disk, text),
                        "/srv: ext4 on sda1, which says that it rotates, read-ahead 128 KB");
    struct place nas = {.has_mount = true,
                        .mount = {.point = (char *)"/mnt", .type = (char *)"nfs4"},
                        .has_connections = true,
                        .connections = 4,
                        .has_nic = true,
                        .nic = {.name = "eth0", .is_speed_known = true, .speed_mbit = 10000}};
    assert_string_equal(place_text(&nas, text), "/mnt: nfs4, 4 TCP connections, eth0 10000 Mbit/s");
    memset(point, 'x', sizeof point - 1);
    point[sizeof point - 1] = '\0';
    nas.mount.point = point;
    assert_int_equal(strlen(place_text(&nas, text)), PLACE_TEXT_MAX - 1);
}

static void what_is_no_file_is_nowhere(void **state)
{
    (void)state;
    struct place place;
    place_find(&place, -1);
    assert_false(place.has_mount || place.has_read_ahead || place.has_connections || place.has_nic);
    place_release(&place);
}

static void the_way_to_this_machine_is_the_loopback(void **state)
{
    (void)state;
    struct nic nic;
    assert_true(nic_toward("127.0.0.1", &nic));
    assert_string_equal(nic.name, "lo");
    assert_false(nic.is_speed_known);
    assert_false(nic_toward("no address", &nic));
    assert_false(nic_toward("", &nic));
}

static void small_files_are_read_whole_and_numbers_checked(void **state)
{
    const struct scratch *scratch = *state;
    uint64_t number;
    char *long_text = malloc(20001);
    memset(long_text, 'x', 20000);
    long_text[20000] = '\0';
    write_file(scratch->fd, "long", long_text, 20000);
    write_file(scratch->fd, "number", "128\n", 4);
    write_file(scratch->fd, "negative", "-1\n", 3);
    write_file(scratch->fd, "empty", "", 0);
    char *text = sysfile_read("%s/long", scratch->path);
    assert_string_equal(text, long_text);
    free(text);
    text = sysfile_read("%s/empty", scratch->path);
    assert_string_equal(text, "");
    free(text);
    free(long_text);
    assert_null(sysfile_read("%s/none", scratch->path));
    assert_null(sysfile_read("%s", scratch->path)); /* a folder */
    assert_true(sysfile_number(&number, "%s/number", scratch->path));
    assert_int_equal(number, 128);
    assert_false(sysfile_number(&number, "%s/negative", scratch->path));
    assert_false(sysfile_number(&number, "%s/empty", scratch->path));
    assert_false(sysfile_number(&number, "%s/none", scratch->path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_without_a_device_has_a_mount_alone),
        cmocka_unit_test(a_place_is_told_in_one_line),
        cmocka_unit_test(what_is_no_file_is_nowhere),
        cmocka_unit_test(the_way_to_this_machine_is_the_loopback),
        scratch_test(small_files_are_read_whole_and_numbers_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
