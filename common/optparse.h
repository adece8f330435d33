/* One table of options for everything that reads them: command line, environment, configuration
 * file, --help, and the tests that compare the table with the man pages.
 *
 * Calling sequence, strongest source first: optparse_init(), optparse_arguments(), then
 * optparse_environment() and optparse_file(); optparse_release() at the end. An option that a
 * stronger source has set is left alone by the weaker ones, a repeatable one as a whole. In one
 * source only a repeatable option may stand twice. Each accepted value is handed to the program's
 * `apply` function, which stores it; the error that `apply` sets need only speak of the value, the
 * parser puts the option, variable or file and line in front.
 *
 * On the command line `-n8`, `-n 8`, `-qn8`, `--streams=8` and `--streams 8` are the same; options
 * and positional arguments may be mixed, and `--` ends the options. Names are never abbreviated. The
 * argument of an option may not look like another long option, unless joined by `=`: a forgotten
 * argument is named, not filled with the next option.
 *
 * Threads: one thread at a time. Errors: ERROR_USAGE, and ERROR_FAILED for an unreadable file that nobody
 * named. */
#ifndef COMMON_OPTPARSE_H
#define COMMON_OPTPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/error.h"

/* Most rows that a table may have; checked at optparse_init(). */
#define OPTPARSE_OPTIONS_MAX 64

/* A growing list of strings that it owns. All zero is an empty one. */
struct optparse_list {
    char **items;
    size_t count;
};

struct optparse_option {
    int id;               /* the program's own number for it */
    char letter;          /* 'n' for -n, or 0 */
    const char *name;     /* "streams", without dashes: also the key in the file */
    const char *argument; /* how --help calls the argument ("N"); NULL: a flag, which takes none */
    const char *help;     /* one line */
    unsigned commands;    /* set of the program's command bits with which it may stand */
    bool repeatable;
    bool in_environment; /* as PREFIX_NAME in capitals */
    bool in_file;
    const char *file_name;      /* its key in the file, if that is another than `name` */
    uint64_t min, max;          /* for optparse_number() */
    const char *const *choices; /* for optparse_choice(): names ended by NULL */
};

/* Stores `value` in `target`. Flags get "yes", or "no" where a file or variable turns one off. */
typedef int optparse_apply(void *target, const struct optparse_option *option, const char *value,
                           struct error *err);

/* A program's table. Constant data; its strings outlive every parser. */
struct optparse_spec {
    const char *program;            /* "mstore": stands in hints, and may head a section of the file */
    const char *environment_prefix; /* "MSTORE_" */
    const char *const *commands;    /* names by command bit, ended by NULL; NULL: no commands */
    const struct optparse_option *options;
    size_t option_count;
    optparse_apply *apply;
};

struct optparse {
    const struct optparse_spec *spec;
    void *target;
    unsigned char source[OPTPARSE_OPTIONS_MAX]; /* per row: who set it, 0 for nobody */
    struct optparse_list positional;            /* what was no option, in order */
};

void optparse_init(struct optparse *parser, const struct optparse_spec *spec, void *target);
void optparse_release(struct optparse *parser);

/* Reads argv[1] to argv[argc - 1]. */
int optparse_arguments(struct optparse *parser, int argc, char **argv, struct error *err);

/* Reads the variables of the table. An empty one counts as not set; a repeatable option's variable is
 * a list with spaces between. */
int optparse_environment(struct optparse *parser, struct error *err);

/* Reads `name = value` lines of an INI file; `#` and `;` begin comments. An unknown name is an error
 * with file and line. A file that is not there is an error only if `required`. */
int optparse_file(struct optparse *parser, const char *path, bool required, struct error *err);

/* Fails if an option was given on the command line that does not go with the command of that bit
 * number; the error says with which it goes. */
int optparse_check_command(const struct optparse *parser, unsigned command, struct error *err);

/* For `apply`: the value as a number in the row's range, a yes or no, or the index of a choice. */
int optparse_number(const struct optparse_option *option, const char *value, unsigned *number,
                    struct error *err);
int optparse_flag(const char *value, bool *flag, struct error *err);
int optparse_choice(const char *const *choices, const char *value, unsigned *index, struct error *err);

/* Writes the rows that go with one of `commands`, aligned, one or two lines each. */
void optparse_print_options(FILE *out, const struct optparse_spec *spec, unsigned commands);

/* The name nearest to `word` in a list ended by NULL; NULL if none is near enough to have been meant. */
const char *optparse_nearest(const char *word, const char *const *names);

/* Appends a copy of `item`. Aborts when memory is out. */
void optparse_list_add(struct optparse_list *list, const char *item);
void optparse_list_release(struct optparse_list *list);

#endif
