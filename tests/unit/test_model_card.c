/* The licence in the front matter of a model card. */
#include "support.h"

#include "common/model_card.h"

static void check(const char *text, const char *expected)
{
    char licence[MODEL_FACT_MAX];
    model_card_licence(text, strlen(text), licence);
    if (strcmp(licence, expected) != 0)
        fail_msg("'%s' instead of '%s' from: %s", licence, expected, text);
}

static void the_licence_is_found_in_the_front_matter(void **state)
{
    (void)state;
    check("---\nlicense: apache-2.0\n---\n# Model\n", "apache-2.0");
    check("---\r\nlanguage:\r\n- en\r\nlicense: mit\r\n---\r\n", "mit");
    check("---\nlicense: \"cc-by-4.0\" # comment\n---\n", "cc-by-4.0");
    check("---\nlicense: 'llama3.1'\n---\n", "llama3.1");
    check("---\nlicense: gemma   # see below\n---\n", "gemma");
    check("---\nlicense:\n- mit\n- other\n---\n", "mit");
    check("---\nlicense:\n  - mit\n---\n", "mit");
    check("---\nlicense:mit\n---\n", "mit");
    check("---\nlicense: other\nlicense_name: deepseek\nlicense_link: LICENSE\n---\n", "deepseek");
    check("---\nlicense_name: qwen\nlicense: other\n---\n", "qwen");
    check("---\nlicense: mit\nlicense_name: x\n---\n", "mit");
    check("---\nlicense: openrail", "openrail"); /* the card is cut there */
}

static void without_front_matter_there_is_none(void **state)
{
    (void)state;
    check("", "");
    check("---", "");
    check("---\n", "");
    check("---\nlicense:\n---\n", "");
    check("---\nlicense:\nlanguage:\n- en\n---\n", "");
    check("# Model\nlicense: mit\n", "");
    check("\n---\nlicense: mit\n---\n", "");
    check("---\ntags: x\n---\nlicense: mit\n", "");
    check("---\n  license: mit\n---\n", "");
    check("---\nx: license: mit\n---\n", "");
    check("---\nlicense: \"\"\n---\n", "");
}

static void long_licences_are_cut(void **state)
{
    (void)state;
    char text[400] = "---\nlicense: ", licence[MODEL_FACT_MAX];
    memset(text + strlen(text), 'x', 300);
    model_card_licence(text, strlen(text), licence);
    assert_int_equal(strlen(licence), MODEL_FACT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_licence_is_found_in_the_front_matter),
        cmocka_unit_test(without_front_matter_there_is_none),
        cmocka_unit_test(long_licences_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
