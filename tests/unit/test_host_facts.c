/* What /proc says, from planted files: a machine in good health, an old one, and none at all. */
#include "support.h"

#include "common/host_facts.h"
#include "common/path.h"
#include "proto/version.h"

/* Plants a file of /proc below the scratch folder. */
static void plant(const struct scratch *scratch, const char *path, const char *text)
{
    assert_int_equal(path_make_parents(scratch->fd, path), 0);
    write_file(scratch->fd, path, text, strlen(text));
}

static void expect_number(const struct fact_list *facts, const char *name, uint64_t wanted)
{
    uint64_t number;
    if (!facts_number(facts, name, &number))
        fail_msg("no fact '%s'", name);
    if (number != wanted)
        fail_msg("%s is %llu, not %llu", name, (unsigned long long)number, (unsigned long long)wanted);
}

static const char stat_before[] = "cpu  30 0 0 270 0 0 0 0 0 0\n"
                                  "cpu0 10 0 0 90 0 0 0 0 0 0\n"
                                  "cpu1 20 0 0 80 100 0 0 0 0 0\n"
                                  "intr 5 6 7\nctxt 9\n";
static const char stat_after[] = "cpu  40 0 0 270 0 0 0 0 0 0\n"
                                 "cpu0 20 0 0 90 0 0 0 0 0 0\n"    /* 10 of 10 busy */
                                 "cpu1 21 1 1 86 111 1 1 1 0 0\n"; /* 6 of 23 */

static void processors_are_read_one_by_one(void **state)
{
    (void)state;
    struct cpu_times cpus[4];
    assert_int_equal(host_parse_stat(stat_after, cpus, 4), 2);
    assert_int_equal(cpus[0].busy, 20);
    assert_int_equal(cpus[0].all, 110);
    assert_int_equal(cpus[1].busy, 26);
    assert_int_equal(cpus[1].all, 223); /* waiting for a disk counts as time, not as work */
    assert_int_equal(host_parse_stat(stat_after, cpus, 1), 1);
    assert_int_equal(host_parse_stat("cpu0 1 2 3 4 5\n", cpus, 4), 1); /* an old kernel */
    assert_int_equal(cpus[0].busy, 6);
    assert_int_equal(host_parse_stat("cpu0 1 2\n", cpus, 4), 0);
    assert_int_equal(host_parse_stat("", cpus, 4), 0);
    assert_int_equal(host_parse_stat("cpufreq 1 2 3 4 5 6 7 8\n", cpus, 4), 0);
}

static void the_busiest_processor_is_told_beside_all(void **state)
{
    (void)state;
    struct host_sample before = {0}, after = {0};
    unsigned all = 7, core = 7;
    before.cpu_count = host_parse_stat(stat_before, before.cpus, HOST_CPUS_MAX);
    after.cpu_count = host_parse_stat(stat_after, after.cpus, HOST_CPUS_MAX);
    assert_true(host_cpu_busy(&before, &after, &all, &core));
    assert_int_equal(core, 100);
    assert_int_equal(all, (10 + 6) * 100 / (10 + 23));
    assert_false(host_cpu_busy(&after, &after, &all, &core));  /* no time has passed */
    assert_false(host_cpu_busy(&after, &before, &all, &core)); /* nor does it go back */
}

static void a_load_has_two_digits_behind_its_point(void **state)
{
    (void)state;
    uint64_t load;
    assert_true(host_parse_load("0.52 0.40 0.30 1/100 4242\n", &load));
    assert_int_equal(load, 52);
    assert_true(host_parse_load("12.05 9 9", &load));
    assert_int_equal(load, 1205);
    assert_false(host_parse_load("high", &load));
    assert_false(host_parse_load("", &load));
}

static void plant_machine(const struct scratch *scratch)
{
    plant(scratch, "proc/stat", stat_before);
    plant(scratch, "proc/uptime", "3542400.17 9999.00\n");
    plant(scratch, "proc/loadavg", "1.50 1.00 0.50 2/300 999\n");
    plant(
        scratch, "proc/meminfo",
        "MemTotal:  8000 kB\nMemFree:  1 kB\nMemAvailable:  2000 kB\nSwapTotal:  100 kB\nSwapFree:  40 kB\n");
    plant(scratch, "proc/vmstat", "nr_free_pages 1\npswpin 100\npswpout 50\n");
    plant(scratch, "proc/sys/net/core/rmem_max", "212992\n");
    plant(scratch, "proc/sys/net/core/wmem_max", "212993\n");
    plant(scratch, "proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
    plant(scratch, "proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n");
    plant(scratch, "proc/sys/net/ipv4/tcp_congestion_control", "cubic\n");
    plant(scratch, "proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n");
}

static void a_planted_machine_is_told_whole(void **state)
{
    const struct scratch *scratch = *state;
    struct host_sample before, after;
    struct fact_list facts = {0};
    plant_machine(scratch);
    host_sample(&before, scratch->path);
    plant(scratch, "proc/stat", stat_after);
    plant(scratch, "proc/vmstat", "pswpin 150\npswpout 100\n");
    host_sample(&after, scratch->path);
    after.ns = before.ns + 500000000;
    host_facts(&facts, scratch->path, &before, &after);
    expect_number(&facts, "uptime_s", 3542400);
    expect_number(&facts, "time_ns", before.wall_ns);
    expect_number(&facts, "cpus", 2);
    expect_number(&facts, "load_percent", 150);
    expect_number(&facts, "cpu_core_busy_percent", 100);
    expect_number(&facts, "memory_bytes", 8000 * 1024);
    expect_number(&facts, "memory_available_bytes", 2000 * 1024);
    expect_number(&facts, "swap_bytes", 100 * 1024);
    expect_number(&facts, "swap_used_bytes", 60 * 1024);
    expect_number(&facts, "swap_pages_per_s", 200);
    expect_number(&facts, "rmem_max_bytes", 212992);
    expect_number(&facts, "wmem_max_bytes", 212993);
    expect_number(&facts, "tcp_rmem_max_bytes", 6291456);
    expect_number(&facts, "tcp_wmem_max_bytes", 4194304);
    assert_string_equal(facts_text(&facts, "congestion_default"), "cubic");
    assert_string_equal(facts_text(&facts, "congestion_available"), "reno cubic");
    assert_string_equal(facts_text(&facts, "version"), MSTORE_VERSION);
    assert_non_null(facts_text(&facts, "rcvbuf_granted_bytes"));
    facts_release(&facts);
}

static void what_cannot_be_read_is_left_out(void **state)
{
    const struct scratch *scratch = *state;
    static const char *const absent[] = {"uptime_s",         "cpus",           "load_percent",
                                         "cpu_busy_percent", "memory_bytes",   "swap_bytes",
                                         "swap_pages_per_s", "rmem_max_bytes", "congestion_default"};
    struct host_sample sample;
    struct fact_list facts = {0};
    host_sample(&sample, scratch->path);
    host_facts(&facts, scratch->path, &sample, &sample);
    for (size_t i = 0; i < COUNT_OF(absent); i++)
        if (facts_text(&facts, absent[i]))
            fail_msg("'%s' was told", absent[i]);
    assert_non_null(facts_text(&facts, "version"));
    facts_release(&facts);
}

static void this_machine_tells_about_itself(void **state)
{
    (void)state;
    struct host_sample sample;
    struct fact_list facts = {0};
    uint64_t total, available, cpus;
    host_sample(&sample, "");
    host_facts(&facts, "", &sample, &sample);
    assert_true(facts_number(&facts, "memory_bytes", &total));
    assert_true(facts_number(&facts, "memory_available_bytes", &available));
    assert_true(available > 0 && available <= total);
    assert_true(facts_number(&facts, "cpus", &cpus));
    assert_true(cpus >= (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) || cpus == HOST_CPUS_MAX);
    facts_release(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_are_read_one_by_one),
        cmocka_unit_test(the_busiest_processor_is_told_beside_all),
        cmocka_unit_test(a_load_has_two_digits_behind_its_point),
        scratch_test(a_planted_machine_is_told_whole),
        scratch_test(what_cannot_be_read_is_left_out),
        cmocka_unit_test(this_machine_tells_about_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
