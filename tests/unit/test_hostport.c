/* HOST[:PORT]: what is accepted, what is refused with which advice, and which addresses are loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "common/hostport.h"

static void hosts_and_ports_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *host;
        uint16_t port;
        const char *formatted;
    } cases[] = {
        {"nas", "nas", 7420, "nas:7420"},
        {"nas.lan:80", "nas.lan", 80, "nas.lan:80"},
        {"my_nas-2", "my_nas-2", 7420, "my_nas-2:7420"},
        {"10.0.0.2", "10.0.0.2", 7420, "10.0.0.2:7420"},
        {"10.0.0.2:0", "10.0.0.2", 0, "10.0.0.2:0"},
        {"10.0.0.2:65535", "10.0.0.2", 65535, "10.0.0.2:65535"},
        {"[::1]", "::1", 7420, "[::1]:7420"},
        {"[::1]:99", "::1", 99, "[::1]:99"},
        {"[fe80::1%eth0]:7420", "fe80::1%eth0", 7420, "[fe80::1%eth0]:7420"},
        {"[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1, "[::ffff:10.0.0.1]:1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hostport hostport;
        struct error err;
        char text[HOSTPORT_TEXT_MAX];
        assert_int_equal(hostport_parse(&hostport, cases[i].text, 7420, &err), 0);
        assert_string_equal(hostport.host, cases[i].host);
        assert_int_equal(hostport.port, cases[i].port);
        assert_string_equal(hostport_format(text, &hostport), cases[i].formatted);
    }
}

static void wrong_forms_are_refused_and_quoted(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",         ":",         ":7420",      "nas:",     "nas:x",      "nas:65536",  "nas:-1",
        "nas: 80",  "nas:80:90", "::1",        "::1:7420", "[::1",       "[::1]x",     "[::1]:",
        "[nas]:80", "[]:80",     "[fe80::1%]", "na s",     "http://nas", "nas/x",      "1.2.3.999",
        "1.2.3",    "-nas",      ".nas",       "[::1]]",   "n\xc3\xa4s", "[10.0.0.1]", "[::g]",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct hostport hostport;
        struct error err;
        assert_int_equal(hostport_parse(&hostport, wrong[i], 7420, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
        assert_non_null(strstr(err.text, wrong[i]));
    }
}

static void bare_ipv6_is_shown_with_its_brackets(void **state)
{
    (void)state;
    struct hostport hostport;
    struct error err;
    assert_int_equal(hostport_parse(&hostport, "fe80::1", 7420, &err), -1);
    assert_string_equal(err.text, "'fe80::1' is IPv6 without brackets: write '[fe80::1]'");
}

static void the_longest_name_fits_and_a_longer_one_is_refused(void **state)
{
    (void)state;
    struct hostport hostport;
    struct error err;
    char text[HOSTPORT_HOST_MAX + 1];
    memset(text, 'a', sizeof text);
    text[HOSTPORT_HOST_MAX] = '\0';
    assert_int_equal(hostport_parse(&hostport, text, 7420, &err), -1);
    text[HOSTPORT_HOST_MAX - 1] = '\0';
    assert_int_equal(hostport_parse(&hostport, text, 7420, &err), 0);
    assert_string_equal(hostport.host, text);
}

static void loopback_is_what_stays_on_the_machine(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1", true},        {"127.9.9.9", true}, {"localhost", true},
        {"LOCALHOST", true},        {"::1", true},       {"::ffff:127.0.0.1", true},
        {"0.0.0.0", false},         {"::", false},       {"10.0.0.1", false},
        {"128.0.0.1", false},       {"nas", false},      {"localhost.evil", false},
        {"::ffff:10.0.0.1", false}, {"fe80::1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hostport hostport = {.port = 1};
        memcpy(hostport.host, cases[i].host, strlen(cases[i].host) + 1);
        assert_int_equal(hostport_is_loopback(&hostport), cases[i].is_loopback);
    }
}

static void socket_addresses_are_judged_alike(void **state)
{
    (void)state;
    struct sockaddr_in ipv4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    assert_int_equal(inet_pton(AF_INET, "127.0.1.1", &ipv4.sin_addr), 1);
    assert_true(hostport_is_loopback_address((struct sockaddr *)&ipv4));
    assert_int_equal(inet_pton(AF_INET, "192.168.0.1", &ipv4.sin_addr), 1);
    assert_false(hostport_is_loopback_address((struct sockaddr *)&ipv4));
    assert_int_equal(inet_pton(AF_INET6, "::1", &ipv6.sin6_addr), 1);
    assert_true(hostport_is_loopback_address((struct sockaddr *)&ipv6));
    assert_int_equal(inet_pton(AF_INET6, "fd00::1", &ipv6.sin6_addr), 1);
    assert_false(hostport_is_loopback_address((struct sockaddr *)&ipv6));
    assert_false(hostport_is_loopback_address((struct sockaddr *)&local));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_ports_are_read),
        cmocka_unit_test(wrong_forms_are_refused_and_quoted),
        cmocka_unit_test(bare_ipv6_is_shown_with_its_brackets),
        cmocka_unit_test(the_longest_name_fits_and_a_longer_one_is_refused),
        cmocka_unit_test(loopback_is_what_stays_on_the_machine),
        cmocka_unit_test(socket_addresses_are_judged_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
