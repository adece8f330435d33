/* SIGINT and SIGTERM as something that can be waited for.
 *
 * interrupt_install() once at start. The handler stores the signal and makes interrupt_fd() readable until
 * interrupt_forget(); a second signal ends the program at once. Any thread may ask. A signal that was ignored
 * at start (nohup, the background of a shell) stays ignored. SIGPIPE is ignored from then on, for sendfile
 * has no MSG_NOSIGNAL. */
#ifndef CLIENT_INTERRUPT_H
#define CLIENT_INTERRUPT_H

#include "proto/error.h"

#include <stdbool.h>

int interrupt_install(struct error *err);

/* For a program that takes the place of this one: the signals do again what they did before. What came until
 * then is still to be asked for; what comes later is not stored. */
void interrupt_uninstall(void);

int interrupt_fd(void);
bool interrupt_is_set(void);

/* ERROR_INTERRUPTED or ERROR_TERMINATED with words, if a signal came. Returns -1 then, else 0. */
int interrupt_check(struct error *err);

/* Forgets the signal that came, for cleaning up behind it: that can be interrupted once more. */
void interrupt_forget(void);

#endif
