/* The rules of doctor over planted machines: a pair in good health, and each sickness by itself. */
#include "doctor_pair.h"

static void a_healthy_pair_has_no_findings(void **state)
{
    (void)state;
    struct pair pair;
    make_pair(&pair);
    doctor_judge(&pair.view, &pair.report);
    if (pair.report.count > 0)
        fail_msg("found %s: %s", pair.report.findings[0].id, pair.report.findings[0].value);
    release_pair(&pair);
}

static void what_is_not_known_is_no_finding(void **state)
{
    (void)state;
    struct fact_list none = {0};
    struct doctor_view view = {.host = "nas", .client = &none, .server = &none};
    struct doctor_report report;
    doctor_judge(&view, &report);
    assert_int_equal(report.count, 0);
    for (size_t i = 0; i < doctor_rule_count(); i++) {
        struct doctor_reach reach = doctor_rule_reach(&view, i);
        assert_non_null(reach.what);
        /* that full-sized packets pass was tried in any case */
        assert_int_equal(reach.client || reach.server,
                         strcmp(reach.what, "whether full-sized packets pass") == 0);
    }
}

static void everything_was_looked_at_where_everything_is_known(void **state)
{
    (void)state;
    struct pair pair;
    make_pair(&pair);
    set(&pair.client, "disk_raid_action", "idle");
    set(&pair.server, "disk_raid_action", "idle");
    for (size_t i = 0; i < doctor_rule_count(); i++) {
        struct doctor_reach reach = doctor_rule_reach(&pair.view, i);
        if (!reach.client || !reach.server)
            fail_msg("not looked at: %s", reach.what);
    }
    release_pair(&pair);
}

/* -- one sickness each -- */

struct sickness {
    const char *facts[3][2]; /* that differ on the sick side */
    const char *id;
    enum doctor_severity severity;
    enum doctor_confidence confidence;
    const char *value, *command;
};

/* Each is planted on the server and then on the client. */
static const struct sickness sicknesses[] = {
    {{{"rmem_max_bytes", "212992"}, {"rcvbuf_granted_bytes", "131072"}},
     "rmem-max",
     DOCTOR_HIGH,
     DOCTOR_SURE,
     "212992",
     "sysctl -w net.core.rmem_max=67108864"},
    {{{"rmem_max_bytes", "212992"}, {"rcvbuf_granted_bytes", "131072"}, {"link_speed_mbit", "1000"}},
     "rmem-max",
     DOCTOR_MEDIUM,
     DOCTOR_SURE,
     "212992",
     "sysctl -w net.core.rmem_max=67108864"},
    /* forced beyond the limit: it does not bite */
    {{{"rmem_max_bytes", "212992"}},
     "rmem-max",
     DOCTOR_LOW,
     DOCTOR_SURE,
     "212992",
     "sysctl -w net.core.rmem_max=67108864"},
    /* nor where the kernel goes further by itself */
    {{{"rmem_max_bytes", "212992"}, {"rcvbuf_granted_bytes", "131072"}, {"tcp_rmem_max_bytes", "33554432"}},
     "rmem-max",
     DOCTOR_LOW,
     DOCTOR_SURE,
     "212992",
     "sysctl -w net.core.rmem_max=67108864"},
    {{{"wmem_max_bytes", "212992"}, {"sndbuf_granted_bytes", "16384"}, {"tcp_wmem_max_bytes", "1048576"}},
     "wmem-max",
     DOCTOR_MEDIUM,
     DOCTOR_SURE,
     "212992",
     "sysctl -w net.core.wmem_max=67108864"},
    {{{"wmem_max_bytes", "212992"}, {"sndbuf_granted_bytes", "16384"}},
     "wmem-max",
     DOCTOR_LOW,
     DOCTOR_SURE,
     "212992",
     "sysctl -w net.core.wmem_max=67108864"},
    {{{"link_duplex", "half"}},
     "nic-speed",
     DOCTOR_HIGH,
     DOCTOR_SURE,
     "half duplex",
     "ethtool -s eth0 autoneg on"},
    {{{"disk_read_ahead_kb", "128"}},
     "readahead",
     DOCTOR_LOW,
     DOCTOR_LIKELY,
     "128 KB",
     "echo 15360 > /sys/class/bdi/8:0/read_ahead_kb"},
    {{{"disk_read_ahead_kb", "128"}, {"disk_filesystem", "nfs4"}, {"disk_bdi", "0:53"}},
     "readahead",
     DOCTOR_HIGH,
     DOCTOR_LIKELY,
     "128 KB",
     "echo 15360 > /sys/class/bdi/0:53/read_ahead_kb"},
    {{{"disk_is_rotational", "1"}},
     "rotational",
     DOCTOR_LOW,
     DOCTOR_PERHAPS,
     "sda rotates",
     "mstore pull -n 2 NS/MODEL DST"},
    {{{"congestion_default", "bbr"}, {"link_congestion", "bbr"}},
     "congestion",
     DOCTOR_MEDIUM,
     DOCTOR_LIKELY,
     "bbr",
     "sysctl -w net.ipv4.tcp_congestion_control=cubic"},
    {{{"congestion_available", "reno"}, {"link_congestion", "reno"}},
     "congestion",
     DOCTOR_LOW,
     DOCTOR_LIKELY,
     "reno",
     "modprobe tcp_cubic"},
    {{{"memory_available_bytes", "700000000"}},
     "memory",
     DOCTOR_MEDIUM,
     DOCTOR_SURE,
     "700 MB of 8.00 GB available",
     "ps -eo rss,comm --sort=-rss | head"},
    {{{"swap_used_bytes", "1500000000"}},
     "memory",
     DOCTOR_LOW,
     DOCTOR_LIKELY,
     "1.50 GB of 2.00 GB swap used, 0 pages a second",
     "ps -eo rss,comm --sort=-rss | head"},
    {{{"swap_pages_per_s", "500"}},
     "memory",
     DOCTOR_HIGH,
     DOCTOR_LIKELY,
     "100 MB of 2.00 GB swap used, 500 pages a second",
     "ps -eo rss,comm --sort=-rss | head"},
    {{{"cpu_busy_percent", "97"}, {"cpu_core_busy_percent", "100"}},
     "cpu",
     DOCTOR_HIGH,
     DOCTOR_LIKELY,
     "97 % busy, one core 100 %, load 0.50 on 4 processors",
     "top -b -n 1 | head -n 20"},
    {{{"load_percent", "605"}},
     "cpu",
     DOCTOR_MEDIUM,
     DOCTOR_LIKELY,
     "10 % busy, one core 30 %, load 6.05 on 4 processors",
     "top -b -n 1 | head -n 20"},
    {{{"cpu_core_busy_percent", "99"}},
     "cpu",
     DOCTOR_LOW,
     DOCTOR_PERHAPS,
     "10 % busy, one core 99 %, load 0.50 on 4 processors",
     "top -b -n 1 | head -n 20"},
    {{{"disk_busy_percent", "80"}, {"disk_read_bytes_per_s", "120000000"}, {"disk_write_bytes_per_s", "0"}},
     "disk-busy",
     DOCTOR_MEDIUM,
     DOCTOR_LIKELY,
     "busy 80 % of the time, 120 MB/s read and 0 B/s written",
     "pidstat -d 1 5"},
    {{{"disk_raid_action", "check"}, {"disk_device", "md0"}},
     "disk-busy",
     DOCTOR_MEDIUM,
     DOCTOR_SURE,
     "check",
     "echo idle > /sys/block/md0/md/sync_action"},
    /* what mends the array is not stopped */
    {{{"disk_raid_action", "recover"}},
     "disk-busy",
     DOCTOR_MEDIUM,
     DOCTOR_SURE,
     "recover",
     "cat /proc/mdstat"},
    {{{"disk_options", "rw,relatime,rw,sync"}},
     "mount-options",
     DOCTOR_HIGH,
     DOCTOR_SURE,
     "sync",
     "mount -o remount,async \"$(findmnt -n -f -o TARGET 8:1)\""},
    {{{"disk_options", "rw,rw"}},
     "mount-options",
     DOCTOR_LOW,
     DOCTOR_SURE,
     "strictatime",
     "mount -o remount,relatime \"$(findmnt -n -f -o TARGET 8:1)\""},
};

static void expect_finding(const struct doctor_finding *found, const struct sickness *wanted,
                           enum doctor_where where)
{
    if (!found)
        fail_msg("%s '%s' was not found", wanted->id, wanted->value);
    assert_string_equal(found->id, wanted->id);
    assert_int_equal(found->where, where);
    assert_int_equal(found->severity, wanted->severity);
    assert_int_equal(found->confidence, wanted->confidence);
    assert_string_equal(found->value, wanted->value);
    assert_string_equal(found->command, wanted->command);
    assert_true(strlen(found->advice) > 20);
}

/* Without the most that the card can, which has a test of its own. */
static void plant_sickness(struct fact_list *facts, const struct sickness *sickness)
{
    set(facts, "link_speed_max_mbit", NULL);
    for (size_t f = 0; f < COUNT_OF(sickness->facts) && sickness->facts[f][0]; f++)
        set(facts, sickness->facts[f][0], sickness->facts[f][1]);
}

static void each_sickness_is_found_where_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sicknesses); i++)
        for (int side = 0; side < 2; side++) {
            struct pair pair;
            make_pair(&pair);
            plant_sickness(side ? &pair.client : &pair.server, &sicknesses[i]);
            expect_finding(judge(&pair), &sicknesses[i], side ? DOCTOR_CLIENT : DOCTOR_SERVER);
            release_pair(&pair);
        }
}

/* -- places where a rule begins to find -- */

struct border {
    const char *name, *quiet, *loud, *also[2]; /* `also`: a fact that is planted besides */
};

static void a_rule_finds_from_its_border_on(void **state)
{
    (void)state;
    static const struct border borders[] = {
        {"rmem_max_bytes", "8388608", "8388607", {"rcvbuf_granted_bytes", "131072"}},
        {"rmem_max_bytes", "1048576", "1048575", {NULL}},
        {"disk_read_ahead_kb", "1024", "1023", {NULL}},
        {"disk_busy_percent", "49", "50", {NULL}},
        {"cpu_busy_percent", "89", "90", {NULL}},
        {"cpu_core_busy_percent", "94", "95", {NULL}},
        {"load_percent", "596", "600", {NULL}},
        {"memory_available_bytes", "800000000", "799999999", {NULL}},
        {"swap_pages_per_s", "99", "100", {NULL}},
        {"swap_used_bytes", "999999999", "1000000000", {NULL}},
        {"disk_free_bytes", "100000000001", "100000000000", {NULL}},
        {"disk_free_bytes", "200000000001", "200000000000", {"disk_filesystem", "zfs"}},
        {"uptime_s", "604799", "604800", {NULL}},
        {"link_speed_mbit", "10000", "9999", {NULL}},
    };
    for (size_t i = 0; i < COUNT_OF(borders); i++)
        for (int loud = 0; loud < 2; loud++) {
            struct pair pair;
            make_pair(&pair);
            if (borders[i].also[0])
                set(&pair.server, borders[i].also[0], borders[i].also[1]);
            set(&pair.server, borders[i].name, loud ? borders[i].loud : borders[i].quiet);
            if ((judge(&pair) != NULL) != loud)
                fail_msg("%s %s", borders[i].name, loud ? borders[i].loud : borders[i].quiet);
            release_pair(&pair);
        }
}

static void space_is_counted_by_file_system(void **state)
{
    (void)state;
    static const struct {
        const char *type, *left; /* of 10^12 */
        int severity;            /* -1: none */
        const char *value;
    } cases[] = {
        {"ext4", "150000000000", -1, NULL},
        {"zfs", "150000000000", DOCTOR_MEDIUM, "85 % used, 150 GB free"},
        {"zfs", "90000000000", DOCTOR_HIGH, "91 % used, 90.0 GB free"},
        {"btrfs", "80000000000", DOCTOR_MEDIUM, "92 % used, 80.0 GB free"},
        {"ext4", "50000000000", DOCTOR_HIGH, "95 % used, 50.0 GB free"},
        {"tmpfs", "0", DOCTOR_HIGH, "100 % used, 0 B free"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair pair;
        make_pair(&pair);
        set(&pair.server, "disk_filesystem", cases[i].type);
        set(&pair.server, "disk_free_bytes", cases[i].left);
        const struct doctor_finding *found = judge(&pair);
        assert_int_equal(found ? (int)found->severity : -1, cases[i].severity);
        if (found) {
            assert_string_equal(found->id, "space");
            assert_string_equal(found->value, cases[i].value);
            assert_string_equal(found->command, "mstore rm NS/MODEL");
        }
        release_pair(&pair);
    }
}

static void atime_is_no_matter_in_memory_or_where_nothing_is_written(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"tmpfs", "rw,nosuid"}, {"ext4", "ro,ro"}, {"ext4", "rw,lazytime"}, {"ext4", "rw,noatime"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair pair;
        make_pair(&pair);
        set(&pair.client, "disk_filesystem", cases[i][0]);
        set(&pair.client, "disk_options", cases[i][1]);
        assert_null(judge(&pair));
        release_pair(&pair);
    }
}

static void only_the_server_is_up_for_long(void **state)
{
    (void)state;
    struct pair pair;
    make_pair(&pair);
    set(&pair.client, "uptime_s", "90000000");
    assert_null(judge(&pair));
    set(&pair.server, "uptime_s", "3542400");
    const struct doctor_finding *found = judge(&pair);
    assert_non_null(found);
    assert_string_equal(found->id, "uptime");
    assert_string_equal(found->value, "41 days");
    assert_int_equal(found->confidence, DOCTOR_PERHAPS);
    release_pair(&pair);
}

/* -- the whole -- */

static void findings_come_in_the_order_of_what_they_cost(void **state)
{
    (void)state;
    static const char *const order[] = {"mtu",      "mount-options", "rmem-max",  "mtu",
                                        "wmem-max", "uptime",        "rotational"};
    struct pair pair;
    make_pair(&pair);
    set(&pair.server, "uptime_s", "3542400");
    set(&pair.server, "disk_is_rotational", "1");
    set(&pair.server, "disk_options", "rw,noatime,sync");
    set(&pair.client, "rmem_max_bytes", "212992");
    set(&pair.client, "rcvbuf_granted_bytes", "131072");
    set(&pair.client, "wmem_max_bytes", "212992");
    set(&pair.client, "sndbuf_granted_bytes", "16384");
    set(&pair.client, "tcp_wmem_max_bytes", "1048576");
    set(&pair.client, "link_mtu_bytes", "9000");
    pair.view.large = DOCTOR_LARGE_LOST_UP;
    doctor_judge(&pair.view, &pair.report);
    assert_int_equal(pair.report.count, COUNT_OF(order));
    for (size_t i = 0; i < COUNT_OF(order); i++)
        assert_string_equal(pair.report.findings[i].id, order[i]);
    release_pair(&pair);
}

/* Nothing that a server says gets into a command that somebody may copy. */
static void a_strangers_words_make_no_command(void **state)
{
    (void)state;
    static const char *const words[] = {"8:0; rm -rf /", "$(reboot)", "../../etc", "a b",      "", "-n",
                                        "`x`",           "a/b",       "a\nb",      "\xc3\xa9", "'"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct pair pair;
        make_pair(&pair);
        set(&pair.server, "disk_bdi", words[i]);
        set(&pair.server, "disk_device", words[i]);
        set(&pair.server, "disk_number", words[i]);
        set(&pair.server, "link_interface", words[i]);
        set(&pair.server, "disk_read_ahead_kb", "128");
        set(&pair.server, "disk_options", "rw,sync");
        set(&pair.server, "disk_raid_action", "check");
        set(&pair.server, "link_duplex", "half");
        set(&pair.server, "link_mtu_bytes", "9000");
        doctor_judge(&pair.view, &pair.report);
        assert_true(pair.report.count >= 5);
        for (size_t f = 0; f < pair.report.count; f++)
            assert_string_equal(pair.report.findings[f].command, "");
        release_pair(&pair);
    }
}

/* Every fact of the server in turn is something else: no rule may trip over it. */
static void any_words_can_stand_in_a_fact(void **state)
{
    (void)state;
    static const char *const values[] = {"", "0", "1", "18446744073709551615", "-1", "half", "x", "%s%n"};
    char longest[512];
    memset(longest, 'z', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < COUNT_OF(healthy); i++)
        for (size_t v = 0; v <= COUNT_OF(values); v++) {
            struct pair pair;
            make_pair(&pair);
            set(&pair.server, "disk_raid_action", "idle");
            set(&pair.server, healthy[i][0], v < COUNT_OF(values) ? values[v] : longest);
            doctor_judge(&pair.view, &pair.report);
            assert_true(pair.report.count <= 4);
            for (size_t f = 0; f < pair.report.count; f++)
                assert_true(strlen(pair.report.findings[f].value) > 0);
            release_pair(&pair);
        }
}

static void places_severities_and_certainties_have_the_words_of_the_contract(void **state)
{
    (void)state;
    assert_string_equal(doctor_where_name(DOCTOR_CLIENT), "client");
    assert_string_equal(doctor_where_name(DOCTOR_SERVER), "server");
    assert_string_equal(doctor_where_name(DOCTOR_PATH), "path");
    assert_string_equal(doctor_where_name(DOCTOR_BOTH), "both");
    assert_string_equal(doctor_severity_name(DOCTOR_HIGH), "high");
    assert_string_equal(doctor_severity_name(DOCTOR_MEDIUM), "medium");
    assert_string_equal(doctor_severity_name(DOCTOR_LOW), "low");
    assert_string_equal(doctor_confidence_name(DOCTOR_SURE), "sure");
    assert_string_equal(doctor_confidence_name(DOCTOR_LIKELY), "likely");
    assert_string_equal(doctor_confidence_name(DOCTOR_PERHAPS), "perhaps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_pair_has_no_findings),
        cmocka_unit_test(what_is_not_known_is_no_finding),
        cmocka_unit_test(everything_was_looked_at_where_everything_is_known),
        cmocka_unit_test(each_sickness_is_found_where_it_is),
        cmocka_unit_test(a_rule_finds_from_its_border_on),
        cmocka_unit_test(space_is_counted_by_file_system),
        cmocka_unit_test(atime_is_no_matter_in_memory_or_where_nothing_is_written),
        cmocka_unit_test(only_the_server_is_up_for_long),
        cmocka_unit_test(findings_come_in_the_order_of_what_they_cost),
        cmocka_unit_test(a_strangers_words_make_no_command),
        cmocka_unit_test(any_words_can_stand_in_a_fact),
        cmocka_unit_test(places_severities_and_certainties_have_the_words_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
