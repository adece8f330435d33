/* Command lines of the client for tests: parsed, accepted or refused, in a folder of their own that holds the
 * configuration and is the home. */
#ifndef UNIT_OPTIONS_LINE_H
#define UNIT_OPTIONS_LINE_H

#include "support.h"

#include "client/options.h"

#define ARGUMENTS_MAX 24

static char directory[256]; /* made by enter_directory() */

/* Splits `line` at spaces ("~" stands for an empty word) and parses it behind "mstore". */
static inline int parse(struct options *options, const char *line, struct error *err)
{
    char *argv[ARGUMENTS_MAX + 1] = {(char *)"mstore"};
    int argc = 1;
    char *copy = strdup(line);
    assert_non_null(copy);
    for (char *at = copy, *word; (word = strsep(&at, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        assert_true(argc < ARGUMENTS_MAX);
        argv[argc++] = strcmp(word, "~") == 0 ? word + 1 : word;
    }
    int rc = options_parse(options, argc, argv, err);
    free(copy);
    return rc;
}

static inline struct options accept_line(const char *line)
{
    struct options options;
    struct error err = {0};
    if (parse(&options, line, &err) < 0)
        fail_msg("'%s' was refused: %s", line, err.text);
    return options;
}

/* Checks that the line is refused with ERROR_USAGE and this text. */
static inline void refuse_line(const char *line, const char *text)
{
    struct options options;
    struct error err = {0};
    if (parse(&options, line, &err) == 0)
        fail_msg("'%s' was accepted", line);
    assert_string_equal(err.text, text);
    assert_int_equal(err.code, ERROR_USAGE);
}

static inline void write_config(const char *text)
{
    FILE *file = fopen("mstore/config", "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Checks the error for a config file, whose path stands for "%s" in `text`. */
static inline void refuse_config(const char *config, const char *line_and_text)
{
    char expected[ERROR_TEXT_MAX];
    write_config(config);
    (void)snprintf(expected, sizeof expected, "'%s/mstore/config' %s", directory, line_and_text);
    refuse_line("ls", expected);
    write_config("");
}

static inline int enter_directory(void **state)
{
    const char *base = getenv("TMPDIR");
    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/mstore-options-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(directory) == NULL || chdir(directory) < 0 || mkdir("mstore", 0777) < 0 ||
           setenv("HOME", directory, 1) < 0 || setenv("XDG_CONFIG_HOME", directory, 1) < 0 ||
           unsetenv("MSTORE_SERVER") < 0;
}

static inline int leave_directory(void **state)
{
    (void)state;
    (void)unlink("mstore/config");
    return rmdir("mstore") < 0 || chdir("/") < 0 || rmdir(directory) < 0;
}

#endif
