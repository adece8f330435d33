/* Home, each line with an erase behind it, and an erase of all that is below: ECMA-48 sequences that every
 * terminal has but the one called "dumb". */
#include "client/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIPE        "\033[2J"
#define HOME        "\033[H"
#define ERASE_LINE  "\033[K"
#define ERASE_BELOW "\033[J"

bool screen_can_draw(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Fewer characters of a line that ends at `end` than there are columns: with the cursor past the last one,
 * terminals differ in what they erase. A byte that continues a character (RFC 3629) is none. */
static void draw_line(const char *line, const char *end, size_t columns)
{
    const char *at = line;
    for (size_t shown = 0; at < end; at++)
        if (((unsigned char)*at & 0xc0) != 0x80 && ++shown == columns)
            break;
    (void)printf("%.*s" ERASE_LINE, (int)(at - line), line);
}

void screen_draw(struct screen *screen, const char *text)
{
    struct winsize size = {0};
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    size_t rows = size.ws_row > 1 ? size.ws_row : 24, columns = size.ws_col > 0 ? size.ws_col : 80;
    size_t lines = count_lines(text), whole = lines <= rows ? lines : rows - 1;
    (void)fputs(screen->drawn ? HOME : WIPE HOME, stdout);
    screen->drawn = true;
    for (size_t i = 0; i < whole; i++) {
        const char *end = strchr(text, '\n');
        (void)fputs(i > 0 ? "\n" : "", stdout);
        draw_line(text, end, columns);
        text = end + 1;
    }
    if (whole < lines)
        (void)printf("\n(%zu more)" ERASE_LINE, lines - whole);
    (void)fputs(ERASE_BELOW, stdout);
    (void)fflush(stdout);
}

void screen_end(struct screen *screen)
{
    if (screen->drawn)
        (void)fputs("\n", stdout);
    screen->drawn = false;
}
