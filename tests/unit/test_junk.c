/* The list of what is left out: all of it, and nothing beside it. */
#include "support.h"

#include "common/junk.h"

static bool is_junk(const char *path)
{
    const char *slash = strrchr(path, '/');
    return junk_is(slash ? slash + 1 : path, path);
}

static void book_keeping_of_others_is_junk_at_any_depth(void **state)
{
    (void)state;
    static const char *const names[] = {
        ".git",
        ".locks",
        ".no_exist",
        "__pycache__",
        ".DS_Store",
        "._model.gguf",
        ".Spotlight-V100",
        ".Trashes",
        ".fseventsd",
        "@eaDir",
        "#recycle",
        "#snapshot",
        "@Recycle",
        ".@__thumb",
        "$RECYCLE.BIN",
        "System Volume Information",
        "lost+found",
        ".snapshot",
        ".zfs",
        ".mstore",
        "Thumbs.db",
        "desktop.ini",
        ".nfs0000000012345",
        ".smbdeleteAAA1",
        "._",
        "__MACOSX",
        ".cache/huggingface",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[128];
        if (!is_junk(names[i]))
            fail_msg("kept: %s", names[i]);
        (void)snprintf(path, sizeof path, "sub/deep/%s", names[i]);
        if (!is_junk(path))
            fail_msg("kept: %s", path);
    }
}

static void everything_else_travels(void **state)
{
    (void)state;
    static const char *const names[] = {
        "model.safetensors",
        ".gitattributes",
        ".gitignore",
        ".hidden",
        "git",
        "x.git",
        ".cache",
        ".cache/other",
        "cache/huggingface",
        "x.cache/huggingface",
        ".cache/huggingface2",
        ".cachehuggingface",
        "huggingface",
        "thumbs",
        "Thumbs.db.bin",
        "eaDir",
        "recycle",
        "_x",
        "lost",
        ".mstorex",
        "nfs",
        ".nf",
        "config.json",
        "",
        ".cache/huggingface/x", /* what is in a junk folder is never asked about */
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (is_junk(names[i]))
            fail_msg("left out: %s", names[i]);
}

static void downloads_under_way_are_recognised_by_their_ending(void **state)
{
    (void)state;
    static const char *const yes[] = {"a.incomplete", "m.safetensors.aria2", "x.crdownload",
                                      "y.downloadInProgress", ".incomplete"};
    static const char *const no[] = {"incomplete", "a.incomplete.bin", "a.part", "a.INCOMPLETE", "aria2", ""};
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        assert_true(junk_is_unfinished(yes[i]));
    for (size_t i = 0; i < COUNT_OF(no); i++)
        assert_false(junk_is_unfinished(no[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(book_keeping_of_others_is_junk_at_any_depth),
        cmocka_unit_test(everything_else_travels),
        cmocka_unit_test(downloads_under_way_are_recognised_by_their_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
