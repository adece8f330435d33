/* Manifests: what is saved comes back, and what is damaged is refused whole. */
#include "support.h"

#include "server/manifest.h"

static const char odd_name[] = "sub/\xff\x01\n\"name\\";

static void make_sample(struct manifest *m, uint8_t hashes[5 * HASH_SIZE])
{
    struct file_entry whole = {.path = (char *)"a/whole.bin",
                               .size = 2 * BLOCK_SIZE + 5,
                               .mtime = -7,
                               .nsec = 999999999,
                               .has_sha256 = true,
                               .has_git_blob = true};
    struct file_entry odd = {.path = (char *)odd_name, .size = (uint64_t)1 << 50, .mtime = 1700000000};
    struct file_entry empty = {.path = (char *)"empty", .source = 9, .from = FROM_LIVE};
    struct file_entry last = {.path = (char *)"z", .size = BLOCK_SIZE, .nsec = 1};
    memset(m, 0, sizeof *m);
    fill(hashes, 5 * HASH_SIZE, 4);
    fill(whole.sha256, SHA256_SIZE, 5);
    fill(whole.git_blob, GIT_BLOB_SIZE, 6);
    manifest_add(m, &whole, -7, 999999999, hashes);
    manifest_add(m, &odd, 1700000001, 0, NULL);
    manifest_add(m, &empty, 0, 0, hashes + 3 * HASH_SIZE);
    manifest_add(m, &last, 0, 2, hashes + 4 * HASH_SIZE);
    m->summary.mtime = -1;
    m->summary.nsec = 5;
    m->summary.folder = 12345;
    (void)snprintf(m->summary.model, sizeof m->summary.model, "Ns/M");
    memset(m->summary.origin, 'o', LIMIT_ORIGIN);
    m->summary.flawed = true;
}

static void what_is_saved_comes_back(void **state)
{
    struct scratch *scratch = *state;
    struct manifest m, got;
    struct error err = {0};
    uint8_t hashes[5 * HASH_SIZE], whole_hash[HASH_SIZE];
    int fds = count_fds();
    make_sample(&m, hashes);
    assert_int_equal(m.block_total, 5);
    if (manifest_save(&m, scratch->fd, 7, &err) < 0 || manifest_load(&got, scratch->fd, 7, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(count_fds(), fds);
    assert_int_equal(got.summary.files, 4);
    assert_int_equal(got.summary.bytes, m.summary.bytes);
    assert_int_equal(got.summary.mtime, -1);
    assert_int_equal(got.summary.nsec, 5);
    assert_int_equal(got.summary.folder, 12345);
    assert_string_equal(got.summary.model, "Ns/M");
    assert_string_equal(got.summary.origin, m.summary.origin);
    assert_true(got.summary.flawed);
    assert_int_equal(got.listing.count, 4);
    assert_int_equal(got.block_total, 5);
    for (size_t i = 0; i < 4; i++) {
        const struct file_entry *a = &m.listing.files[i], *b = &got.listing.files[i];
        assert_string_equal(a->path, b->path);
        assert_int_equal(a->size, b->size);
        assert_int_equal(a->mtime, b->mtime);
        assert_int_equal(a->nsec, b->nsec);
        assert_int_equal(a->has_hash, i != 1);
        assert_int_equal(b->has_hash, i != 1);
        assert_int_equal(b->from, FROM_NONE);
        assert_int_equal(b->source, i == 2 ? 9 : 0);
        assert_int_equal(b->has_sha256, i == 0);
        assert_int_equal(b->has_git_blob, i == 0);
        assert_memory_equal(a->sha256, b->sha256, SHA256_SIZE);
        assert_memory_equal(a->git_blob, b->git_blob, GIT_BLOB_SIZE);
        assert_int_equal(m.disk_mtime[i], got.disk_mtime[i]);
        assert_int_equal(m.disk_nsec[i], got.disk_nsec[i]);
        if (i != 1)
            assert_memory_equal(a->hash, b->hash, HASH_SIZE);
    }
    digest_file(hashes, 3, 2 * BLOCK_SIZE + 5, whole_hash);
    assert_memory_equal(got.listing.files[0].hash, whole_hash, HASH_SIZE);
    assert_memory_equal(manifest_hashes(&got, 0), hashes, 3 * HASH_SIZE);
    assert_null(manifest_hashes(&got, 1));
    assert_memory_equal(manifest_hashes(&got, 2), hashes + 3 * HASH_SIZE, HASH_SIZE);
    assert_memory_equal(manifest_hashes(&got, 3), hashes + 4 * HASH_SIZE, HASH_SIZE);
    manifest_release(&got);
    manifest_release(&m);
}

static void a_manifest_without_files_or_hashes_works(void **state)
{
    struct scratch *scratch = *state;
    struct manifest m = {0}, got;
    struct error err;
    assert_int_equal(manifest_save(&m, scratch->fd, 1, &err), 0);
    assert_int_equal(manifest_load(&got, scratch->fd, 1, &err), 0);
    assert_int_equal(got.listing.count, 0);
    manifest_release(&got);
    struct file_entry entry = {.path = (char *)"x", .size = 5};
    manifest_add(&m, &entry, 0, 0, NULL);
    assert_int_equal(manifest_save(&m, scratch->fd, 2, &err), 0);
    assert_int_equal(manifest_load(&got, scratch->fd, 2, &err), 0);
    assert_null(manifest_hashes(&got, 0));
    manifest_release(&got);
    manifest_release(&m);
}

static void many_files_come_back(void **state)
{
    struct scratch *scratch = *state;
    struct manifest m = {0}, got;
    struct error err;
    uint8_t hash[HASH_SIZE];
    for (uint32_t i = 0; i < 3000; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "d%u/f%u", i % 7, i);
        struct file_entry entry = {.path = path, .size = i};
        fill(hash, sizeof hash, i);
        manifest_add(&m, &entry, i, i, i % 3 ? hash : NULL);
    }
    assert_int_equal(manifest_save(&m, scratch->fd, 1, &err), 0);
    assert_int_equal(manifest_load(&got, scratch->fd, 1, &err), 0);
    assert_int_equal(got.listing.count, 3000);
    for (uint32_t i = 0; i < 3000; i++) {
        fill(hash, sizeof hash, i);
        assert_int_equal(got.disk_mtime[i], i);
        assert_int_equal(got.disk_nsec[i], i);
        assert_int_equal(manifest_hashes(&got, i) != NULL, i % 3 != 0);
        if (i % 3)
            assert_memory_equal(manifest_hashes(&got, i), hash, HASH_SIZE);
    }
    manifest_release(&got);
    manifest_release(&m);
}

static void the_summary_is_the_first_line(void **state)
{
    struct scratch *scratch = *state;
    struct manifest m;
    struct manifest_summary summary;
    struct error err = {0};
    uint64_t generation;
    uint8_t hashes[5 * HASH_SIZE];
    make_sample(&m, hashes);
    assert_int_equal(manifest_save(&m, scratch->fd, 7, &err), 0);
    assert_int_equal(manifest_choose(scratch->fd, 0, &generation, &summary), 1);
    assert_int_equal(generation, 7);
    assert_int_equal(summary.files, 4);
    assert_int_equal(summary.bytes, m.summary.bytes);
    assert_int_equal(summary.mtime, -1);
    assert_int_equal(summary.nsec, 5);
    assert_true(summary.flawed);
    write_file(scratch->fd, "8.json", "{}", 2);
    assert_int_equal(manifest_choose(scratch->fd, 999, &generation, &summary), -1);
    assert_int_equal(generation, 8);
    manifest_release(&m);
}

static int parse(const char *text)
{
    struct manifest m;
    struct error err = {0};
    size_t length = strlen(text);
    char *copy = malloc(length + !length); /* of exact length: a sanitizer sees a byte too many */
    assert_non_null(copy);
    memcpy(copy, text, length);
    int result = manifest_parse(&m, copy, length, &err);
    free(copy);
    if (result == 0)
        manifest_release(&m);
    else
        assert_int_equal(err.code, ERROR_FAILED);
    return result;
}

#define HEAD(files, bytes)                                                                                   \
    "{\"mstore\":1,\"files\":" #files ",\"bytes\":" #bytes ",\"mtime\":1,\"nsec\":2,\"folder\":3}\n"
#define HEAD_LINE(rest) "{\"mstore\":1,\"files\":0,\"bytes\":0,\"mtime\":1,\"nsec\":2," rest "}\n"
#define HASH            "00112233445566778899aabbccddeeff"

static void lines_are_held_against_their_limits(void **state)
{
    (void)state;
    assert_int_equal(parse(HEAD(0, 0)), 0);
    assert_int_equal(parse(HEAD_LINE("\"model\":\"ns/m\"")),
                     0); /* of an older program: the folder is not known */
    assert_int_equal(parse(HEAD_LINE("\"folder\":3,\"model\":\"ns/m\",\"new\":{}")), 0);
    assert_int_equal(parse(HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0}\n"), 0);
    assert_int_equal(
        parse(HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"hash\":\"" HASH "\"}\n"), 0);
    assert_int_equal(
        parse(HEAD(1, 5) "{\"path_hex\":\"ff\",\"size\":5,\"mtime\":1,\"nsec\":0,\"new\":[1]}\n"), 0);
    assert_int_equal(parse(HEAD_LINE("\"origin\":\"hf:o/m@1\"")), 0);
    assert_int_equal(parse(HEAD_LINE("\"flawed\":false")), 0);
    assert_int_equal(parse(HEAD_LINE("\"flawed\":1")), -1);
    assert_int_equal(
        parse(HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"sha256\":\"" HASH HASH
                         "\",\"git_blob\":\"" HASH "01234567\"}\n"),
        0);
    static const char *const wrong[] = {
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"sha256\":\"" HASH "\"}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"git_blob\":\"" HASH "\"}\n",
        "",
        "\n",
        "{",
        "{}\n",
        "[]\n",
        "{\"mstore\":1,\"files\":0,\"bytes\":0,\"mtime\":1,\"nsec\":2,\"folder\":3}",
        "{\"mstore\":2,\"files\":0,\"bytes\":0,\"mtime\":1,\"nsec\":2,\"folder\":3}\n",
        "{\"files\":0,\"bytes\":0,\"mtime\":1,\"nsec\":2,\"folder\":3}\n",
        "{\"mstore\":1,\"bytes\":0,\"mtime\":1,\"nsec\":2,\"folder\":3}\n",
        "{\"mstore\":1,\"files\":0,\"mtime\":1,\"nsec\":2,\"folder\":3}\n",
        "{\"mstore\":1,\"files\":0,\"bytes\":0,\"nsec\":2,\"folder\":3}\n",
        "{\"mstore\":1,\"files\":0,\"bytes\":0,\"mtime\":1,\"folder\":3}\n",
        "{\"mstore\":1,\"files\":-1,\"bytes\":0,\"mtime\":1,\"nsec\":2,\"folder\":3}\n",
        "{\"mstore\":1,\"files\":0,\"bytes\":9007199254740992,\"mtime\":1,\"nsec\":2,\"folder\":3}\n",
        "{\"mstore\":1,\"files\":0,\"bytes\":0,\"mtime\":1,\"nsec\":1000000000,\"folder\":3}\n",
        HEAD_LINE("\"folder\":-1"),
        HEAD_LINE("\"folder\":9007199254740992"),
        HEAD(1, 0),
        HEAD(0, 1),
        HEAD(1, 5) "{\"path\":\"a\",\"size\":6,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0}",
        HEAD(1, 5) "{\"size\":5,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"\",\"size\":5,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"../a\",\"size\":5,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"/a\",\"size\":5,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path_hex\":\"6100\",\"size\":5,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":5,\"size\":5,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":\"5\",\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1.5,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"hash\":\"00\"}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"hash\":7}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0,\"disk_mtime\":7}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0}\n\n",
        HEAD(1, 5) "x\n{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0}\n",
        HEAD(1, 5) "{\"path\":\"a\",\"size\":5,\"mtime\":1,\"nsec\":0}\n{\"path\":\"b\",\"size\":0,\"mtime\":"
                   "1,\"nsec\":0}\n",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        if (parse(wrong[i]) != -1)
            fail_msg("accepted: %s", wrong[i]);
}

/* Cut at any byte, it is refused, or (cut behind the last line's end) the same. */
static void a_manifest_cut_short_is_refused(void **state)
{
    struct scratch *scratch = *state;
    struct manifest m, got;
    struct error err;
    uint8_t hashes[5 * HASH_SIZE];
    size_t length;
    make_sample(&m, hashes);
    assert_int_equal(manifest_save(&m, scratch->fd, 1, &err), 0);
    uint8_t *text = read_whole(scratch->fd, "1.json", &length);
    assert_non_null(text);
    for (size_t cut = 0; cut < length; cut++) {
        write_file(scratch->fd, "1.json", text, cut);
        assert_int_equal(manifest_load(&got, scratch->fd, 1, &err), -1);
    }
    write_file(scratch->fd, "1.json", text, length);
    for (size_t cut = 0; cut < 5 * HASH_SIZE; cut++) {
        write_file(scratch->fd, "1.blocks", hashes, cut);
        assert_int_equal(manifest_load(&got, scratch->fd, 1, &err), -1);
    }
    uint8_t more[5 * HASH_SIZE + 1] = {0};
    write_file(scratch->fd, "1.blocks", more, sizeof more);
    assert_int_equal(manifest_load(&got, scratch->fd, 1, &err), -1);
    assert_int_equal(unlinkat(scratch->fd, "1.blocks", 0), 0);
    assert_int_equal(manifest_load(&got, scratch->fd, 1, &err), -1);
    assert_int_equal(err.sys, ENOENT);
    write_file(scratch->fd, "1.blocks", hashes, sizeof hashes);
    assert_int_equal(manifest_load(&got, scratch->fd, 1, &err), 0);
    manifest_release(&got);
    manifest_release(&m);
    free(text);
}

/* The block hashes are kept beside the file hashes: damage to either must not pass for what was proven. */
static void block_hashes_that_do_not_make_the_file_hash_are_refused(void **state)
{
    struct scratch *scratch = *state;
    struct manifest m, got;
    struct error err;
    uint8_t hashes[5 * HASH_SIZE];
    make_sample(&m, hashes);
    assert_int_equal(manifest_save(&m, scratch->fd, 1, &err), 0);
    hashes[20] ^= 1;
    write_file(scratch->fd, "1.blocks", hashes, sizeof hashes);
    int result = manifest_load(&got, scratch->fd, 1, &err);
    if (result == 0) {
        bool kept = manifest_hashes(&got, 0) != NULL;
        manifest_release(&got);
        manifest_release(&m);
        assert_false(kept);
    }
    manifest_release(&m);
}

static void generations_are_found_highest_first(void **state)
{
    struct scratch *scratch = *state;
    uint64_t found[4] = {0};
    assert_int_equal(manifest_generations(scratch->fd, found, 4), 0);
    static const char *const names[] = {"3.json", "11.json",  "2.json",      "100.json",
                                        "7.json", "7.blocks", "12.json.new", ".13.json.new",
                                        "x.json", "-5.json",  "+6.json",     "8.jsonx"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        write_file(scratch->fd, names[i], "", 0);
    assert_int_equal(manifest_generations(scratch->fd, found, 4), 4);
    assert_int_equal(found[0], 100);
    assert_int_equal(found[1], 11);
    assert_int_equal(found[2], 7);
    assert_int_equal(found[3], 3);
    assert_int_equal(manifest_generations(scratch->fd, found, 1), 1);
    assert_int_equal(found[0], 100);
    manifest_remove(scratch->fd, 7);
    assert_false(is_there(scratch->fd, "7.json"));
    assert_false(is_there(scratch->fd, "7.blocks"));
    manifest_remove(scratch->fd, 7);
    assert_true(is_there(scratch->fd, "11.json"));
}

/* The generation for an inode, 0 if there is none. */
static uint64_t chosen(const struct scratch *scratch, uint64_t inode)
{
    struct manifest_summary summary;
    uint64_t generation = 0;
    int found = manifest_choose(scratch->fd, inode, &generation, &summary);
    assert_int_equal(found, generation != 0);
    return generation;
}

static void the_manifest_of_the_folder_is_chosen_else_the_newest(void **state)
{
    struct scratch *scratch = *state;
    struct error err;
    assert_int_equal(chosen(scratch, 1), 0);
    static const uint64_t folders[] = {0, 70, 80, LIMIT_SIZE}; /* by generation */
    for (uint64_t generation = 1; generation < 4; generation++) {
        struct manifest m = {.summary.folder = folders[generation]};
        assert_int_equal(manifest_save(&m, scratch->fd, generation, &err), 0);
    }
    assert_int_equal(chosen(scratch, 70), 1);
    assert_int_equal(chosen(scratch, 80), 2);
    assert_int_equal(chosen(scratch, 90), 3);
    assert_int_equal(chosen(scratch, UINT64_MAX), 3); /* 53 bits of it */
    struct manifest wide = {.summary.folder = UINT64_MAX};
    assert_int_equal(manifest_save(&wide, scratch->fd, 1, &err), 0);
    assert_int_equal(unlinkat(scratch->fd, "3.json", 0), 0);
    assert_int_equal(chosen(scratch, UINT64_MAX), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(what_is_saved_comes_back),
        scratch_test(a_manifest_without_files_or_hashes_works),
        scratch_test(many_files_come_back),
        scratch_test(the_summary_is_the_first_line),
        cmocka_unit_test(lines_are_held_against_their_limits),
        scratch_test(a_manifest_cut_short_is_refused),
        scratch_test(block_hashes_that_do_not_make_the_file_hash_are_refused),
        scratch_test(generations_are_found_highest_first),
        scratch_test(the_manifest_of_the_folder_is_chosen_else_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
