/* The table of commands: their words, what they take, what they do. Parsing, --help, completion and the test
 * of the man page use it. Const; any thread. */
#ifndef CLIENT_COMMAND_TABLE_H
#define CLIENT_COMMAND_TABLE_H

#include "client/options.h"

#include <stdbool.h>

/* The word or words of the command line for each: "push", "bench read". By number, ended by NULL. */
extern const char *const command_names[];

/* Its arguments and what it does, as --help shows them: "SRC NS/MODEL". */
const char *command_synopsis(enum command command);
const char *command_help(enum command command);

/* The command with the longest name that the words begin with; *used says how many of them that took.
 * ERROR_USAGE, with the nearest name. There is at least one word. */
int command_find(enum command *command, const struct optparse_list *words, size_t *used, struct error *err);

/* ERROR_USAGE where it takes fewer or more. */
int command_check_count(enum command command, const struct optparse_list *arguments, struct error *err);

/* Whether its argument number `argument`, from 0, is a model id. */
bool command_takes_model(enum command command, size_t argument);

#endif
