/* Bars are as long as their medians, and no label can break out of the picture. */
#include "support.h"

#include "client/chart.h"

static void add(struct bench_table *table, const char *label, double rate)
{
    struct bench_round round = {.label = (char *)label, .bytes = 1000, .bytes_per_s = rate};
    struct error err;
    assert_int_equal(bench_table_add(table, &round, &err), 0);
}

/* The text of the chart of a table, which is released; free() it. */
static char *draw(struct bench_table *table)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    bench_table_finish(table, 0);
    chart_print(out, table);
    assert_int_equal(fclose(out), 0);
    bench_table_release(table);
    return text;
}

/* The width of the nth bar. */
static double bar(const char *text, int number)
{
    double width = 0;
    for (int i = 0; i <= number; i++) {
        text = strstr(text, "<rect class=\"cold\"");
        assert_non_null(text);
        text += strlen("<rect");
    }
    assert_int_equal(sscanf(strstr(text, "width="), "width=\"%lf\"", &width), 1);
    return width;
}

static void bars_are_in_proportion(void **state)
{
    (void)state;
    struct bench_table table = {0};
    add(&table, "fast", 400e6);
    add(&table, "slow", 100e6);
    char *text = draw(&table);
    double ratio = bar(text, 0) / bar(text, 1);
    assert_true(ratio > 3.99 && ratio < 4.01);
    assert_non_null(strstr(text, ">400</text>"));
    assert_non_null(strstr(text, ">100</text>"));
    assert_null(strstr(text, "class=\"whisker\"")); /* one round has no spread */
    free(text);
}

static void several_rounds_have_a_whisker(void **state)
{
    (void)state;
    struct bench_table table = {0};
    add(&table, "x", 300e6);
    add(&table, "x", 500e6);
    add(&table, "x", 310e6);
    char *text = draw(&table);
    assert_non_null(strstr(text, "<path class=\"whisker\""));
    assert_non_null(strstr(text, ">310</text>"));
    assert_non_null(strstr(text, "3 rounds"));
    free(text);
}

static void labels_stay_text(void **state)
{
    (void)state;
    struct bench_table table = {0};
    add(&table, "</text><script>&\"'\x1b[1m\xef\xbf\xbe", 1e6);
    char *text = draw(&table);
    assert_null(strstr(text, "<script>"));
    assert_non_null(strstr(text, "&lt;/text&gt;&lt;script&gt;&amp;\"'\\x1b[1m?"));
    assert_null(strchr(text, '\x1b'));
    free(text);
}

static void long_labels_end_in_dots_between_characters(void **state)
{
    (void)state;
    struct bench_table table = {0};
    add(&table, "ääääääääääääääääääääääääääääääääääääääää", 1e6); /* 40 */
    char *text = draw(&table);
    assert_non_null(strstr(text, ">ääääääääääääääääääääääääääääää…<")); /* 30 */
    free(text);
}

static void any_rate_has_an_axis(void **state)
{
    (void)state;
    static const double rates[] = {1, 3.3e3, 9.99e6, 1e7, 2.5e9, 1e15};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        struct bench_table table = {0};
        add(&table, "x", rates[i]);
        char *text = draw(&table);
        double width = bar(text, 0);
        assert_true(width > 200 && width < 471);
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        free(text);
    }
}

static void the_name_says_the_form(void **state)
{
    (void)state;
    assert_true(chart_is_name("a.svg") && chart_is_name("b/c.png"));
    assert_false(chart_is_name(".svg") || chart_is_name("svg") || chart_is_name("a.svg.gz") ||
                 chart_is_name(""));
}

static void what_cannot_be_written_is_an_error(void **state)
{
    const struct scratch *scratch = *state;
    struct bench_table table = {0};
    struct error err;
    char file[512];
    add(&table, "x", 1e6);
    bench_table_finish(&table, 0);
    (void)snprintf(file, sizeof file, "%s/none/a.svg", scratch->path);
    assert_int_equal(chart_write(&table, file, &err), -1);
    assert_int_equal(err.code, ERROR_FILE);
    (void)snprintf(file, sizeof file, "%s/a.svg", scratch->path);
    assert_int_equal(chart_write(&table, file, &err), 0);
    assert_true(is_there(scratch->fd, "a.svg"));
    bench_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_in_proportion),
        cmocka_unit_test(several_rounds_have_a_whisker),
        cmocka_unit_test(labels_stay_text),
        cmocka_unit_test(long_labels_end_in_dots_between_characters),
        cmocka_unit_test(any_rate_has_an_axis),
        cmocka_unit_test(the_name_says_the_form),
        scratch_test(what_cannot_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
