/* Which model ids and paths are let in; all that is not clearly allowed is not. */
#include "support.h"

#include "proto/limits.h"
#include "proto/name.h"

static void ids_by_the_rules_of_the_hub_are_accepted(void **state)
{
    (void)state;
    static const char *const good[] = {"a/b",       "Qwen/Qwen2.5-7B-Instruct",
                                       "_/_",       "0/1",
                                       "a.b/c-d_e", "A-b.c/x.y.z-1",
                                       "a_-b/c",    "ns/git",
                                       "a.git.b/m"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!name_is_model_id(good[i]))
            fail_msg("refused: %s", good[i]);
}

static void other_ids_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",           "/",       "a",     "a/",        "/b",     "a/b/c",  "a//b",   "a/b/",     "./b",
        "../b",       "a/..",    "a/.b",  "a/b.",      "-a/b",   "a/b-",   "a--b/c", "a/b--c",   "a/b..c",
        "a/b.git",    "a.git/b", "a b/c", "a/b c",     "a/b\n",  "a\\b/c", "a:b/c",  "@eaDir/m", "a/@eaDir",
        "\xc3\xa9/b", "a/%20",   "~a/b",  ".mstore/x", "a/.git", "*/b",    "a/\x7f",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (name_is_model_id(wrong[i]))
            fail_msg("accepted: %s", wrong[i]);
}

static void every_character_is_allowed_or_not(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        char id[] = {'a', (char)c, 'b', '/', 'm', '\0'};
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (c != '/')
            assert_int_equal(name_is_model_id(id), word || c == '.' || c == '-');
        char at_start[] = {(char)c, '/', 'm', '\0'}, at_end[] = {'n', '/', 'm', (char)c, '\0'};
        if (c != '/') {
            assert_int_equal(name_is_model_id(at_start), word);
            assert_int_equal(name_is_model_id(at_end), word);
        }
    }
}

static void parts_of_an_id_have_1_to_96_characters(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 95, 96, 97, 255};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (size_t j = 0; j < COUNT_OF(lengths); j++) {
            char id[600];
            memset(id, 'a', sizeof id);
            id[lengths[i]] = '/';
            id[lengths[i] + 1 + lengths[j]] = '\0';
            assert_int_equal(name_is_model_id(id), lengths[i] <= 96 && lengths[j] <= 96);
        }
    assert_false(name_is_id_part("", 0));
    assert_true(name_is_id_part("abc/", 3)); /* by length, not by NUL */
}

static void paths_of_bytes_are_accepted(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a",      "a/b/c", "..a",  "a..",    "...",      ".a",  "a/...",     "a b",       " ",
        "-",      "\\",    "a\nb", "\x1b[m", "\xff\xfe", "a:b", ".mstorex",  "a/.mstore", ".mstor",
        ".git/x", "CON",   "a/ ",  "\x7f",   "mstore/x", "~",   ".MSTORE/x", "*?|<>\"",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!name_is_path(good[i]))
            fail_msg("refused: %s", good[i]);
}

static void paths_that_could_lead_out_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "/",      "/a",      "a/",       "a//b",        "//",
                                        ".",     "..",     "./a",     "../a",     "a/..",        "a/.",
                                        "a/./b", "a/../b", ".mstore", ".mstore/", ".mstore/a/b", "a/b/"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (name_is_path(wrong[i]))
            fail_msg("accepted: %s", wrong[i]);
}

static void paths_have_limits_in_all_and_for_each_part(void **state)
{
    (void)state;
    char path[5000];
    static const size_t parts[] = {254, 255, 256, 4095};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        memset(path, 'a', sizeof path);
        path[parts[i]] = '\0';
        assert_int_equal(name_is_path(path), parts[i] <= 255);
        memcpy(path, "b/", 2);
        memset(path + 2, 'a', parts[i]);
        path[2 + parts[i]] = '\0';
        assert_int_equal(name_is_path(path), parts[i] <= 255);
    }
    for (size_t length = 4090; length < 4100; length++) {
        memset(path, 'a', sizeof path);
        for (size_t i = 100; i < length - 1; i += 101)
            path[i] = '/';
        path[length] = '\0';
        assert_int_equal(name_is_path(path), length <= 4095);
    }
}

static void origins_are_visible_ascii(void **state)
{
    (void)state;
    char text[300];
    assert_true(name_is_origin("hf:o/m@0123456789abcdef0123456789abcdef01234567"));
    for (int c = 1; c < 256; c++) {
        (void)snprintf(text, sizeof text, "a%cz", c);
        assert_int_equal(name_is_origin(text), c > ' ' && c < 127 && c != '"' && c != '\\');
    }
    for (size_t length = 0; length < sizeof text; length += length < 2 ? 1 : 63) {
        memset(text, 'a', length);
        text[length] = '\0';
        assert_int_equal(name_is_origin(text), length >= 1 && length <= 255);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(origins_are_visible_ascii),
        cmocka_unit_test(ids_by_the_rules_of_the_hub_are_accepted),
        cmocka_unit_test(other_ids_are_refused),
        cmocka_unit_test(every_character_is_allowed_or_not),
        cmocka_unit_test(parts_of_an_id_have_1_to_96_characters),
        cmocka_unit_test(paths_of_bytes_are_accepted),
        cmocka_unit_test(paths_that_could_lead_out_are_refused),
        cmocka_unit_test(paths_have_limits_in_all_and_for_each_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
