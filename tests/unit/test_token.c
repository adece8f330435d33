/* Token files as people write them, and proofs that hold for one handshake, one token and one side only. */
#include "support.h"

#include "common/token.h"
#include "proto/bytes.h"

static char path[300];

static void write_tokens(const struct scratch *scratch, const char *text, mode_t mode)
{
    write_file(scratch->fd, "tokens", text, strlen(text));
    (void)snprintf(path, sizeof path, "%s/tokens", scratch->path);
    assert_int_equal(fchmodat(scratch->fd, "tokens", mode, 0), 0);
}

static void a_file_is_read_line_by_line(void **state)
{
    struct token_list list;
    struct token alone;
    struct error err = {0};
    write_tokens(*state,
                 "# keys\n\n  rw 0123456789012345678901 \r\nro\tshort\n \t\nrw 0123456789012345678902", 0600);
    if (token_list_load(&list, path, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(list.count, 3);
    assert_true(list.tokens[0].may_write);
    assert_false(list.tokens[1].may_write);
    assert_true(list.tokens[2].may_write);
    assert_int_equal(list.short_line, 4);
    assert_memory_not_equal(list.tokens[0].key, list.tokens[2].key, SECRET_SIZE);
    write_tokens(*state, "0123456789012345678901\n", 0400);
    assert_int_equal(token_load(&alone, path, &err), 0);
    assert_memory_equal(alone.key, list.tokens[0].key, SECRET_SIZE);
    write_tokens(*state, "ro 0123456789012345678901", 0600);
    assert_int_equal(token_load(&alone, path, &err), 0);
    assert_memory_equal(alone.key, list.tokens[0].key, SECRET_SIZE);
    token_list_release(&list);
}

static void refuse(const struct scratch *scratch, const char *text, mode_t mode, const char *part)
{
    struct token_list list;
    struct error err = {0};
    write_tokens(scratch, text, mode);
    assert_int_equal(token_list_load(&list, path, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    if (!strstr(err.text, part) || strstr(err.text, "secret"))
        fail_msg("%s", err.text);
}

static void what_is_no_token_file_is_refused_without_saying_what_stands_in_it(void **state)
{
    struct error err;
    struct token token;
    refuse(*state, "", 0600, "no token");
    refuse(*state, "# rw secret\n", 0600, "no token");
    refuse(*state, "secret\n", 0600, "line 1");
    refuse(*state, "rw secret\nrx secret\n", 0600, "line 2");
    refuse(*state, "rw \n", 0600, "line 1");
    refuse(*state, "rw secret secret\n", 0600, "line 1");
    refuse(*state, "rw se\xc3\xa9secret\n", 0600, "line 1");
    refuse(*state, "rw secret\n", 0604, "chmod 600");
    refuse(*state, "rw secret\n", 0640, "chmod 600");
    refuse(*state, "rw secret\n", 0620, "chmod 600");
    static char large[(1 << 20) + 1];
    memset(large, '\n', sizeof large - 1);
    refuse(*state, large, 0600, "too large");
    write_tokens(*state, "secret\nsecret2\n", 0600);
    assert_int_equal(token_load(&token, path, &err), -1);
    assert_int_equal(token_load(&token, "/dev/null", &err), -1);
    assert_int_equal(token_load(&token, "/nonexistent", &err), -1);
    assert_int_equal(err.sys, ENOENT);
}

static void a_new_token_is_long_and_another_each_time(void **state)
{
    struct token_list list;
    struct error err;
    char lines[2][TOKEN_LINE_MAX], text[2 * TOKEN_LINE_MAX + 2];
    token_make_line(lines[0], true);
    token_make_line(lines[1], false);
    assert_int_equal(strlen(lines[0]), 3 + 43);
    assert_memory_equal(lines[0], "rw ", 3);
    assert_memory_equal(lines[1], "ro ", 3);
    assert_string_not_equal(lines[0] + 3, lines[1] + 3);
    (void)snprintf(text, sizeof text, "%s\n%s\n", lines[0], lines[1]);
    write_tokens(*state, text, 0600);
    assert_int_equal(token_list_load(&list, path, &err), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.short_line, 0);
    token_list_release(&list);
}

static struct token make_token(uint8_t seed)
{
    struct token token = {.may_write = true};
    memset(token.key, seed, sizeof token.key);
    return token;
}

/* Computed by hand with another implementation of BLAKE2b and HMAC-SHA-512. */
static void proofs_are_those_of_the_page(void **state)
{
    (void)state;
    struct token token = make_token(7);
    struct handshake handshake;
    uint8_t proof[SECRET_SIZE];
    memset(handshake.server_nonce, 1, SECRET_SIZE);
    memset(handshake.client_nonce, 2, SECRET_SIZE);
    memset(handshake.session, 3, SESSION_ID_SIZE);
    static const struct {
        void (*make)(const struct handshake *, const struct token *, uint8_t *);
        uint64_t start; /* of the proof, big-endian */
    } cases[] = {
        {handshake_client_proof, UINT64_C(0x82db810ed7a4ec33)},
        {handshake_server_proof, UINT64_C(0x7539fc736e78b660)},
        {handshake_session_key, UINT64_C(0xce7d67823c0d2f2b)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        cases[i].make(&handshake, &token, proof);
        uint64_t start = 0;
        for (size_t b = 0; b < 8; b++)
            start = start << 8 | proof[b];
        assert_int_equal(start, cases[i].start);
    }
    handshake_stream_proof(token.key, handshake.session, 63, proof);
    assert_int_equal(get_le(proof, 8), UINT64_C(0xe97f959ae8eb63fe));
}

static void a_proof_fits_one_handshake_and_one_token(void **state)
{
    (void)state;
    struct token tokens[3] = {make_token(1), make_token(2), make_token(3)};
    struct token_list list = {tokens, 3, 0};
    struct handshake handshake, other;
    uint8_t proof[SECRET_SIZE], wrong[SECRET_SIZE];
    handshake_random(&handshake, sizeof handshake);
    handshake_client_proof(&handshake, &tokens[1], proof);
    assert_ptr_equal(handshake_find(&handshake, &list, proof), &tokens[1]);
    for (size_t bit = 0; bit < 8 * SECRET_SIZE; bit++) {
        memcpy(wrong, proof, sizeof wrong);
        wrong[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_null(handshake_find(&handshake, &list, wrong));
    }
    for (size_t byte = 0; byte < sizeof handshake; byte++) {
        other = handshake;
        ((uint8_t *)&other)[byte] ^= 1;
        assert_null(handshake_find(&other, &list, proof));
    }
    handshake_server_proof(&handshake, &tokens[1], wrong); /* sent back, it opens nothing */
    assert_null(handshake_find(&handshake, &list, wrong));
    list.count = 1;
    assert_null(handshake_find(&handshake, &list, proof));
}

int main(void)
{
    struct error err;
    const struct CMUnitTest tests[] = {
        scratch_test(a_file_is_read_line_by_line),
        scratch_test(what_is_no_token_file_is_refused_without_saying_what_stands_in_it),
        scratch_test(a_new_token_is_long_and_another_each_time),
        cmocka_unit_test(proofs_are_those_of_the_page),
        cmocka_unit_test(a_proof_fits_one_handshake_and_one_token),
    };
    if (token_start(&err) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
