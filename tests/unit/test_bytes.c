/* Little-endian numbers and FNV-1a. */
#include "support.h"

#include "proto/bytes.h"

static const uint64_t numbers[] = {
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x0102,
    0xffff,
    0x01020304,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x0102030405060708,
    (uint64_t)1 << 63,
    UINT64_MAX,
};

static void numbers_survive_and_touch_only_their_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        for (int bytes = 1; bytes <= 8; bytes++) {
            uint8_t wire[10];
            uint64_t mask = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * bytes)) - 1;
            memset(wire, 0xee, sizeof wire);
            put_le(wire + 1, numbers[i], bytes);
            assert_int_equal(get_le(wire + 1, bytes), numbers[i] & mask);
            assert_int_equal(wire[0], 0xee);
            assert_int_equal(wire[1 + bytes], 0xee);
        }
}

static void the_lowest_byte_comes_first(void **state)
{
    (void)state;
    uint8_t wire[8];
    put_le(wire, 0x0102030405060708, 8);
    assert_memory_equal(wire, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
}

static void zero_is_all_zero(void **state)
{
    (void)state;
    uint8_t bytes[17] = {0};
    assert_true(is_zero(bytes, sizeof bytes));
    assert_true(is_zero(bytes, 0));
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 0x80;
        assert_false(is_zero(bytes, sizeof bytes));
        assert_true(is_zero(bytes, i));
        bytes[i] = 0;
    }
}

static void fnv_vectors_hold(void **state)
{
    (void)state;
    static const uint8_t zeros[24] = {0};
    assert_int_equal(fnv1a_32("{}", 2), 0x5465b825);
    assert_int_equal(fnv1a_64(zeros, 24), 0x81d23fd7003c2305);
    assert_int_equal(fnv1a_32("", 0), 0x811c9dc5);
    assert_int_equal(fnv1a_32("foobar", 6), 0xbf9cf968);
    assert_int_equal(fnv1a_64("", 0), 0xcbf29ce484222325);
    assert_int_equal(fnv1a_64("foobar", 6), 0x85944171f73967e8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_survive_and_touch_only_their_bytes),
        cmocka_unit_test(the_lowest_byte_comes_first),
        cmocka_unit_test(zero_is_all_zero),
        cmocka_unit_test(fnv_vectors_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
