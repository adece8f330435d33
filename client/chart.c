/* Everything is placed by a few lengths, in pixels of the picture; labels are the only text of strangers. */
#include "client/chart.h"

#include "common/printable.h"

#include <math.h>
#include <string.h>

#define WIDTH  820
#define LEFT   250 /* room for labels */
#define RIGHT  100 /* and for the value behind the longest whisker */
#define TOP    84
#define ROW    46
#define BAR    20
#define BOTTOM 50
#define PLOT   (WIDTH - LEFT - RIGHT)

#define LABEL_CHARACTERS 30 /* that fit into LEFT */
#define TICKS            5  /* about */

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,'Helvetica Neue',Helvetica,Arial,sans-serif;font-size:13px;fill:#1f2328}\n"
    ".ground{fill:#ffffff;stroke:#d1d9e0}.title{font-size:18px;font-weight:600}\n"
    ".label{font-weight:600}.muted{fill:#59636e;font-size:12px}.grid{stroke:#e2e6ea}.axis{stroke:#8c959f}\n"
    ".cold{fill:#3778bf}.warm{fill:#d07a2d}.mixed{fill:#a0a8b0}.whisker{stroke:#1f2328;stroke-width:1.5}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.ground{fill:#161b22;stroke:#30363d}.muted{fill:#9198a1}.grid{stroke:#2a313a}\n"
    ".axis{stroke:#656c76}.cold{fill:#4b8fdb}.warm{fill:#d98b45}.mixed{fill:#6e7681}\n"
    ".whisker{stroke:#e6edf3}}\n"
    "</style>\n";

struct axis {
    double step, end; /* MB/s */
};

static double mb(double bytes_per_s)
{
    return bytes_per_s / 1e6;
}

/* 1, 2, 2.5 or 5 times a power of ten, so that about TICKS of them reach the fastest round. */
static struct axis make_axis(const struct bench_table *table)
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double most = 0;
    for (size_t i = 0; i < table->count; i++)
        most = fmax(most, mb(table->groups[i].rate.max));
    double rough = most / TICKS, power = pow(10, floor(log10(rough)));
    struct axis axis = {.step = 10 * power};
    for (size_t i = sizeof steps / sizeof steps[0]; i-- > 0;)
        if (steps[i] * power >= rough)
            axis.step = steps[i] * power;
    axis.end = axis.step * ceil(most / axis.step);
    return axis;
}

static double x_of(const struct axis *axis, double bytes_per_s)
{
    return LEFT + PLOT * mb(bytes_per_s) / axis->end;
}

/* U+FFFE and U+FFFF are no characters of XML, nor are those that printable() has made visible. */
static bool is_no_character(const char *at)
{
    return memcmp(at, "\xef\xbf\xbe", 3) == 0 || memcmp(at, "\xef\xbf\xbf", 3) == 0;
}

static void put_escaped(FILE *out, const char *at)
{
    for (size_t length; *at; at += length) {
        bool is_replaced = strnlen(at, 3) == 3 && is_no_character(at);
        length = is_replaced ? 3 : 1;
        if (is_replaced)
            (void)fputs("?", out);
        else if (*at == '&')
            (void)fputs("&amp;", out);
        else if (*at == '<')
            (void)fputs("&lt;", out);
        else if (*at == '>')
            (void)fputs("&gt;", out);
        else
            (void)fputc(*at, out);
    }
}

/* The first characters of a label, and dots where there are more. */
static void put_label(FILE *out, const char *label)
{
    char clean[16 * LABEL_CHARACTERS];
    size_t characters = 0;
    (void)printable(label, clean, sizeof clean);
    for (char *at = clean; *at; at++) {
        bool is_first_byte = ((unsigned char)*at & 0xc0) != 0x80;
        characters += is_first_byte;
        if (is_first_byte && characters > LABEL_CHARACTERS) {
            *at = '\0';
            put_escaped(out, clean);
            (void)fputs("\xe2\x80\xa6", out); /* an ellipsis */
            return;
        }
    }
    put_escaped(out, clean);
}

static void print_axis(FILE *out, const struct axis *axis, int bottom)
{
    for (int i = 0; i * axis->step < axis->end * 1.001; i++) {
        double x = x_of(axis, i * axis->step * 1e6);
        (void)fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
                      i == 0 ? "axis" : "grid", x, TOP - 8, x, bottom);
        (void)fprintf(out, "<text class=\"muted\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", x,
                      bottom + 18, i * axis->step);
    }
    (void)fprintf(out, "<text class=\"muted\" x=\"%d\" y=\"%d\" text-anchor=\"end\">MB/s</text>\n",
                  LEFT + PLOT, bottom + 36);
}

static void print_whisker(FILE *out, const struct bench_group *group, const struct axis *axis, int middle)
{
    double from = x_of(axis, group->rate.min), to = x_of(axis, group->rate.max);
    (void)fprintf(out, "<path class=\"whisker\" d=\"M%.1f %dH%.1fM%.1f %dv10M%.1f %dv10\"/>\n", from, middle,
                  to, from, middle - 5, to, middle - 5);
}

static void print_group(FILE *out, const struct bench_group *group, const struct axis *axis, int top)
{
    int middle = top + ROW / 2 - 4;
    double value = mb(group->rate.median), end = x_of(axis, group->rate.median);
    (void)fprintf(out, "<text class=\"label\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 12, middle - 1);
    put_label(out, group->label);
    (void)fprintf(
        out, "</text>\n<text class=\"muted\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s, %s, %zu %s</text>\n",
        LEFT - 12, middle + 15, read_mode_names[group->mode], cache_state_names[group->cache], group->count,
        group->count == 1 ? "round" : "rounds");
    (void)fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                  cache_state_names[group->cache], LEFT, middle - BAR / 2, end - LEFT, BAR);
    if (group->count > 1)
        print_whisker(out, group, axis, middle);
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%d\">%.*f</text>\n", x_of(axis, group->rate.max) + 9, middle + 5,
                  value < 10    ? 2
                  : value < 100 ? 1
                                : 0,
                  value);
}

void chart_print(FILE *out, const struct bench_table *table)
{
    struct axis axis = make_axis(table);
    int bottom = TOP + (int)table->count * ROW, height = bottom + BOTTOM;
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>Read throughput</title>\n%s",
                  WIDTH, height, WIDTH, height, style);
    (void)fprintf(
        out,
        "<rect class=\"ground\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n"
        "<text class=\"title\" x=\"24\" y=\"34\">Read throughput</text>\n"
        "<text class=\"muted\" x=\"24\" y=\"54\">bar: median of the rounds; whisker: from the slowest "
        "to the fastest; longer is better</text>\n",
        WIDTH - 1, height - 1);
    print_axis(out, &axis, bottom);
    for (size_t i = 0; i < table->count; i++)
        print_group(out, &table->groups[i], &axis, TOP + (int)i * ROW);
    (void)fprintf(out, "</svg>\n");
}
