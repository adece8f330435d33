/* Lines of bench read, as bench report takes them: whatever passes can be compared, printed and drawn. */
#include "target.h"

#include "client/bench_table.h"
#include "client/chart.h"

static void take_line(struct bench_table *table, const char *line, size_t length)
{
    struct bench_round round;
    struct error err;
    if (bench_round_parse(&round, line, length, &err) < 0) {
        must_hold(err.code == ERROR_FAILED);
        return;
    }
    must_hold(round.bytes > 0 && round.seconds > 0 && round.bytes_per_s > 0);
    (void)bench_table_add(table, &round, &err);
    bench_round_release(&round);
}

static void show(struct bench_table *table)
{
    FILE *nowhere = fopen("/dev/null", "w");
    must_hold(nowhere);
    bench_table_finish(table, 1);
    chart_print(nowhere, table);
    (void)fclose(nowhere);
    struct json *object = bench_table_json(table);
    char *text = json_print(object);
    must_hold(json_is_utf8(text, strlen(text)));
    free(text);
    json_free(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct bench_table table = {0};
    const char *at = (const char *)bytes, *end = at + length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline ? newline : end) - at);
        take_line(&table, at, size);
        at += size + 1;
    }
    if (table.count > 0)
        show(&table);
    bench_table_release(&table);
    return 0;
}
