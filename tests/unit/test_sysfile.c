/* The kernel's small text files: lines and numbers found, and nothing else taken for a number. */
#include "support.h"

#include "common/sysfile.h"

static void files_are_read_by_a_path_in_parts(void **state)
{
    struct scratch *scratch = *state;
    char line[16], *text;
    uint64_t number;
    write_file(scratch->fd, "limit", "212992\nmore\n", 12);
    assert_true(sysfile_number(&number, "%s/%s", scratch->path, "limit"));
    assert_int_equal(number, 212992);
    assert_true(sysfile_line(line, sizeof line, "%s/limit", scratch->path));
    assert_string_equal(line, "212992");
    assert_true(sysfile_line(line, 4, "%s/limit", scratch->path)); /* cut */
    assert_string_equal(line, "212");
    text = sysfile_read("%s/limit", scratch->path);
    assert_string_equal(text, "212992\nmore\n");
    free(text);
}

static void what_is_not_there_is_not_known(void **state)
{
    struct scratch *scratch = *state;
    char line[16] = "before";
    uint64_t number;
    assert_false(sysfile_line(line, sizeof line, "%s/nothing", scratch->path));
    assert_string_equal(line, "");
    assert_false(sysfile_line(line, sizeof line, "%s", scratch->path)); /* a folder */
    assert_false(sysfile_number(&number, "%s/nothing", scratch->path));
    assert_null(sysfile_read("%s/nothing", scratch->path));
}

static void a_file_without_a_number_has_none(void **state)
{
    struct scratch *scratch = *state;
    static const char *const texts[] = {"",
                                        "\n",
                                        "x",
                                        "-1",
                                        "1x",
                                        "1 2",
                                        "max",
                                        "18446744073709551616",
                                        "1111111111111111111111111111111111111111111111"};
    uint64_t number;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        write_file(scratch->fd, "f", texts[i], strlen(texts[i]));
        if (sysfile_number(&number, "%s/f", scratch->path))
            fail_msg("'%s' was a number", texts[i]);
    }
}

static void a_long_file_comes_whole(void **state)
{
    struct scratch *scratch = *state;
    size_t length = 20000;
    char *bytes = calloc(1, length + 1);
    memset(bytes, 'x', length);
    write_file(scratch->fd, "long", bytes, length);
    char *text = sysfile_read("%s/long", scratch->path);
    assert_string_equal(text, bytes);
    free(text);
    free(bytes);
    write_file(scratch->fd, "empty", "", 0);
    text = sysfile_read("%s/empty", scratch->path);
    assert_string_equal(text, "");
    free(text);
}

static void a_file_without_end_is_cut(void **state)
{
    (void)state;
    char *text = sysfile_read("/dev/zero");
    assert_non_null(text);
    free(text);
}

static void fields_are_found_by_their_whole_name(void **state)
{
    (void)state;
    static const char text[] =
        "MemTotalExtra:  1 kB\nMemTotal:       24683620 kB\npswpin 5\npswpout\t6\nbad: x\n";
    uint64_t number;
    assert_true(sysfile_field(text, "MemTotal", &number));
    assert_int_equal(number, 24683620);
    assert_true(sysfile_field(text, "pswpin", &number));
    assert_int_equal(number, 5);
    assert_true(sysfile_field(text, "pswpout", &number));
    assert_int_equal(number, 6);
    assert_false(sysfile_field(text, "Mem", &number));
    assert_false(sysfile_field(text, "bad", &number));
    assert_false(sysfile_field("", "MemTotal", &number));
    assert_false(sysfile_field("MemTotal", "MemTotal", &number));
}

static void columns_are_counted_from_zero(void **state)
{
    (void)state;
    uint64_t number;
    assert_true(sysfile_column("4096\t131072\t33554432", 2, &number));
    assert_int_equal(number, 33554432);
    assert_true(sysfile_column("   7   8\n9", 1, &number));
    assert_int_equal(number, 8);
    assert_false(sysfile_column("   7   8\n9", 2, &number)); /* of another row */
    assert_false(sysfile_column("7", 1, &number));
    assert_false(sysfile_column("", 0, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(files_are_read_by_a_path_in_parts),
        scratch_test(what_is_not_there_is_not_known),
        scratch_test(a_file_without_a_number_has_none),
        scratch_test(a_long_file_comes_whole),
        cmocka_unit_test(a_file_without_end_is_cut),
        cmocka_unit_test(fields_are_found_by_their_whole_name),
        cmocka_unit_test(columns_are_counted_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
