/* Names of the Hub, and what a model without an origin is called there. */
#include "support.h"

#include "client/hub.h"
#include "client/hub_place.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static void repo_and_revision_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *source, *repo, *revision;
    } good[] = {
        {"hf:org/model", "org/model", "main"},         {"hf:gpt2", "gpt2", "main"},
        {"hf:org/model@v1.0", "org/model", "v1.0"},    {"hf:org/model@refs/pr/1", "org/model", "refs/pr/1"},
        {"hf:org/model@" COMMIT, "org/model", COMMIT}, {"hf:org/model@a@b", "org/model", "a@b"},
    };
    static const char *const wrong[] = {
        "hf:",
        "hf:/",
        "hf:org/",
        "hf:/model",
        "hf:a/b/c",
        "hf:a--b/c",
        "hf:org/mo del",
        "hf:../model",
        "hf:org/model@",
        "hf:org/model@../x",
        "hf:org/model@/etc",
        "hf:@main",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct hub_name name;
        struct error err;
        assert_true(hub_is_name(good[i].source));
        assert_int_equal(hub_parse(&name, good[i].source, &err), 0);
        assert_string_equal(name.repo, good[i].repo);
        assert_string_equal(name.revision, good[i].revision);
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct hub_name name;
        struct error err;
        assert_int_equal(hub_parse(&name, wrong[i], &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
        assert_non_null(strstr(err.text, wrong[i]));
    }
    assert_false(hub_is_name("./hf:org/model"));
}

static void long_names_are_refused(void **state)
{
    (void)state;
    char source[600];
    struct hub_name name;
    struct error err;
    for (size_t length = 1; length < 500; length++) {
        memcpy(source, "hf:o/", 5);
        memset(source + 5, 'm', length);
        source[5 + length] = '\0';
        assert_int_equal(hub_parse(&name, source, &err) == 0, length <= LIMIT_ID_PART);
        (void)snprintf(source, sizeof source, "hf:o/m@%0*d", (int)length, 1);
        assert_int_equal(hub_parse(&name, source, &err) == 0, length <= HUB_REVISION_MAX);
    }
}

static void only_an_origin_with_a_commit_is_one(void **state)
{
    (void)state;
    char origin[LIMIT_ORIGIN + 1];
    struct hub_name name;
    hub_origin(origin, "org/model", COMMIT);
    assert_string_equal(origin, "hf:org/model@" COMMIT);
    assert_true(hub_parse_origin(&name, origin));
    assert_string_equal(name.repo, "org/model");
    assert_string_equal(name.revision, COMMIT);
    static const char *const wrong[] = {
        "",
        "org/model@" COMMIT,
        "hf:org/model",
        "hf:org/model@main",
        "hf:org/model@" COMMIT "0",
        "hf:org/model@0123456789ABCDEF0123456789abcdef01234567",
        "hf:../../etc@" COMMIT,
        "hf:org/../x@" COMMIT,
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(hub_parse_origin(&name, wrong[i]));
}

static void the_place_is_named_after_the_origin_or_the_model(void **state)
{
    (void)state;
    struct hub_place place;
    struct error err;
    assert_int_equal(hub_place_choose(&place, "/c", "ns/m", "hf:org/model@" COMMIT, &err), 0);
    assert_string_equal(place.folder, "/c/models--org--model");
    assert_string_equal(place.commit, COMMIT);
    hub_place_release(&place);
    static const char *const none[] = {NULL, "hf:org/model@main", "elsewhere:x"};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_int_equal(hub_place_choose(&place, "/c", "ns/m", none[i], &err), 0);
        assert_string_equal(place.folder, "/c/models--ns--m");
        assert_string_equal(place.commit, "");
        hub_place_release(&place);
    }
    assert_int_equal(hub_place_choose(&place, "/c", "ns/m", "hf:gpt2@" COMMIT, &err), 0);
    assert_string_equal(place.folder, "/c/models--gpt2");
    hub_place_release(&place);
}

static void a_blob_is_named_by_the_best_hash_that_is_known(void **state)
{
    (void)state;
    struct file_entry entry = {.path = (char *)"a"};
    char name[HUB_BLOB_MAX];
    assert_false(hub_blob_name(&entry, name));
    entry.has_hash = true;
    memset(entry.hash, 0xa1, HASH_SIZE);
    assert_true(hub_blob_name(&entry, name));
    assert_string_equal(name, "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
    entry.has_git_blob = true;
    memset(entry.git_blob, 0x0b, GIT_BLOB_SIZE);
    assert_true(hub_blob_name(&entry, name));
    assert_string_equal(name, "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b");
    entry.has_sha256 = true;
    assert_true(hub_blob_name(&entry, name));
    assert_int_equal(strlen(name), 64);
}

static void a_commit_is_made_of_paths_sizes_and_hashes(void **state)
{
    (void)state;
    struct listing one = {0}, two = {0};
    struct file_entry a = {.path = (char *)"a", .size = 5, .has_hash = true, .mtime = 1};
    struct file_entry b = {.path = (char *)"b", .size = 6, .mtime = 1};
    char first[HUB_COMMIT_DIGITS + 1], second[HUB_COMMIT_DIGITS + 1];
    listing_add(&one, &a);
    listing_add(&one, &b);
    listing_add(&two, &b); /* another order, and another time of the file whose hash is known */
    a.mtime = 2;
    listing_add(&two, &a);
    hub_make_commit(&one, first);
    hub_make_commit(&two, second);
    assert_true(hub_is_commit(first));
    assert_string_equal(first, second);
    two.files[0].mtime = 2; /* of a file without hash */
    hub_make_commit(&two, second);
    assert_string_not_equal(first, second);
    two.files[0].mtime = 1;
    two.files[1].hash[0] = 1;
    hub_make_commit(&two, second);
    assert_string_not_equal(first, second);
    two.files[1].hash[0] = 0;
    two.files[1].size = 4;
    hub_make_commit(&two, second);
    assert_string_not_equal(first, second);
    listing_release(&one);
    listing_release(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repo_and_revision_are_taken_apart),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(only_an_origin_with_a_commit_is_one),
        cmocka_unit_test(the_place_is_named_after_the_origin_or_the_model),
        cmocka_unit_test(a_blob_is_named_by_the_best_hash_that_is_known),
        cmocka_unit_test(a_commit_is_made_of_paths_sizes_and_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
