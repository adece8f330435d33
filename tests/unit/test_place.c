/* What is known of a place is true for the places that every machine has: /proc, and the way to itself. */
#include "support.h"

#include "client/place.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_without_a_device_has_a_mount_alone),
        cmocka_unit_test(a_place_is_told_in_one_line),
        cmocka_unit_test(what_is_no_file_is_nowhere),
        cmocka_unit_test(the_way_to_this_machine_is_the_loopback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
