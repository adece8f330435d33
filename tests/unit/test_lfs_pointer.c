/* Git LFS pointers, and texts that only look like one. */
#include "support.h"

#include "common/lfs_pointer.h"

#define START "version https://git-lfs.github.com/spec/v1\n"
#define HEX   "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
#define OID   "oid sha256:" HEX "\n"

static bool parse(const char *text, struct lfs_pointer *pointer)
{
    return lfs_pointer_parse(pointer, text, strlen(text));
}

static void a_pointer_tells_hash_and_size(void **state)
{
    (void)state;
    struct lfs_pointer pointer;
    assert_true(parse(START OID "size 4976698672\n", &pointer));
    assert_int_equal(pointer.size, 4976698672);
    assert_int_equal(pointer.oid[0], 0x4d);
    assert_int_equal(pointer.oid[31], 0x93);
    assert_true(parse(START "ext-0-foo sha256:" HEX "\n" OID "size 0\n", &pointer));
    assert_int_equal(pointer.size, 0);
    assert_true(parse("version https://hawser.github.com/spec/v1\n" OID "size 1\n", &pointer));
}

static void other_texts_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "version",
        START,
        START OID,
        START "size 1\n",
        START OID "size 1", /* cut */
        START OID "size \n",
        START OID "size -1\n",
        START OID "size 1x\n",
        START OID "size 99999999999999999999\n",
        START OID "size 100000000000000000000000000000\n",
        START "oid sha256:" HEX "0\nsize 1\n",
        START "oid sha256:\nsize 1\n",
        START "oid sha256:G" HEX "\nsize 1\n",
        START "oid md5:" HEX "\nsize 1\n",
        "Version https://git-lfs.github.com/spec/v1\n" OID "size 1\n",
        " " START OID "size 1\n",
        "version https://example.com/spec/v1\n" OID "size 1\n",
        OID START "size 1\n",
    };
    struct lfs_pointer pointer;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (parse(bad[i], &pointer))
            fail_msg("taken: %s", bad[i]);
}

static void a_pointer_is_short(void **state)
{
    (void)state;
    struct lfs_pointer pointer;
    char text[2048];
    for (size_t length = LFS_POINTER_MAX - 2; length < LFS_POINTER_MAX + 2; length++) {
        (void)snprintf(text, sizeof text, "%s%sext-0-%0*d\nsize 1\n", START, OID,
                       (int)(length - strlen(START OID "ext-0-\nsize 1\n")), 0);
        assert_int_equal(strlen(text), length);
        assert_int_equal(parse(text, &pointer), length < LFS_POINTER_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pointer_tells_hash_and_size),
        cmocka_unit_test(other_texts_are_none),
        cmocka_unit_test(a_pointer_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
