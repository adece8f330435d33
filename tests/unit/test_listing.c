/* Listings: the index finds every path, and clashes between files and folders are named. */
#include "support.h"

#include "proto/listing.h"

static void make(struct listing *listing, const char *const *paths, size_t count)
{
    memset(listing, 0, sizeof *listing);
    for (size_t i = 0; i < count; i++)
        plan_add(listing, paths[i], i, FROM_NONE);
}

static void every_path_is_found_under_its_number(void **state)
{
    (void)state;
    static const char *const paths[] = {"b", "a/b", "a.b", "a", "\xff", "B", "a-b", "ab", "a0"};
    struct listing listing;
    const char *clash = NULL;
    make(&listing, paths, COUNT_OF(paths));
    uint32_t *index = listing_index(&listing, &clash);
    assert_null(index); /* a and a/b */
    assert_string_equal(clash, "a/b");
    free(listing.files[3].path);
    listing.files[3].path = strdup("aa");
    index = listing_index(&listing, &clash);
    assert_non_null(index);
    for (size_t i = 0; i < listing.count; i++)
        assert_int_equal(listing_find(&listing, index, listing.files[i].path), i);
    assert_int_equal(listing_find(&listing, index, "a"), -1);
    assert_int_equal(listing_find(&listing, index, ""), -1);
    assert_int_equal(listing_find(&listing, index, "zz"), -1);
    free(index);
    assert_int_equal(listing_bytes(&listing), 36);
    listing_release(&listing);
    assert_int_equal(listing.count, 0);
}

static void clashes_are_named_and_neighbours_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *paths[4];
        const char *clash;
    } cases[] = {
        {{"x", "x"}, "x"},
        {{"a/x", "b", "a/x"}, "a/x"},
        {{"a", "a/b"}, "a/b"},
        {{"a/b", "a"}, "a/b"},
        {{"a", "a.b", "a/b"}, "a/b"}, /* '.' sorts between "a" and "a/" */
        {{"a", "a-", "a/b/c/d"}, "a/b/c/d"},
        {{"x/y", "x/y/z/w", "x/z"}, "x/y/z/w"},
        {{"a", "b", "ab", "ba"}, NULL},
        {{"a/b", "a/c", "ab/c", "a.c"}, NULL},
        {{"A", "a/b"}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct listing listing;
        const char *clash = NULL;
        size_t count = 0;
        while (count < 4 && cases[i].paths[count])
            count++;
        make(&listing, cases[i].paths, count);
        uint32_t *index = listing_index(&listing, &clash);
        assert_int_equal(index == NULL, cases[i].clash != NULL);
        if (cases[i].clash)
            assert_string_equal(clash, cases[i].clash);
        free(index);
        listing_release(&listing);
    }
}

static void an_empty_listing_has_an_index(void **state)
{
    (void)state;
    struct listing listing = {0};
    const char *clash;
    uint32_t *index = listing_index(&listing, &clash);
    assert_non_null(index);
    assert_int_equal(listing_find(&listing, index, "a"), -1);
    assert_int_equal(listing_bytes(&listing), 0);
    free(index);
    listing_release(&listing);
}

static void many_files_are_copied_and_found(void **state)
{
    (void)state;
    struct listing listing = {0};
    const char *clash;
    for (uint32_t i = 0; i < 20000; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "%u/%u", i % 100, i * 7919 % 20000);
        struct file_entry entry = {.path = path, .size = i};
        assert_ptr_not_equal(listing_add(&listing, &entry)->path, path);
    }
    uint32_t *index = listing_index(&listing, &clash);
    assert_non_null(index);
    for (uint32_t i = 0; i < 20000; i += 97)
        assert_int_equal(listing_find(&listing, index, listing.files[i].path), i);
    for (uint32_t i = 1; i < 20000; i++)
        assert_true(strcmp(listing.files[index[i - 1]].path, listing.files[index[i]].path) < 0);
    free(index);
    listing_release(&listing);
}

static void words_for_where_bytes_come_from(void **state)
{
    (void)state;
    assert_string_equal(file_from_name(FROM_SEND), "send");
    assert_string_equal(file_from_name(FROM_STAGED), "staged");
    assert_string_equal(file_from_name(FROM_LIVE), "live");
    for (int from = FROM_SEND; from <= FROM_LIVE; from++)
        assert_int_equal(file_from_parse(file_from_name((enum file_from)from)), from);
    static const char *const unknown[] = {"", "Send", "send ", "sen", "x"};
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_int_equal(file_from_parse(unknown[i]), FROM_NONE);
}

static void a_batch_beyond_the_limits_is_not_added(void **state)
{
    (void)state;
    static char longest[LIMIT_PATH + 1];
    struct listing listing = {0}, batch = {0}, one = {0};
    memset(longest, 'x', LIMIT_PATH);
    for (int i = 0; i < 4096; i++)
        listing_add(&batch, &(struct file_entry){.path = longest});
    listing_add(&one, &(struct file_entry){.path = (char *)"a"});
    assert_int_equal(batch.path_bytes, 4096 * LIMIT_PATH);
    assert_true(listing_add_batch(&listing, &batch));
    assert_true(listing_add_batch(&listing, &batch));
    assert_false(listing_add_batch(&listing, &batch));
    assert_int_equal(listing.count, 2 * 4096);
    listing_release(&listing);
    while (listing.count < LIMIT_FILES)
        listing_add(&listing, &one.files[0]);
    assert_false(listing_add_batch(&listing, &one));
    assert_int_equal(listing.count, LIMIT_FILES);
    listing_release(&listing);
    listing_release(&batch);
    listing_release(&one);
}

static void the_sum_of_sizes_does_not_wrap(void **state)
{
    (void)state;
    struct listing listing = {0};
    for (int i = 0; i < 3000; i++)
        listing_add(&listing, &(struct file_entry){.path = (char *)"a", .size = LIMIT_SIZE});
    assert_int_equal(listing_bytes(&listing), UINT64_MAX);
    listing_release(&listing);
}

static void what_is_known_of_the_bytes_is_added_and_never_replaced(void **state)
{
    (void)state;
    struct file_entry none = {0},
                      both = {.has_sha256 = true, .has_git_blob = true, .sha256 = {1}, .git_blob = {2}};
    struct file_entry other = {.has_sha256 = true, .sha256 = {3}};
    file_entry_learn(&other, &both);
    assert_int_equal(other.sha256[0], 3);
    assert_true(other.has_git_blob);
    assert_int_equal(other.git_blob[0], 2);
    file_entry_learn(&other, &none);
    assert_true(other.has_sha256 && other.has_git_blob);
    file_entry_learn(&none, &both);
    assert_int_equal(none.sha256[0], 1);
}

static bool is_odd(void *context, struct file_entry *entry)
{
    assert_int_equal(entry->size, (*(uint64_t *)context)++); /* each once, in order */
    return entry->size % 2 == 1;
}

static void a_filter_keeps_order_and_counts_the_paths(void **state)
{
    (void)state;
    struct listing listing = {0};
    uint64_t seen = 0;
    listing_filter(&listing, is_odd, &seen);
    for (uint64_t i = 0; i < 5; i++)
        listing_add(&listing, &(struct file_entry){.path = (char *)"abc" + i % 3, .size = i});
    listing_filter(&listing, is_odd, &seen);
    assert_int_equal(seen, 5);
    assert_int_equal(listing.count, 2);
    assert_int_equal(listing.files[0].size, 1);
    assert_int_equal(listing.files[1].size, 3);
    assert_string_equal(listing.files[1].path, "abc");
    assert_int_equal(listing.path_bytes, 2 + 3);
    listing_release(&listing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_keeps_order_and_counts_the_paths),
        cmocka_unit_test(what_is_known_of_the_bytes_is_added_and_never_replaced),
        cmocka_unit_test(a_batch_beyond_the_limits_is_not_added),
        cmocka_unit_test(the_sum_of_sizes_does_not_wrap),
        cmocka_unit_test(every_path_is_found_under_its_number),
        cmocka_unit_test(clashes_are_named_and_neighbours_are_none),
        cmocka_unit_test(an_empty_listing_has_an_index),
        cmocka_unit_test(many_files_are_copied_and_found),
        cmocka_unit_test(words_for_where_bytes_come_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
