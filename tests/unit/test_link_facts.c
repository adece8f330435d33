/* What a link is: the interface of an address, the fastest of its modes, and the loopback as it is here. */
#include "support.h"

#include "common/link_facts.h"

#include <linux/ethtool.h>

static const char inet6[] = "00000000000000000000000000000001 01 80 10 80       lo\n"
                            "fe80000000000000021122fffe334455 02 40 20 80     eth0\n"
                            "fd00000000000000000000000000000a 0a 40 00 80   bond0.100\n";

static void an_address_leads_to_its_interface(void **state)
{
    (void)state;
    static const struct {
        uint8_t address[16];
        const char *name;
    } cases[] = {
        {{[15] = 1}, "lo"},
        {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55}, "eth0"},
        {{0xfd, [15] = 0x0a}, "bond0.100"},
        {{0xfd, [15] = 0x0b}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char name[IF_NAMESIZE];
        assert_int_equal(link_find_inet6(inet6, cases[i].address, name), cases[i].name != NULL);
        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
    }
}

static void a_text_without_addresses_has_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "x", "00000000000000000000000000000001 01 80"};
    static const uint8_t one[16] = {[15] = 1};
    char name[IF_NAMESIZE];
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_false(link_find_inet6(texts[i], one, name));
}

static void set_mode(uint32_t *words, unsigned bit)
{
    words[bit / 32] |= 1u << bit % 32;
}

static void the_fastest_mode_counts(void **state)
{
    (void)state;
    uint32_t words[3] = {0};
    assert_int_equal(link_fastest_mode(words, 3), 0);
    set_mode(words, ETHTOOL_LINK_MODE_Autoneg_BIT); /* no speed */
    assert_int_equal(link_fastest_mode(words, 3), 0);
    set_mode(words, ETHTOOL_LINK_MODE_100baseT_Half_BIT);
    set_mode(words, ETHTOOL_LINK_MODE_1000baseT_Full_BIT);
    assert_int_equal(link_fastest_mode(words, 3), 1000);
    set_mode(words, ETHTOOL_LINK_MODE_2500baseT_Full_BIT); /* bit 47: the second word */
    assert_int_equal(link_fastest_mode(words, 3), 2500);
    set_mode(words, ETHTOOL_LINK_MODE_10000baseT_Full_BIT);
    assert_int_equal(link_fastest_mode(words, 3), 10000);
    assert_int_equal(link_fastest_mode(words, 1), 10000); /* a kernel with fewer words */
    words[0] = 0;
    assert_int_equal(link_fastest_mode(words, 1), 0);
}

static void the_loopback_is_known_as_such(void **state)
{
    (void)state;
    struct fact_list facts = {0};
    uint64_t number;
    int ends[2];
    socket_pair(ends, true);
    link_facts(&facts, ends[0]);
    assert_string_equal(facts_text(&facts, "link_interface"), "lo");
    assert_string_equal(facts_text(&facts, "link_is_loopback"), "1");
    assert_true(facts_number(&facts, "link_mtu_bytes", &number) && number >= 1500);
    assert_true(facts_number(&facts, "link_segment_bytes", &number) && number >= 536);
    assert_non_null(facts_text(&facts, "link_congestion"));
    assert_null(facts_text(&facts, "link_speed_mbit"));
    assert_false(link_is_unanswered(ends[0]));
    facts_release(&facts);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A socket that is no TCP has no link, and no call fails badly over it. */
static void a_local_socket_has_no_link(void **state)
{
    (void)state;
    struct fact_list facts = {0};
    int ends[2];
    socket_pair(ends, false);
    link_facts(&facts, ends[0]);
    link_facts(&facts, -1);
    assert_int_equal(facts.count, 0);
    assert_false(link_is_unanswered(ends[0]));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_leads_to_its_interface),
        cmocka_unit_test(a_text_without_addresses_has_none),
        cmocka_unit_test(the_fastest_mode_counts),
        cmocka_unit_test(the_loopback_is_known_as_such),
        cmocka_unit_test(a_local_socket_has_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
