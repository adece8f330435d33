/* A terminal that can be drawn on: text of several lines, again and again in the same place.
 *
 *   screen_can_draw() … screen_draw() … screen_end()
 *
 * Standard output; one thread. What is drawn has passed printable() already. */
#ifndef CLIENT_SCREEN_H
#define CLIENT_SCREEN_H

#include <stdbool.h>

struct screen {
    bool drawn;
};

/* Whether the descriptor is a terminal on which the cursor can be moved. */
bool screen_can_draw(int fd);

/* Draws over what was drawn before, without wiping it first, so that nothing flickers. Lines are cut at the
 * terminal's width; if there are more of them than it has rows, the last row counts the rest. */
void screen_draw(struct screen *screen, const char *text);

/* Leaves the cursor on a line of its own behind the text. */
void screen_end(struct screen *screen);

#endif
