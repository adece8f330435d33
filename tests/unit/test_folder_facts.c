/* File systems and disks: options that may be told, and a planted disk under the folder of the test. */
#include "support.h"

#include "common/folder_facts.h"

#include <sys/sysmacros.h>

static void options_that_name_a_path_are_not_told(void **state)
{
    (void)state;
    char text[LIMIT_TEXT + 1] = "";
    folder_add_options(text, "rw,relatime");
    folder_add_options(text, "rw,lowerdir=/a/b,xino=off,upperdir=/c");
    assert_string_equal(text, "rw,relatime,rw,xino=off");
    folder_add_options(text, "");
    assert_string_equal(text, "rw,relatime,rw,xino=off");
}

static void many_options_are_cut_between_two(void **state)
{
    (void)state;
    char text[LIMIT_TEXT + 1] = "", many[2048] = "option000";
    for (int i = 1; i < 100; i++) {
        size_t used = strlen(many);
        (void)snprintf(many + used, sizeof many - used, ",option%03d", i);
    }
    folder_add_options(text, many);
    assert_true(strlen(text) > LIMIT_TEXT - strlen(",option000"));
    assert_int_equal(strlen(strrchr(text, ',')), strlen(",option000"));
}

/* -- a planted disk -- */

struct planted {
    const struct scratch *scratch;
    char device[32]; /* of the scratch folder itself: the disk is planted under it */
};

static void plant(const struct planted *p, const char *path, const char *text)
{
    assert_int_equal(path_make_parents(p->scratch->fd, path), 0);
    write_file(p->scratch->fd, path, text, strlen(text));
}

/* The same in the folder of the device. */
static void plant_device(const struct planted *p, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "sys/dev/block/%s/%s", p->device, name);
    plant(p, path, text);
}

static bool begin(struct planted *p, void **state)
{
    struct stat st;
    p->scratch = *state;
    assert_int_equal(fstat(p->scratch->fd, &st), 0);
    (void)snprintf(p->device, sizeof p->device, "%u:%u", major(st.st_dev), minor(st.st_dev));
    return major(st.st_dev) != 0; /* else the test runs in memory: there is no device to plant under */
}

static void expect_text(const struct fact_list *facts, const char *name, const char *wanted)
{
    const char *text = facts_text(facts, name);
    if (!text)
        fail_msg("no fact '%s'", name);
    assert_string_equal(text, wanted);
}

static void a_planted_disk_is_told_whole(void **state)
{
    struct planted p;
    struct folder_sample before, after;
    struct fact_list facts = {0};
    if (!begin(&p, state))
        skip();
    plant_device(&p, "uevent", "MAJOR=9\nMINOR=0\nDEVNAME=md0\nDEVTYPE=disk\n");
    plant_device(&p, "queue/rotational", "1\n");
    plant_device(&p, "md/sync_action", "check\n");
    plant_device(&p, "stat", "  1 0 2000 5 1 0 4000 9 0 100 14\n");
    char bdi[64];
    (void)snprintf(bdi, sizeof bdi, "sys/class/bdi/%s/read_ahead_kb", p.device);
    plant(&p, bdi, "128\n");
    folder_sample(&before, p.scratch->path, p.scratch->fd);
    plant_device(&p, "stat", "  1 0 4000 5 1 0 4500 9 0 250 14\n");
    folder_sample(&after, p.scratch->path, p.scratch->fd);
    after.ns = before.ns + 200000000;
    folder_facts(&facts, p.scratch->path, p.scratch->fd, &before, &after);
    expect_text(&facts, "disk_number", p.device);
    expect_text(&facts, "disk_device", "md0");
    expect_text(&facts, "disk_bdi", p.device);
    expect_text(&facts, "disk_is_rotational", "1");
    expect_text(&facts, "disk_read_ahead_kb", "128");
    expect_text(&facts, "disk_raid_action", "check");
    expect_text(&facts, "disk_busy_percent", "75");
    expect_text(&facts, "disk_read_bytes_per_s", "5120000");
    expect_text(&facts, "disk_write_bytes_per_s", "1280000");
    facts_release(&facts);
}

/* What a partition lacks, its disk has. */
static void a_partition_leads_to_its_disk(void **state)
{
    struct planted p;
    struct folder_sample sample;
    struct fact_list facts = {0};
    if (!begin(&p, state))
        skip();
    plant_device(&p, "partition", "1\n");
    plant(&p, "sys/dev/block/dev", "8:0\n"); /* the folder above */
    plant(&p, "sys/dev/block/queue/rotational", "0\n");
    plant(&p, "sys/class/bdi/8:0/read_ahead_kb", "15360\n");
    folder_sample(&sample, p.scratch->path, p.scratch->fd);
    folder_facts(&facts, p.scratch->path, p.scratch->fd, &sample, &sample);
    expect_text(&facts, "disk_bdi", "8:0");
    expect_text(&facts, "disk_is_rotational", "0");
    expect_text(&facts, "disk_read_ahead_kb", "15360");
    assert_null(facts_text(&facts, "disk_busy_percent"));
    facts_release(&facts);
}

static void without_a_disk_the_rest_is_told(void **state)
{
    const struct scratch *scratch = *state;
    struct folder_sample sample;
    struct fact_list facts = {0};
    uint64_t total, left;
    folder_sample(&sample, scratch->path, scratch->fd);
    assert_false(sample.has_disk);
    folder_facts(&facts, scratch->path, scratch->fd, &sample, &sample);
    assert_true(facts_number(&facts, "disk_bytes", &total));
    assert_true(facts_number(&facts, "disk_free_bytes", &left));
    assert_true(left <= total);
    assert_null(facts_text(&facts, "disk_is_rotational"));
    facts_release(&facts);
    folder_facts(&facts, scratch->path, -1, &sample, &sample);
    assert_int_equal(facts.count, 0);
}

/* Counters that begin anew do not become an endless rate. */
static void counters_never_go_back(void **state)
{
    struct planted p;
    struct folder_sample before = {.ns = 0, .has_disk = true, .busy_ms = 900, .read_sectors = 9},
                         after = {.ns = 1000000000, .has_disk = true, .busy_ms = 1};
    struct fact_list facts = {0};
    (void)begin(&p, state);
    folder_facts(&facts, p.scratch->path, p.scratch->fd, &before, &after);
    expect_text(&facts, "disk_busy_percent", "0");
    expect_text(&facts, "disk_read_bytes_per_s", "0");
    facts_release(&facts);
}

static void the_mount_of_this_machine_is_found(void **state)
{
    const struct scratch *scratch = *state;
    struct folder_sample sample;
    struct fact_list facts = {0};
    folder_sample(&sample, "", scratch->fd);
    folder_facts(&facts, "", scratch->fd, &sample, &sample);
    const char *type = facts_text(&facts, "disk_filesystem"), *options = facts_text(&facts, "disk_options");
    assert_true(type && *type);
    assert_true(options && strncmp(options, "rw", 2) == 0); /* the scratch folder was made there */
    facts_release(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_name_a_path_are_not_told),
        cmocka_unit_test(many_options_are_cut_between_two),
        scratch_test(a_planted_disk_is_told_whole),
        scratch_test(a_partition_leads_to_its_disk),
        scratch_test(without_a_disk_the_rest_is_told),
        scratch_test(counters_never_go_back),
        scratch_test(the_mount_of_this_machine_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
