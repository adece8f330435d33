/* What --help and --version show, from the tables of options.h. Any thread. */
#ifndef CLIENT_HELP_H
#define CLIENT_HELP_H

#include "client/options.h"

#include <stdio.h>

/* The help of one command, or of the program for COMMAND_NONE. */
void help_print(FILE *out, enum command command);

/* "mstore 0.1.0". */
void help_print_version(FILE *out);

#endif
