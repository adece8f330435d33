/* Framing of control messages: lengths are refused before memory is taken, damage is noticed. */
#include "support.h"

#include "proto/bytes.h"
#include "proto/frame.h"
#include "proto/limits.h"

static void the_vector_of_the_page_holds(void **state)
{
    (void)state;
    uint8_t wire[FRAME_HEADER_SIZE];
    static const uint8_t wanted[FRAME_HEADER_SIZE] = {2, 0, 0, 0, 0x25, 0xb8, 0x65, 0x54};
    frame_encode("{}", 2, wire);
    assert_memory_equal(wire, wanted, sizeof wanted);
}

static void lengths_outside_the_limits_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t length;
        int result;
    } cases[] = {
        {0, -1},
        {1, -1},
        {2, 0},
        {3, 0},
        {LIMIT_FRAME - 1, 0},
        {LIMIT_FRAME, 0},
        {LIMIT_FRAME + 1, -1},
        {0x7fffffff, -1},
        {0x80000000, -1},
        {0xffffffff, -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t wire[FRAME_HEADER_SIZE] = {0};
        struct frame frame;
        struct error err = {0};
        put_le(wire, cases[i].length, 4);
        assert_int_equal(frame_decode(&frame, wire, &err), cases[i].result);
        assert_int_equal(err.code, cases[i].result ? ERROR_PROTOCOL : ERROR_NONE);
        assert_int_equal(frame.length, cases[i].length);
    }
}

static void any_changed_bit_of_the_text_or_the_check_is_noticed(void **state)
{
    (void)state;
    char text[] = "{\"type\":\"alive\"}";
    uint8_t wire[FRAME_HEADER_SIZE];
    struct frame frame;
    struct error err;
    frame_encode(text, strlen(text), wire);
    assert_int_equal(frame_decode(&frame, wire, &err), 0);
    assert_int_equal(frame_check(&frame, text, &err), 0);
    for (size_t bit = 0; bit < 8 * strlen(text); bit++) {
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << (bit % 8)));
        assert_int_equal(frame_check(&frame, text, &err), -1);
        assert_int_equal(err.code, ERROR_PROTOCOL);
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << (bit % 8)));
    }
    for (int bit = 32; bit < 64; bit++) {
        wire[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        assert_int_equal(frame_decode(&frame, wire, &err), 0);
        assert_int_equal(frame_check(&frame, text, &err), -1);
        wire[bit / 8] ^= (uint8_t)(1 << (bit % 8));
    }
}

static void the_longest_frame_works(void **state)
{
    (void)state;
    char *text = malloc(LIMIT_FRAME);
    uint8_t wire[FRAME_HEADER_SIZE];
    struct frame frame;
    struct error err;
    assert_non_null(text);
    memset(text, ' ', LIMIT_FRAME);
    frame_encode(text, LIMIT_FRAME, wire);
    assert_int_equal(frame_decode(&frame, wire, &err), 0);
    assert_int_equal(frame.length, LIMIT_FRAME);
    assert_int_equal(frame_check(&frame, text, &err), 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vector_of_the_page_holds),
        cmocka_unit_test(lengths_outside_the_limits_are_refused),
        cmocka_unit_test(any_changed_bit_of_the_text_or_the_check_is_noticed),
        cmocka_unit_test(the_longest_frame_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
