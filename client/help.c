/* The tables say all that there is to say; here is where it stands on the screen. */
#include "client/help.h"

#include "client/command_table.h"

#include "proto/version.h"

#include <string.h>

#define PROGRAM OPTIONS_PROGRAM

/* Width of a command's name and arguments. */
#define COMMAND_COLUMN 22

static void print_command(FILE *out, enum command command)
{
    const char *name = command_names[command];
    int rest = COMMAND_COLUMN - (int)strlen(name) - 1;
    (void)fprintf(out, "  %s %-*s %s\n", name, rest, command_synopsis(command), command_help(command));
}

static void print_program(FILE *out)
{
    (void)fprintf(out, "usage: " PROGRAM " [options] COMMAND ...\n\n"
                       "Stores AI models on a NAS and fetches them, verified, over several connections.\n\n"
                       "commands:\n");
    for (int i = COMMAND_NONE + 1; i < COMMAND_COUNT; i++)
        print_command(out, (enum command)i);
    (void)fprintf(out, "\noptions, before or behind the command:\n");
    optparse_print_options(out, options_spec(), ~0u);
    (void)fprintf(out,
                  "\n"
                  "'" PROGRAM " COMMAND --help' shows what goes with a command.\n"
                  "Server and token file are also read from MSTORE_SERVER and MSTORE_TOKEN_FILE, or from\n"
                  "'server = HOST[:PORT]' and 'token-file = FILE' in $XDG_CONFIG_HOME/mstore/config,\n"
                  "the local cache from MSTORE_CACHE and 'cache-budget = SIZE' there.\n\n"
                  "exit status: 0 done and verified, 1 failed, 2 wrong usage, 3 no such model, 4 refused,\n"
                  "5 bytes do not match their hash, 6 no connection, 7 some files failed, 8 no space,\n"
                  "9 another push to the model is running\n");
}

void help_print(FILE *out, enum command command)
{
    if (command == COMMAND_NONE) {
        print_program(out);
        return;
    }
    const char *synopsis = command_synopsis(command);
    (void)fprintf(out, "usage: " PROGRAM " %s [options]%s%s\n\n%s\n\noptions:\n", command_names[command],
                  synopsis[0] ? " " : "", synopsis, command_help(command));
    optparse_print_options(out, options_spec(), 1u << command);
}

void help_print_version(FILE *out)
{
    (void)fprintf(out, PROGRAM " " MSTORE_VERSION "\n");
}
