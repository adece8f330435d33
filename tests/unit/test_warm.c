/* Warming: what is a network mount, and the words for what came of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/warm.h"

static void network_mounts_have_a_hint_for_loaders(void **state)
{
    (void)state;
    assert_true(warm_is_network("nfs4"));
    assert_true(warm_is_network("cifs"));
    assert_false(warm_is_network("ext4"));
    assert_false(warm_is_network("nfsd"));
    struct warm warm = {.is_network = true};
    assert_non_null(strstr(warm_loader_hint(&warm), "--load-mode none"));
    warm.is_network = false;
    assert_null(warm_loader_hint(&warm));
}

static void the_words_say_what_is_resident(void **state)
{
    (void)state;
    char text[WARM_TEXT_MAX];
    struct warm warm = {
        .bytes = 4200000000, .resident = 4200000000, .available = 8000000000, .is_counted = true};
    assert_string_equal(warm_text(text, &warm), "4.20 GB of 4.20 GB are in the page cache");
    warm.available = 2000000000;
    warm.resident = 1900000000;
    assert_string_equal(warm_text(text, &warm),
                        "1.90 GB of 4.20 GB are in the page cache; no more was read, for "
                        "2.00 GB of memory are available");
    warm.is_counted = false;
    assert_non_null(strstr(warm_text(text, &warm), "does not tell"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_mounts_have_a_hint_for_loaders),
        cmocka_unit_test(the_words_say_what_is_resident),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
