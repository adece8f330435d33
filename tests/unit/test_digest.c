/* Block and file hashes: the vectors of docs/protocol.md, section 8. */
#include "support.h"

#include "common/digest.h"

static const char *hex(const uint8_t hash[HASH_SIZE])
{
    static char text[2 * HASH_SIZE + 1];
    for (int i = 0; i < HASH_SIZE; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", hash[i]);
    return text;
}

static void expect_file(const uint8_t *bytes, size_t size, const char *block_0, const char *file)
{
    uint8_t hashes[4 * HASH_SIZE], whole[HASH_SIZE];
    for (uint64_t b = 0; b < block_count(size); b++)
        digest_block(bytes + b * BLOCK_SIZE, (size_t)block_length(size, b), hashes + b * HASH_SIZE);
    digest_file(hashes, block_count(size), size, whole);
    assert_string_equal(hex(hashes), block_0);
    assert_string_equal(hex(whole), file);
}

static void the_vectors_of_the_page_hold(void **state)
{
    (void)state;
    uint8_t *bytes = calloc(BLOCK_SIZE + 1, 1);
    assert_non_null(bytes);
    expect_file((const uint8_t *)"", 0, "99aa06d3014798d86001c324468d497f",
                "0532ad8675074226704ff6cfbd05c2e8");
    expect_file((const uint8_t *)"abc", 3, "06b05ab6733a618578af5f94892f3950",
                "00bb8f5bbcc6694e541b81f687d45e2f");
    expect_file(bytes, BLOCK_SIZE, "9d6bf1a4e92df02ce881a25e37e37b19", "aab7e46210251b595e8cb13fb7a67313");
    for (size_t i = 0; i <= BLOCK_SIZE; i++)
        bytes[i] = (uint8_t)(i % 251);
    expect_file(bytes, BLOCK_SIZE + 1, "0bf4ab5a606dc48828f323b4c7075cbf",
                "cb87af5584a07684c417decb4d40830a");
    free(bytes);
}

static void pieces_give_the_hash_of_the_whole(void **state)
{
    (void)state;
    const size_t size = 300000;
    uint8_t *bytes = filled(size, 1), whole[HASH_SIZE], got[HASH_SIZE];
    struct digest *digest = digest_create();
    static const size_t steps[] = {1, 63, 64, 255, 256, 1024, 4097, 300000};
    digest_block(bytes, size, whole);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        digest_begin(digest); /* again and again with the same one */
        for (size_t at = 0; at < size; at += steps[i])
            digest_update(digest, bytes + at, size - at < steps[i] ? size - at : steps[i]);
        digest_finish(digest, got);
        assert_memory_equal(got, whole, HASH_SIZE);
    }
    digest_begin(digest);
    digest_finish(digest, got);
    assert_string_equal(hex(got), "99aa06d3014798d86001c324468d497f");
    digest_destroy(&digest);
    assert_null(digest);
    digest_destroy(&digest);
    free(bytes);
}

static void the_size_is_part_of_the_file_hash(void **state)
{
    (void)state;
    uint8_t block[HASH_SIZE] = {1}, one[HASH_SIZE], two[HASH_SIZE];
    digest_file(block, 1, 5, one);
    digest_file(block, 1, 6, two);
    assert_memory_not_equal(one, two, HASH_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_page_hold),
        cmocka_unit_test(pieces_give_the_hash_of_the_whole),
        cmocka_unit_test(the_size_is_part_of_the_file_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
