/* The read-ahead of a file system is found under the name that the kernel has given it. */
#include "support.h"

#include "common/bdi.h"

#include <sys/sysmacros.h>

struct planted {
    const struct scratch *scratch;
    char device[32]; /* that the scratch folder itself lies on */
    bool has_device; /* it does not lie in memory */
};

static void begin(struct planted *p, void **state)
{
    struct stat st;
    p->scratch = *state;
    assert_int_equal(fstat(p->scratch->fd, &st), 0);
    (void)snprintf(p->device, sizeof p->device, "%u:%u", major(st.st_dev), minor(st.st_dev));
    p->has_device = major(st.st_dev) != 0;
}

static void plant(const struct planted *p, const char *folder, const char *name, const char *file,
                  const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    assert_int_equal(path_make_parents(p->scratch->fd, path), 0);
    write_file(p->scratch->fd, path, text, strlen(text));
}

static void expect_name(const struct planted *p, const char *type, const char *wanted)
{
    char name[BDI_NAME_MAX];
    bool found = bdi_find(p->scratch->path, p->scratch->fd, type, name);
    assert_int_equal(found, wanted != NULL);
    if (wanted)
        assert_string_equal(name, wanted);
}

static void a_device_is_found_by_its_number(void **state)
{
    struct planted p;
    uint64_t kb;
    begin(&p, state);
    expect_name(&p, "ext4", NULL);
    plant(&p, "sys/class/bdi", p.device, "read_ahead_kb", "128\n");
    expect_name(&p, "ext4", p.device);
    expect_name(&p, NULL, p.device);
    assert_true(bdi_read_ahead(p.scratch->path, p.device, &kb));
    assert_int_equal(kb, 128);
    assert_false(bdi_read_ahead(p.scratch->path, "9:9", &kb));
}

static void a_partition_is_found_by_its_disk(void **state)
{
    struct planted p;
    begin(&p, state);
    if (!p.has_device)
        skip();
    plant(&p, "sys/dev/block", p.device, "partition", "1\n");
    plant(&p, "sys/dev", "block", "dev", "8:0\n"); /* the folder above that of the device */
    expect_name(&p, "ext4", "8:0");
}

static void what_has_another_name_is_found_where_there_is_only_one(void **state)
{
    struct planted p;
    begin(&p, state);
    plant(&p, "sys/class/bdi", "cifs-1", "read_ahead_kb", "4096\n");
    expect_name(&p, "cifs", "cifs-1");
    expect_name(&p, "nfs4", NULL);
    expect_name(&p, NULL, NULL);
    plant(&p, "sys/class/bdi", "cifs-2", "read_ahead_kb", "4096\n");
    expect_name(&p, "cifs", NULL);
}

static void what_is_no_file_has_none(void **state)
{
    (void)state;
    char name[BDI_NAME_MAX];
    assert_false(bdi_find("", -1, "ext4", name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(a_device_is_found_by_its_number),
        scratch_test(a_partition_is_found_by_its_disk),
        scratch_test(what_has_another_name_is_found_where_there_is_only_one),
        cmocka_unit_test(what_is_no_file_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
