/* Every block once, in order, with its hash or without; and nothing that is not wanted. */
#include "support.h"

#include "common/block_pass.h"
#include "common/digest.h"

#define SIZE (2 * BLOCK_SIZE + 1000)

struct seen {
    const uint8_t *bytes; /* of the file, of SIZE */
    uint64_t blocks[4];
    bool is_read[4];
    size_t count, most; /* ends with so many */
};

static bool see(void *context, uint64_t block, const uint8_t *hash)
{
    struct seen *seen = context;
    uint8_t wanted[HASH_SIZE];
    assert_in_range(seen->count, 0, COUNT_OF(seen->blocks) - 1);
    seen->blocks[seen->count] = block;
    seen->is_read[seen->count] = hash != NULL;
    if (hash) {
        digest_block(seen->bytes + block * BLOCK_SIZE, (size_t)block_length(SIZE, block), wanted);
        assert_memory_equal(hash, wanted, HASH_SIZE);
    }
    return ++seen->count != seen->most;
}

static int open_scratch(const struct scratch *scratch, uint64_t size, uint8_t **bytes)
{
    *bytes = filled(SIZE, 1);
    write_file(scratch->fd, "file", *bytes, size);
    int fd = openat(scratch->fd, "file", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void each_block_is_seen_once(void **state)
{
    uint8_t *bytes;
    int fd = open_scratch(*state, SIZE, &bytes);
    struct seen seen = {.bytes = bytes};
    assert_true(block_pass(fd, SIZE, 3, NULL, see, &seen));
    assert_int_equal(seen.count, 3);
    for (uint64_t b = 0; b < 3; b++)
        assert_true(seen.blocks[b] == b && seen.is_read[b]);
    seen.count = 0;
    assert_true(block_pass(fd, SIZE, 2, NULL, see, &seen));
    assert_int_equal(seen.count, 2);
    (void)close(fd);
    free(bytes);
}

static void only_wanted_blocks_are_seen(void **state)
{
    uint8_t *bytes;
    int fd = open_scratch(*state, SIZE, &bytes);
    struct seen seen = {.bytes = bytes};
    assert_true(block_pass(fd, SIZE, 3, (const uint8_t *)"\0\0\1", see, &seen));
    assert_int_equal(seen.count, 1);
    assert_true(seen.blocks[0] == 2 && seen.is_read[0]);
    (void)close(fd);
    free(bytes);
}

static void what_cannot_be_read_whole_has_no_hash(void **state)
{
    uint8_t *bytes;
    int fd = open_scratch(*state, SIZE - 1, &bytes);
    struct seen seen = {.bytes = bytes};
    assert_true(block_pass(fd, SIZE, 3, NULL, see, &seen));
    assert_int_equal(seen.count, 3);
    assert_true(seen.is_read[0] && seen.is_read[1] && !seen.is_read[2]);
    seen.count = 0;
    assert_true(block_pass(-1, SIZE, 3, NULL, see, &seen));
    assert_int_equal(seen.count, 3);
    assert_false(seen.is_read[0] || seen.is_read[1] || seen.is_read[2]);
    (void)close(fd);
    free(bytes);
}

static void the_visitor_ends_it(void **state)
{
    uint8_t *bytes;
    int fd = open_scratch(*state, SIZE, &bytes);
    for (size_t most = 1; most <= 3; most++) {
        struct seen seen = {.bytes = bytes, .most = most};
        assert_false(block_pass(fd, SIZE, 3, NULL, see, &seen));
        assert_int_equal(seen.count, most);
    }
    (void)close(fd);
    free(bytes);
}

static bool keep(void *context, uint64_t block, const uint8_t *hash)
{
    assert_int_equal(block, 0);
    assert_non_null(hash);
    memcpy(context, hash, HASH_SIZE);
    return true;
}

static void an_empty_file_has_one_block(void **state)
{
    const struct scratch *scratch = *state;
    uint8_t got[HASH_SIZE] = {0}, wanted[HASH_SIZE];
    write_file(scratch->fd, "empty", "", 0);
    int fd = openat(scratch->fd, "empty", O_RDONLY | O_CLOEXEC);
    assert_true(block_pass(fd, 0, 1, NULL, keep, got));
    digest_block("", 0, wanted);
    assert_memory_equal(got, wanted, HASH_SIZE);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(each_block_is_seen_once),
        scratch_test(only_wanted_blocks_are_seen),
        scratch_test(what_cannot_be_read_whole_has_no_hash),
        scratch_test(the_visitor_ends_it),
        scratch_test(an_empty_file_has_one_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
