/* The rules of doctor about what lies between two machines: MTU, the link's rate, cards, clocks, versions. */
#include "doctor_pair.h"

static void an_mtu_that_differs_is_found_and_the_larger_one_comes_down(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        struct pair pair;
        make_pair(&pair);
        set(side ? &pair.client : &pair.server, "link_mtu_bytes", "9000");
        const struct doctor_finding *found = judge(&pair);
        assert_non_null(found);
        assert_string_equal(found->id, "mtu");
        assert_int_equal(found->where, DOCTOR_PATH);
        assert_int_equal(found->severity, DOCTOR_MEDIUM);
        assert_string_equal(found->value, side ? "client 9000, server 1500" : "client 1500, server 9000");
        assert_string_equal(found->command, side ? "ip link set dev eth0 mtu 1500"
                                                 : "ip link set dev eth0 mtu 1500  # on the server");
        release_pair(&pair);
    }
}

/* Two addresses of one machine are no link. */
static void an_mtu_of_the_loopback_does_not_count(void **state)
{
    (void)state;
    struct pair pair;
    make_pair(&pair);
    set(&pair.client, "link_mtu_bytes", "65536");
    set(&pair.client, "link_is_loopback", "1");
    assert_null(judge(&pair));
    release_pair(&pair);
}

static void a_path_that_carries_less_is_found(void **state)
{
    (void)state;
    struct pair pair;
    make_pair(&pair);
    set(&pair.server, "link_path_mtu_bytes", "1400");
    const struct doctor_finding *found = judge(&pair);
    assert_non_null(found);
    assert_string_equal(found->id, "mtu");
    assert_int_equal(found->severity, DOCTOR_LOW);
    assert_string_equal(found->value, "1400 of 1500 bytes");
    assert_string_equal(found->command, "tracepath -n nas");
    release_pair(&pair);
}

static void a_black_hole_is_found_with_its_direction(void **state)
{
    (void)state;
    static const struct {
        enum doctor_large large;
        const char *mtu, *value, *command;
    } cases[] = {
        {DOCTOR_LARGE_LOST_UP, "9000", "packets of 9000 bytes do not arrive at the server",
         "ip link set dev eth0 mtu 1500"},
        {DOCTOR_LARGE_LOST_DOWN, "9000", "packets of 9000 bytes do not arrive at the client",
         "ip link set dev eth0 mtu 1500"},
        {DOCTOR_LARGE_LOST_UP, "1500", "packets of 1500 bytes do not arrive at the server",
         "sysctl -w net.ipv4.tcp_mtu_probing=1"},
        {DOCTOR_LARGE_LOST_DOWN, "1500", "packets of 1500 bytes do not arrive at the client",
         "sysctl -w net.ipv4.tcp_mtu_probing=1  # on the server"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair pair;
        make_pair(&pair);
        pair.view.large = cases[i].large;
        set(&pair.client, "link_mtu_bytes", cases[i].mtu);
        set(&pair.server, "link_mtu_bytes", cases[i].mtu);
        set(&pair.client, "link_path_mtu_bytes", NULL);
        const struct doctor_finding *found = judge(&pair);
        assert_non_null(found);
        assert_string_equal(found->id, "mtu");
        assert_int_equal(found->where, DOCTOR_PATH);
        assert_int_equal(found->severity, DOCTOR_HIGH);
        assert_string_equal(found->value, cases[i].value);
        assert_string_equal(found->command, cases[i].command);
        release_pair(&pair);
    }
}

static void a_link_that_carries_less_than_its_cards_is_found(void **state)
{
    (void)state;
    static const struct {
        struct doctor_link link;
        const char *client, *server; /* Mbit/s */
        int severity;                /* -1: none */
        const char *value;
    } cases[] = {
        {{625000000, 1150000000}, "10000", "10000", -1},
        {{1150000000, 624000000},
         "10000",
         "10000",
         DOCTOR_MEDIUM,
         "1.15 GB/s up and 624 MB/s down of 1.25 GB/s"},
        {{118000000, 117000000}, "10000", "10000", DOCTOR_HIGH, "118 MB/s up and 117 MB/s down of 1.25 GB/s"},
        {{118000000, 117000000}, "10000", "1000", -1}, /* the slower card decides */
        {{118000000, 117000000}, NULL, "1000", -1},
        {{58000000, 0}, NULL, "1000", DOCTOR_MEDIUM, "58.0 MB/s up and unknown down of 125 MB/s"},
        {{0, 58000000}, "1000", NULL, DOCTOR_MEDIUM, "unknown up and 58.0 MB/s down of 125 MB/s"},
        {{58000000, 58000000}, NULL, NULL, -1},
        {{0, 0}, "10000", "10000", -1}, /* not measured */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair pair;
        make_pair(&pair);
        pair.view.link = cases[i].link;
        set(&pair.client, "link_speed_max_mbit", NULL);
        set(&pair.server, "link_speed_max_mbit", NULL);
        set(&pair.client, "link_speed_mbit", cases[i].client);
        set(&pair.server, "link_speed_mbit", cases[i].server);
        const struct doctor_finding *found = judge(&pair);
        assert_int_equal(found ? (int)found->severity : -1, cases[i].severity);
        if (found) {
            assert_string_equal(found->id, "nic-speed");
            assert_int_equal(found->where, DOCTOR_PATH);
            assert_string_equal(found->value, cases[i].value);
        }
        release_pair(&pair);
    }
}

static void a_card_below_what_it_can_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *now, *most, *value;
        enum doctor_severity severity;
    } cases[] = {{"1000", "10000", "1000 of 10000 Mbit/s", DOCTOR_MEDIUM},
                 {"100", "1000", "100 of 1000 Mbit/s", DOCTOR_HIGH}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair pair;
        make_pair(&pair);
        pair.view.link = (struct doctor_link){0};
        set(&pair.server, "link_speed_mbit", cases[i].now);
        set(&pair.server, "link_speed_max_mbit", cases[i].most);
        const struct doctor_finding *found = judge(&pair);
        assert_non_null(found);
        assert_string_equal(found->id, "nic-speed");
        assert_int_equal(found->where, DOCTOR_SERVER);
        assert_int_equal(found->severity, cases[i].severity);
        assert_string_equal(found->value, cases[i].value);
        assert_string_equal(found->command, "ethtool -r eth0");
        release_pair(&pair);
    }
}

static void clocks_are_compared_at_the_middle_of_the_question(void **state)
{
    (void)state;
    static const struct {
        const char *theirs;
        int severity; /* -1: none */
        const char *value;
    } cases[] = {
        {"1700000001900000000", -1, NULL},
        {"1700000002050000000", -1, NULL}, /* the answer took so long that this may be less than 2 s */
        {"1700000002200000000", DOCTOR_LOW, "the server is 2.2 s ahead"},
        {"1699999997000000000", DOCTOR_LOW, "the server is 3.0 s behind"},
        {"1700000400000000000", DOCTOR_MEDIUM, "the server is 400.0 s ahead"},
        {"0", DOCTOR_MEDIUM, "the server is 1700000000.0 s behind"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair pair;
        make_pair(&pair);
        set(&pair.server, "time_ns", cases[i].theirs);
        const struct doctor_finding *found = judge(&pair);
        assert_int_equal(found ? (int)found->severity : -1, cases[i].severity);
        if (found) {
            assert_string_equal(found->id, "clock");
            assert_int_equal(found->where, DOCTOR_BOTH);
            assert_string_equal(found->value, cases[i].value);
        }
        release_pair(&pair);
    }
}

static void the_older_version_is_the_one_to_renew(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        struct pair pair;
        make_pair(&pair);
        set(side ? &pair.client : &pair.server, "version", "0.10.0");
        const struct doctor_finding *found = judge(&pair);
        assert_non_null(found);
        assert_string_equal(found->id, "version");
        assert_int_equal(found->severity, DOCTOR_LOW);
        assert_non_null(
            strstr(found->command, side ? "mstored  # on the server" : "mstore  # on the client"));
        release_pair(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_mtu_that_differs_is_found_and_the_larger_one_comes_down),
        cmocka_unit_test(an_mtu_of_the_loopback_does_not_count),
        cmocka_unit_test(a_path_that_carries_less_is_found),
        cmocka_unit_test(a_black_hole_is_found_with_its_direction),
        cmocka_unit_test(a_link_that_carries_less_than_its_cards_is_found),
        cmocka_unit_test(a_card_below_what_it_can_is_found),
        cmocka_unit_test(clocks_are_compared_at_the_middle_of_the_question),
        cmocka_unit_test(the_older_version_is_the_one_to_renew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
