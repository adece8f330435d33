/* option_table mstore|mstored: the program's table of options as lines of fields with tabs between, for
 * completion.py:
 *
 *   command  NAME ARGUMENTS HELP
 *   option   LETTER NAME ARGUMENT once|repeatable COMMANDS CHOICES HELP     with commas inside of lists */
#include "client/command_table.h"
#include "server/config.h"

#include <stdio.h>
#include <string.h>

static void print_names(const char *const *names)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        (void)printf("%s%s", i > 0 ? "," : "", names[i]);
    (void)putchar('\t');
}

static void print_commands(const struct optparse_option *option)
{
    const char *names[COMMAND_COUNT + 1] = {NULL};
    size_t count = 0;
    for (int i = COMMAND_NONE + 1; i < COMMAND_COUNT; i++)
        if (option->commands & 1u << i)
            names[count++] = command_names[i];
    print_names(names);
}

static void print_options(const struct optparse_option *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct optparse_option *option = &table[i];
        const char letter[] = {option->letter, '\0'};
        (void)printf("option\t%s\t%s\t%s\t%s\t", letter, option->name,
                     option->argument == NULL ? "" : option->argument,
                     option->repeatable ? "repeatable" : "once");
        print_commands(option);
        print_names(option->choices);
        (void)printf("%s\n", option->help);
    }
}

int main(int argc, char **argv)
{
    bool is_client = argc == 2 && strcmp(argv[1], "mstore") == 0;
    if (!is_client && (argc != 2 || strcmp(argv[1], "mstored") != 0)) {
        (void)fprintf(stderr, "usage: option_table mstore|mstored\n");
        return 2;
    }
    for (int i = COMMAND_NONE + 1; is_client && i < COMMAND_COUNT; i++)
        (void)printf("command\t%s\t%s\t%s\n", command_names[i], command_synopsis((enum command)i),
                     command_help((enum command)i));
    size_t count = options_spec()->option_count;
    const struct optparse_option *table = is_client ? options_spec()->options : config_table(&count);
    print_options(table, count);
    return ferror(stdout) || fflush(stdout) != 0;
}
