/* Data headers and trailers: layout, check value, limits of each type, and blocks at every border. */
#include "support.h"

#include "proto/bytes.h"
#include "proto/chunk.h"

static const uint64_t lengths[] = {0,
                                   1,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   BLOCK_SIZE - 1,
                                   BLOCK_SIZE,
                                   BLOCK_SIZE + 1,
                                   (uint64_t)1 << 63,
                                   UINT64_MAX};

static bool is_accepted(uint64_t type, uint8_t flags, uint32_t file, uint64_t offset, uint64_t length)
{
    uint8_t wire[CHUNK_HEADER_SIZE];
    struct chunk chunk = {(enum chunk_type)type, flags, file, offset, length}, got;
    struct error err = {0};
    chunk_encode(&chunk, wire);
    if (chunk_decode(&got, wire, &err) < 0) {
        assert_int_equal(err.code, ERROR_PROTOCOL);
        return false;
    }
    assert_int_equal(got.type, type);
    assert_int_equal(got.flags, flags);
    assert_int_equal(got.file, file);
    assert_int_equal(got.offset, offset);
    assert_int_equal(got.length, length);
    return true;
}

static void the_layout_is_that_of_the_page(void **state)
{
    (void)state;
    uint8_t wire[CHUNK_HEADER_SIZE];
    static const uint8_t wanted[24] = {5, 14, 0, 0, 4,    3, 2, 1, 0, 0, 0x80, 0,
                                       1, 0,  0, 0, 0xff, 1, 0, 0, 0, 0, 0,    0};
    chunk_encode(&(struct chunk){CHUNK_FAIL, 14, 0x01020304, 0x100800000, 511}, wire);
    assert_memory_equal(wire, wanted, 24);
    assert_int_equal(get_le(wire + 24, 8), fnv1a_64(wanted, 24));
}

static void any_changed_bit_is_noticed(void **state)
{
    (void)state;
    uint8_t wire[CHUNK_HEADER_SIZE];
    struct chunk got;
    struct error err;
    chunk_encode(&(struct chunk){CHUNK_DATA, 0, 7, 3 * BLOCK_SIZE, BLOCK_SIZE}, wire);
    for (int bit = 0; bit < 8 * CHUNK_HEADER_SIZE; bit++) {
        wire[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        assert_int_equal(chunk_decode(&got, wire, &err), -1);
        assert_int_equal(err.code, ERROR_PROTOCOL);
        wire[bit / 8] ^= (uint8_t)(1 << (bit % 8));
    }
    assert_int_equal(chunk_decode(&got, wire, &err), 0);
}

static void zero_bytes_are_looked_at(void **state)
{
    (void)state;
    for (int i = 2; i < 4; i++) {
        uint8_t wire[CHUNK_HEADER_SIZE];
        struct chunk got;
        struct error err;
        chunk_encode(&(struct chunk){CHUNK_ACK, 0, 0, 1, 0}, wire);
        wire[i] = 1;
        put_le(wire + 24, fnv1a_64(wire, 24), 8);
        assert_int_equal(chunk_decode(&got, wire, &err), -1);
    }
}

static void only_the_six_types_are_known(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 256; type++)
        assert_int_equal(is_accepted(type, type == CHUNK_FAIL, 0, 0, 0), type >= 1 && type <= 6);
}

static void blocks_start_on_a_border_and_are_no_longer_than_one(void **state)
{
    (void)state;
    static const enum chunk_type types[] = {CHUNK_DATA, CHUNK_WANT, CHUNK_BAD};
    static const uint64_t good[] = {0, BLOCK_SIZE, (uint64_t)1 << 31, (uint64_t)1 << 32,
                                    ((uint64_t)1 << 53) - BLOCK_SIZE};
    static const uint64_t wrong[] = {1,
                                     BLOCK_SIZE - 1,
                                     BLOCK_SIZE + 1,
                                     0x7fffffff,
                                     0xffffffff,
                                     UINT64_MAX,
                                     (uint64_t)1 << 63,
                                     (uint64_t)1 << 53,
                                     UINT64_MAX - BLOCK_SIZE + 1};
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        for (size_t i = 0; i < COUNT_OF(good); i++)
            assert_true(is_accepted(types[t], 0, UINT32_MAX, good[i], BLOCK_SIZE));
        for (size_t i = 0; i < COUNT_OF(wrong); i++)
            assert_false(is_accepted(types[t], 0, 0, wrong[i], 1));
        for (size_t i = 0; i < COUNT_OF(lengths); i++)
            assert_int_equal(is_accepted(types[t], 0, 0, BLOCK_SIZE, lengths[i]), lengths[i] <= BLOCK_SIZE);
        for (unsigned flags = 1; flags < 256; flags++)
            assert_false(is_accepted(types[t], (uint8_t)flags, 0, 0, 1));
    }
}

static void ack_and_end_carry_a_count_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        assert_true(is_accepted(CHUNK_ACK, 0, 0, lengths[i], 0));
        assert_true(is_accepted(CHUNK_END, 0, 0, lengths[i], 0));
        assert_int_equal(is_accepted(CHUNK_ACK, 0, 0, 1, lengths[i]), lengths[i] <= BLOCK_SIZE);
        assert_int_equal(is_accepted(CHUNK_END, 0, 0, 1, lengths[i]), lengths[i] == 0);
    }
    assert_false(is_accepted(CHUNK_ACK, 0, 1, 1, 0));
    assert_false(is_accepted(CHUNK_END, 0, 1, 1, 0));
    for (unsigned flags = 1; flags < 256; flags++) {
        assert_false(is_accepted(CHUNK_ACK, (uint8_t)flags, 0, 1, 0));
        assert_int_equal(is_accepted(CHUNK_END, (uint8_t)flags, 0, 1, 0), flags == CHUNK_END_SENDFILE);
    }
}

static void a_failure_has_a_code_and_a_short_text(void **state)
{
    (void)state;
    assert_false(is_accepted(CHUNK_FAIL, 0, 0, 0, 0));
    for (unsigned flags = 1; flags < 256; flags++)
        assert_true(is_accepted(CHUNK_FAIL, (uint8_t)flags, 3, BLOCK_SIZE,
                                LIMIT_TEXT)); /* unknown codes are `failed` */
    assert_false(is_accepted(CHUNK_FAIL, 1, 3, 0, LIMIT_TEXT + 1));
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        assert_int_equal(is_accepted(CHUNK_FAIL, 1, 3, 0, lengths[i]), lengths[i] <= LIMIT_TEXT);
    assert_false(is_accepted(CHUNK_FAIL, 1, 3, 5, 0));
}

static void a_block_of_a_file_is_one_of_its_blocks_whole(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,         1, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 3 * BLOCK_SIZE,
                                     LIMIT_SIZE};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint64_t size = sizes[i], count = block_count(size), total = 0;
        for (uint64_t n = 0; n < count && n < 5; n++) {
            struct chunk chunk = {CHUNK_DATA, 0, 0, n * BLOCK_SIZE, block_length(size, n)};
            assert_true(chunk_is_block_of(&chunk, size));
            total += chunk.length;
            for (size_t k = 0; k < COUNT_OF(lengths); k++) {
                chunk.length = lengths[k];
                assert_int_equal(chunk_is_block_of(&chunk, size), lengths[k] == block_length(size, n));
            }
        }
        if (count < 5)
            assert_int_equal(total, size);
        struct chunk last = {CHUNK_DATA, 0, 0, (count - 1) * BLOCK_SIZE, block_length(size, count - 1)};
        assert_true(chunk_is_block_of(&last, size));
        static const uint64_t beyond[] = {1,
                                          0x7fffffff,
                                          0x80000000,
                                          0xffffffff,
                                          (uint64_t)1 << 63,
                                          UINT64_MAX,
                                          UINT64_MAX - BLOCK_SIZE + 1};
        for (size_t k = 0; k < COUNT_OF(beyond); k++) {
            last.offset = count * BLOCK_SIZE > beyond[k] ? count * BLOCK_SIZE : beyond[k];
            if (last.offset / BLOCK_SIZE < count && last.offset % BLOCK_SIZE == 0)
                continue;                                    /* inside a huge file, of its own length */
            for (size_t n = 0; n < COUNT_OF(lengths); n++) { /* also where offset + length wraps */
                last.length = lengths[n];
                assert_false(chunk_is_block_of(&last, size));
            }
        }
    }
}

static void blocks_are_counted_without_overflow(void **state)
{
    (void)state;
    assert_int_equal(block_count(0), 1);
    assert_int_equal(block_count(1), 1);
    assert_int_equal(block_count(BLOCK_SIZE), 1);
    assert_int_equal(block_count(BLOCK_SIZE + 1), 2);
    assert_int_equal(block_count(LIMIT_SIZE), (uint64_t)1 << 30);
    assert_int_equal(block_count(UINT64_MAX), (uint64_t)1 << 41);
    assert_int_equal(block_length(LIMIT_SIZE, ((uint64_t)1 << 30) - 1), BLOCK_SIZE - 1);
    assert_int_equal(block_length(UINT64_MAX, 0), BLOCK_SIZE);
}

static void trailers_carry_a_hash_and_a_status(void **state)
{
    (void)state;
    uint8_t hash[HASH_SIZE], got[HASH_SIZE], wire[CHUNK_TRAILER_SIZE];
    enum error_code status;
    struct error err;
    fill(hash, sizeof hash, 1);
    for (int code = 0; code < ERROR_CODE_COUNT; code++) {
        chunk_trailer_encode(hash, (enum error_code)code, wire);
        assert_int_equal(get_le(wire + 16, 4), code);
        assert_int_equal(chunk_trailer_decode(got, &status, wire, &err), 0);
        assert_memory_equal(got, hash, HASH_SIZE);
        assert_int_equal(status, code);
    }
    static const uint64_t unknown[] = {ERROR_CODE_COUNT, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        put_le(wire + 16, unknown[i], 4);
        assert_int_equal(chunk_trailer_decode(got, &status, wire, &err), 0);
        assert_int_equal(status, ERROR_FAILED); /* never "good" */
    }
    for (int i = 20; i < 24; i++) {
        chunk_trailer_encode(hash, ERROR_NONE, wire);
        wire[i] = 1;
        assert_int_equal(chunk_trailer_decode(got, &status, wire, &err), -1);
        assert_int_equal(err.code, ERROR_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_that_of_the_page),
        cmocka_unit_test(any_changed_bit_is_noticed),
        cmocka_unit_test(zero_bytes_are_looked_at),
        cmocka_unit_test(only_the_six_types_are_known),
        cmocka_unit_test(blocks_start_on_a_border_and_are_no_longer_than_one),
        cmocka_unit_test(ack_and_end_carry_a_count_and_nothing_else),
        cmocka_unit_test(a_failure_has_a_code_and_a_short_text),
        cmocka_unit_test(a_block_of_a_file_is_one_of_its_blocks_whole),
        cmocka_unit_test(blocks_are_counted_without_overflow),
        cmocka_unit_test(trailers_carry_a_hash_and_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
