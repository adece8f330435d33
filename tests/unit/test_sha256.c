/* SHA-256: the examples of FIPS 180-4's companion pages, in one piece and in many. */
#include "support.h"

#include "common/sha256.h"

static void hex(const uint8_t hash[SHA256_SIZE], char out[2 * SHA256_SIZE + 1])
{
    for (int i = 0; i < SHA256_SIZE; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

static void known_texts_have_their_known_hash(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hash;
    } known[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct sha256 whole, pieces;
        uint8_t out[SHA256_SIZE];
        char text[2 * SHA256_SIZE + 1];
        sha256_begin(&whole);
        sha256_update(&whole, known[i].text, strlen(known[i].text));
        sha256_finish(&whole, out);
        hex(out, text);
        assert_string_equal(text, known[i].hash);
        sha256_begin(&pieces);
        for (const char *at = known[i].text; *at; at++)
            sha256_update(&pieces, at, 1);
        sha256_finish(&pieces, out);
        hex(out, text);
        assert_string_equal(text, known[i].hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_their_known_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
