/* Hello and reply: every byte of the layout, and every value that has to be refused. */
#include "support.h"

#include "proto/bytes.h"
#include "proto/hello.h"
#include "proto/limits.h"

static const uint8_t magic[8] = {0x6d, 0x73, 0x74, 0x6f, 0x72, 0x65, 0x0d, 0x0a};

static void data_hello(uint8_t out[HELLO_SIZE])
{
    struct hello hello = {.version = 1, .role = HELLO_DATA, .features = 0x01020304, .stream = 63};
    memset(hello.session, 0xa5, sizeof hello.session);
    hello_encode(&hello, out);
}

static void ok_reply(uint8_t out[HELLO_SIZE])
{
    struct hello_reply reply = {.version = 1, .features = 0x80000001, .max_streams = 64};
    memset(reply.session, 0x5a, sizeof reply.session);
    hello_reply_encode(&reply, out);
}

static void the_layout_is_that_of_the_page(void **state)
{
    (void)state;
    uint8_t wire[HELLO_SIZE], wanted[HELLO_SIZE] = {0};
    data_hello(wire);
    memcpy(wanted, magic, 8);
    wanted[8] = 1;
    wanted[10] = 2;
    memcpy(wanted + 12, "\4\3\2\1", 4);
    memset(wanted + 16, 0xa5, 16);
    wanted[32] = 63;
    assert_memory_equal(wire, wanted, HELLO_SIZE);
    ok_reply(wire);
    memset(wanted, 0, sizeof wanted);
    memcpy(wanted, magic, 8);
    wanted[8] = 1;
    memcpy(wanted + 12, "\1\0\0\x80", 4);
    memset(wanted + 16, 0x5a, 16);
    memcpy(wanted + 32, "\0\0\x80\0", 4);
    wanted[36] = 64;
    assert_memory_equal(wire, wanted, HELLO_SIZE);
}

static void what_is_encoded_is_decoded(void **state)
{
    (void)state;
    uint8_t wire[HELLO_SIZE];
    struct hello hello;
    struct hello_reply reply;
    struct error err;
    data_hello(wire);
    assert_int_equal(hello_decode(&hello, wire, &err), 0);
    assert_int_equal(hello.version, 1);
    assert_int_equal(hello.role, HELLO_DATA);
    assert_int_equal(hello.features, 0x01020304); /* unknown ones are handed on, not refused */
    assert_int_equal(hello.stream, 63);
    assert_int_equal(hello.session[15], 0xa5);
    ok_reply(wire);
    assert_int_equal(hello_reply_decode(&reply, wire, &err), 0);
    assert_int_equal(reply.status, HELLO_OK);
    assert_int_equal(reply.features, 0x80000001);
    assert_int_equal(reply.max_streams, 64);
    assert_int_equal(reply.session[0], 0x5a);
}

/* One field of a good hello or reply replaced by a value. */
struct change {
    int offset, bytes;
    uint64_t value;
    enum error_code code; /* ERROR_NONE: still good */
};

static const struct change hello_changes[] = {
    {8, 2, 0, ERROR_VERSION},
    {8, 2, 2, ERROR_VERSION},
    {8, 2, 0xffff, ERROR_VERSION},
    {10, 2, 0, ERROR_PROTOCOL},
    {10, 2, 3, ERROR_PROTOCOL},
    {10, 2, 0x0102, ERROR_PROTOCOL},
    {10, 2, 0xffff, ERROR_PROTOCOL},
    {12, 4, 0xffffffff, ERROR_NONE},
    {12, 4, 0, ERROR_NONE},
    {32, 4, 0, ERROR_NONE},
    {32, 4, 64, ERROR_PROTOCOL},
    {32, 4, 0x7fffffff, ERROR_PROTOCOL},
    {32, 4, 0x80000000, ERROR_PROTOCOL},
    {32, 4, 0xffffffff, ERROR_PROTOCOL},
};

static const struct change reply_changes[] = {
    {8, 2, 0, ERROR_VERSION},
    {8, 2, 2, ERROR_VERSION},
    {8, 2, 0xffff, ERROR_VERSION},
    {10, 2, 1, ERROR_NONE},
    {10, 2, 5, ERROR_NONE},
    {10, 2, 6, ERROR_NONE},
    {10, 2, 7, ERROR_PROTOCOL},
    {10, 2, 0x0100, ERROR_PROTOCOL},
    {10, 2, 0xffff, ERROR_PROTOCOL},
    {12, 4, 0xffffffff, ERROR_NONE},
    {32, 4, 0, ERROR_PROTOCOL},
    {32, 4, 4194304, ERROR_PROTOCOL},
    {32, 4, 8388607, ERROR_PROTOCOL},
    {32, 4, 8388609, ERROR_PROTOCOL},
    {32, 4, 0xffffffff, ERROR_PROTOCOL},
    {36, 4, 0, ERROR_PROTOCOL},
    {36, 4, 1, ERROR_NONE},
    {36, 4, 65, ERROR_PROTOCOL},
    {36, 4, 0x7fffffff, ERROR_PROTOCOL},
    {36, 4, 0x80000000, ERROR_PROTOCOL},
    {36, 4, 0xffffffff, ERROR_PROTOCOL},
};

static int decode(const uint8_t wire[HELLO_SIZE], bool is_reply, struct error *err)
{
    struct hello hello;
    struct hello_reply reply;
    memset(err, 0, sizeof *err);
    return is_reply ? hello_reply_decode(&reply, wire, err) : hello_decode(&hello, wire, err);
}

static void every_field_is_held_against_its_limits(void **state)
{
    (void)state;
    for (int is_reply = 0; is_reply < 2; is_reply++) {
        const struct change *changes = is_reply ? reply_changes : hello_changes;
        size_t count = is_reply ? COUNT_OF(reply_changes) : COUNT_OF(hello_changes);
        for (size_t i = 0; i < count; i++) {
            uint8_t wire[HELLO_SIZE];
            struct error err;
            if (is_reply)
                ok_reply(wire);
            else
                data_hello(wire);
            put_le(wire + changes[i].offset, changes[i].value, changes[i].bytes);
            assert_int_equal(decode(wire, is_reply != 0, &err), changes[i].code ? -1 : 0);
            assert_int_equal(err.code, changes[i].code);
        }
    }
}

static void another_magic_is_another_program(void **state)
{
    (void)state;
    for (int is_reply = 0; is_reply < 2; is_reply++)
        for (int i = 0; i < 8; i++)
            for (int bit = 0; bit < 8; bit++) {
                uint8_t wire[HELLO_SIZE];
                struct error err;
                if (is_reply)
                    ok_reply(wire);
                else
                    data_hello(wire);
                wire[i] ^= (uint8_t)(1 << bit);
                assert_int_equal(decode(wire, is_reply != 0, &err), -1);
                assert_int_equal(err.code, ERROR_NOT_MSTORE);
            }
}

static void bytes_that_must_be_zero_are_looked_at(void **state)
{
    (void)state;
    for (int is_reply = 0; is_reply < 2; is_reply++)
        for (int i = is_reply ? 40 : 36; i < HELLO_SIZE; i++) {
            uint8_t wire[HELLO_SIZE];
            struct error err;
            if (is_reply)
                ok_reply(wire);
            else
                data_hello(wire);
            wire[i] = 0x80;
            assert_int_equal(decode(wire, is_reply != 0, &err), -1);
            assert_int_equal(err.code, ERROR_PROTOCOL);
        }
}

static void the_version_of_the_peer_is_known_even_if_it_is_another(void **state)
{
    (void)state;
    uint8_t wire[HELLO_SIZE];
    struct hello hello;
    struct hello_reply reply;
    struct error err;
    data_hello(wire);
    put_le(wire + 8, 513, 2);
    memset(wire + 10, 0xff, HELLO_SIZE - 10); /* the rest may mean anything there */
    assert_int_equal(hello_decode(&hello, wire, &err), -1);
    assert_int_equal(err.code, ERROR_VERSION);
    assert_int_equal(hello.version, 513);
    assert_int_equal(hello_reply_decode(&reply, wire, &err), -1);
    assert_int_equal(err.code, ERROR_VERSION);
    assert_int_equal(reply.version, 513);
    assert_non_null(strstr(err.text, "513"));
}

static void a_control_connection_names_neither_session_nor_stream(void **state)
{
    (void)state;
    struct hello hello = {.version = 1, .role = HELLO_CONTROL};
    uint8_t wire[HELLO_SIZE];
    struct error err;
    hello_encode(&hello, wire);
    assert_int_equal(hello_decode(&hello, wire, &err), 0);
    for (int i = 16; i < 33; i++) {
        hello_encode(&(struct hello){.version = 1, .role = HELLO_CONTROL}, wire);
        wire[i] = 1;
        assert_int_equal(hello_decode(&hello, wire, &err), -1);
        assert_int_equal(err.code, ERROR_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_that_of_the_page),
        cmocka_unit_test(what_is_encoded_is_decoded),
        cmocka_unit_test(every_field_is_held_against_its_limits),
        cmocka_unit_test(another_magic_is_another_program),
        cmocka_unit_test(bytes_that_must_be_zero_are_looked_at),
        cmocka_unit_test(the_version_of_the_peer_is_known_even_if_it_is_another),
        cmocka_unit_test(a_control_connection_names_neither_session_nor_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
