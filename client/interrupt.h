/* SIGINT and SIGTERM as something that can be waited for.
 *
 * interrupt_install() once at start. The handler stores the signal and makes interrupt_fd() readable until
 * interrupt_forget(); a second signal ends the program at once. Any thread may ask. */
#ifndef CLIENT_INTERRUPT_H
#define CLIENT_INTERRUPT_H

#include "proto/error.h"

#include <stdbool.h>

int interrupt_install(struct error *err);
int interrupt_fd(void);
bool interrupt_is_set(void);

/* ERROR_INTERRUPTED or ERROR_TERMINATED with words, if a signal came. Returns -1 then, else 0. */
int interrupt_check(struct error *err);

/* Forgets the signal that came, for cleaning up behind it: that can be interrupted once more. */
void interrupt_forget(void);

#endif
