/* One table of options for everything that reads them.
 *
 * The one idea: every source (argument, variable, line of a file) ends in give(), which knows who may
 * overrule whom and who may repeat; sources are read strongest first, so a value that is already there
 * stays. */
#include "common/optparse.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

/* Longest environment variable name made from a table. */
#define VARIABLE_MAX 64

/* Room for the words that say where a value came from; a longer path is cut at its end. */
#define SUBJECT_MAX 300

/* Strongest first. */
enum source {
    SOURCE_NONE,
    SOURCE_ARGUMENTS,
    SOURCE_ENVIRONMENT,
    SOURCE_FILE,
};

/* ---- lists ---- */

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

void optparse_list_add(struct optparse_list *list, const char *item)
{
    list->items = must(realloc(list->items, (list->count + 1) * sizeof *list->items));
    list->items[list->count++] = must(strdup(item));
}

void optparse_list_release(struct optparse_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct optparse_list){0};
}

void optparse_init(struct optparse *parser, const struct optparse_spec *spec, void *target)
{
    assert(spec->option_count <= OPTPARSE_OPTIONS_MAX);
    *parser = (struct optparse){.spec = spec, .target = target};
}

void optparse_release(struct optparse *parser)
{
    optparse_list_release(&parser->positional);
}

/* ---- the nearest name ---- */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* How many letters must be put in, left out or changed to make `b` of `a`; names that are too long to be
 * a slip count as far. */
static size_t distance(const char *a, const char *b)
{
    size_t row[VARIABLE_MAX];
    size_t width = strlen(b);
    if (width >= VARIABLE_MAX || strlen(a) >= VARIABLE_MAX)
        return SIZE_MAX;
    for (size_t x = 0; x <= width; x++)
        row[x] = x;
    for (size_t y = 1; a[y - 1] != '\0'; y++) {
        size_t diagonal = row[0];
        row[0] = y;
        for (size_t x = 1; x <= width; x++) {
            size_t changed = diagonal + (a[y - 1] != b[x - 1]);
            diagonal = row[x];
            row[x] = min3(row[x] + 1, row[x - 1] + 1, changed);
        }
    }
    return row[width];
}

const char *optparse_nearest(const char *word, const char *const *names)
{
    size_t length = strlen(word);
    size_t limit = 1 + length / 4; /* as many letters wrong are still a slip */
    const char *nearest = NULL;
    for (; *names != NULL; names++) {
        bool is_start = length >= 2 && strncmp(word, *names, length) == 0;
        size_t steps = is_start ? 0 : distance(word, *names);
        if (steps > limit || (nearest != NULL && steps == limit))
            continue;
        limit = steps;
        nearest = *names;
    }
    return nearest;
}

static const char *nearest_option(const struct optparse_spec *spec, const char *word)
{
    const char *names[OPTPARSE_OPTIONS_MAX + 1];
    for (size_t i = 0; i < spec->option_count; i++)
        names[i] = spec->options[i].name;
    names[spec->option_count] = NULL;
    return optparse_nearest(word, names);
}

/* ---- one value ---- */

/* Hands a value to the program unless a stronger source did. `subject` says where it came from. */
static int give(struct optparse *parser, const struct optparse_option *option, enum source source,
                const char *value, const char *subject, struct error *err)
{
    unsigned char *set_by = &parser->source[option - parser->spec->options];
    if (*set_by != SOURCE_NONE && *set_by != source)
        return 0;
    if (*set_by == source && !option->repeatable)
        return error_set(err, ERROR_USAGE, "%s is given twice: give it once", subject);
    *set_by = (unsigned char)source;
    struct error cause;
    if (parser->spec->apply(parser->target, option, value, &cause) < 0)
        return error_set(err, cause.code, "%s: %s", subject, cause.text);
    return 0;
}

static const struct optparse_option *find_name(const struct optparse_spec *spec, const char *name,
                                               size_t length)
{
    for (size_t i = 0; i < spec->option_count; i++)
        if (strncmp(spec->options[i].name, name, length) == 0 && spec->options[i].name[length] == '\0')
            return &spec->options[i];
    return NULL;
}

static const struct optparse_option *find_letter(const struct optparse_spec *spec, char letter)
{
    for (size_t i = 0; i < spec->option_count; i++)
        if (letter != '\0' && spec->options[i].letter == letter)
            return &spec->options[i];
    return NULL;
}

/* ---- command line ---- */

/* The words of a command line that are still to be read. */
struct words {
    char **next;
    char **end;
};

static int unknown_option(const struct optparse_spec *spec, const char *dashes, const char *name,
                          size_t length, struct error *err)
{
    char word[VARIABLE_MAX];
    (void)snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), name);
    const char *nearest = nearest_option(spec, word);
    if (nearest != NULL)
        return error_set(err, ERROR_USAGE, "unknown option '%s%s': did you mean '--%s'?", dashes, word,
                         nearest);
    return error_set(err, ERROR_USAGE, "unknown option '%s%s': '%s --help' lists the options", dashes, word,
                     spec->program);
}

/* True if `word` is an option of this table in its long form, so hardly meant as another's argument. */
static bool is_long_option(const struct optparse_spec *spec, const char *word)
{
    if (strncmp(word, "--", 2) != 0)
        return false;
    return word[2] == '\0' || find_name(spec, word + 2, strcspn(word + 2, "=")) != NULL;
}

/* The argument of `option`: what is joined to it, else the next word. */
static int take_value(struct optparse *parser, const struct optparse_option *option, const char *joined,
                      struct words *words, const char *subject, struct error *err)
{
    if (joined != NULL)
        return give(parser, option, SOURCE_ARGUMENTS, joined, subject, err);
    if (words->next == words->end)
        return error_set(err, ERROR_USAGE, "%s lacks its argument %s", subject, option->argument);
    if (is_long_option(parser->spec, *words->next))
        return error_set(err, ERROR_USAGE, "%s lacks its argument %s: write '--%s=%s' if '%s' is meant",
                         subject, option->argument, option->name, *words->next, *words->next);
    return give(parser, option, SOURCE_ARGUMENTS, *words->next++, subject, err);
}

static int read_long(struct optparse *parser, const char *word, struct words *words, struct error *err)
{
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    const struct optparse_option *option = find_name(parser->spec, name, length);
    if (option == NULL)
        return unknown_option(parser->spec, "--", name, length, err);
    char subject[SUBJECT_MAX];
    (void)snprintf(subject, sizeof subject, "option '--%s'", option->name);
    const char *joined = name[length] == '=' ? name + length + 1 : NULL;
    if (option->argument != NULL)
        return take_value(parser, option, joined, words, subject, err);
    if (joined != NULL)
        return error_set(err, ERROR_USAGE, "%s takes no argument: leave out '=%s'", subject, joined);
    return give(parser, option, SOURCE_ARGUMENTS, "yes", subject, err);
}

/* A word of letters: flags, of which the last may be an option with its argument behind it. */
static int read_letters(struct optparse *parser, const char *word, struct words *words, struct error *err)
{
    size_t length = strcspn(word + 1, "=");
    if (length > 1 && find_name(parser->spec, word + 1, length) != NULL)
        return unknown_option(parser->spec, "-", word + 1, length, err);
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct optparse_option *option = find_letter(parser->spec, *letter);
        if (option == NULL)
            return error_set(err, ERROR_USAGE, "unknown option '-%c' in '%s': '%s --help' lists the options",
                             *letter, word, parser->spec->program);
        char subject[SUBJECT_MAX];
        (void)snprintf(subject, sizeof subject, "option '-%c'", option->letter);
        if (option->argument != NULL)
            return take_value(parser, option, letter[1] != '\0' ? letter + 1 : NULL, words, subject, err);
        if (give(parser, option, SOURCE_ARGUMENTS, "yes", subject, err) < 0)
            return -1;
    }
    return 0;
}

int optparse_arguments(struct optparse *parser, int argc, char **argv, struct error *err)
{
    struct words words = {.next = argv + (argc > 0), .end = argv + argc};
    bool has_ended = false;
    while (words.next < words.end) {
        const char *word = *words.next++;
        if (!has_ended && strcmp(word, "--") == 0) {
            has_ended = true;
        } else if (has_ended || word[0] != '-' || word[1] == '\0') {
            optparse_list_add(&parser->positional, word);
        } else if (word[1] == '-') {
            if (read_long(parser, word, &words, err) < 0)
                return -1;
        } else if (read_letters(parser, word, &words, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The commands of a bit set, as "'push' or 'pull'". */
static void name_commands(char *text, size_t size, const struct optparse_spec *spec, unsigned commands)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; spec->commands[i] != NULL && used < size; i++) {
        if (!(commands & 1u << i))
            continue;
        int added = snprintf(text + used, size - used, "%s'%s'", used > 0 ? " or " : "", spec->commands[i]);
        used += added > 0 ? (size_t)added : 0;
    }
}

int optparse_check_command(const struct optparse *parser, unsigned command, struct error *err)
{
    const struct optparse_spec *spec = parser->spec;
    for (size_t i = 0; i < spec->option_count; i++) {
        const struct optparse_option *option = &spec->options[i];
        if (parser->source[i] != SOURCE_ARGUMENTS || option->commands & 1u << command)
            continue;
        char letter[8] = "";
        char others[SUBJECT_MAX];
        if (option->letter != '\0')
            (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
        name_commands(others, sizeof others, spec, option->commands);
        return error_set(err, ERROR_USAGE, "option '%s--%s' does not go with '%s': it is for %s", letter,
                         option->name, spec->commands[command], others);
    }
    return 0;
}

/* ---- environment ---- */

static void variable_name(char *name, const struct optparse_spec *spec, const struct optparse_option *option)
{
    int length = snprintf(name, VARIABLE_MAX, "%s%s", spec->environment_prefix, option->name);
    assert(length > 0 && length < VARIABLE_MAX);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* Gives each word of a list. */
static int give_words(struct optparse *parser, const struct optparse_option *option, const char *value,
                      const char *subject, struct error *err)
{
    static const char blanks[] = " \t\n";
    int rc = 0;
    for (const char *at = value + strspn(value, blanks); *at != '\0' && rc == 0; at += strspn(at, blanks)) {
        size_t length = strcspn(at, blanks);
        char *word = must(strndup(at, length));
        rc = give(parser, option, SOURCE_ENVIRONMENT, word, subject, err);
        free(word);
        at += length;
    }
    return rc;
}

int optparse_environment(struct optparse *parser, struct error *err)
{
    for (size_t i = 0; i < parser->spec->option_count; i++) {
        const struct optparse_option *option = &parser->spec->options[i];
        if (!option->in_environment)
            continue;
        char name[VARIABLE_MAX];
        char subject[SUBJECT_MAX];
        variable_name(name, parser->spec, option);
        (void)snprintf(subject, sizeof subject, "variable '%s'", name);
        const char *value = getenv(name);
        if (value == NULL || value[0] == '\0')
            continue;
        if (option->repeatable ? give_words(parser, option, value, subject, err)
                               : give(parser, option, SOURCE_ENVIRONMENT, value, subject, err))
            return -1;
    }
    return 0;
}

/* ---- file ---- */

struct file_reader {
    struct optparse *parser;
    const char *path;
    FILE *file;
    char *line;
    size_t line_size;
    int line_number;
    bool has_failed; /* and *err is set */
    struct error *err;
};

/* Gives inih one line. Leading blanks go, so that an indented line is a setting of its own and not
 * joined to the one above; a line that inih would cut is refused. */
static char *next_line(char *out, int size, void *stream)
{
    struct file_reader *reader = stream;
    if (reader->has_failed)
        return NULL;
    ssize_t length = getline(&reader->line, &reader->line_size, reader->file);
    if (length < 0)
        return NULL;
    reader->line_number++;
    const char *text = reader->line + strspn(reader->line, " \t");
    size_t used = strlen(text) + 1;
    if (used > (size_t)size || strlen(reader->line) != (size_t)length) {
        reader->has_failed = true;
        (void)error_set(reader->err, ERROR_USAGE, "'%s' line %d is no text line of at most %d bytes",
                        reader->path, reader->line_number, size - 2);
        return NULL;
    }
    memcpy(out, text, used);
    return out;
}

static const char *file_name(const struct optparse_option *option)
{
    return option->file_name != NULL ? option->file_name : option->name;
}

static const struct optparse_option *find_setting(const struct optparse_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->option_count; i++)
        if (spec->options[i].in_file && strcmp(file_name(&spec->options[i]), name) == 0)
            return &spec->options[i];
    return NULL;
}

static int give_setting(struct file_reader *reader, const char *section, const char *name, const char *value)
{
    const struct optparse_spec *spec = reader->parser->spec;
    if (section[0] != '\0' && strcmp(section, spec->program) != 0)
        return error_set(reader->err, ERROR_USAGE,
                         "'%s' line %d is in the unknown section '[%s]': leave it out", reader->path,
                         reader->line_number, section);
    const struct optparse_option *option = find_setting(spec, name);
    if (option != NULL) {
        char subject[SUBJECT_MAX];
        (void)snprintf(subject, sizeof subject, "'%.200s' line %d: '%s'", reader->path, reader->line_number,
                       name);
        return give(reader->parser, option, SOURCE_FILE, value, subject, reader->err);
    }
    const char *nearest = nearest_option(spec, name);
    if (nearest != NULL)
        option = find_name(spec, nearest, strlen(nearest));
    if (option != NULL && option->in_file)
        return error_set(reader->err, ERROR_USAGE, "'%s' line %d: unknown name '%s': did you mean '%s'?",
                         reader->path, reader->line_number, name, file_name(option));
    return error_set(reader->err, ERROR_USAGE, "'%s' line %d: unknown name '%s'", reader->path,
                     reader->line_number, name);
}

/* inih's handler: 1 is success. */
static int on_setting(void *user, const char *section, const char *name, const char *value)
{
    struct file_reader *reader = user;
    if (reader->has_failed || name == NULL)
        return !reader->has_failed;
    reader->has_failed = give_setting(reader, section, name, value == NULL ? "" : value) < 0;
    return !reader->has_failed;
}

static int read_settings(struct file_reader *reader)
{
    int bad_line = ini_parse_stream(next_line, reader, on_setting, reader);
    if (ferror(reader->file))
        return error_set_sys(reader->err, ERROR_FAILED, errno, "cannot read '%s'", reader->path);
    if (bad_line > 0 && (!reader->has_failed || bad_line < reader->line_number))
        return error_set(reader->err, ERROR_USAGE, "'%s' line %d is not 'name = value'", reader->path,
                         bad_line);
    if (bad_line < 0)
        return error_set(reader->err, ERROR_FAILED, "out of memory reading '%s'", reader->path);
    return reader->has_failed ? -1 : 0;
}

int optparse_file(struct optparse *parser, const char *path, bool required, struct error *err)
{
    struct file_reader reader = {.parser = parser, .path = path, .err = err};
    reader.file = fopen(path, "re");
    if (reader.file == NULL) {
        if (!required && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        return error_set_sys(err, required ? ERROR_USAGE : ERROR_FAILED, errno, "cannot open '%s'", path);
    }
    int rc = read_settings(&reader);
    (void)fclose(reader.file);
    free(reader.line);
    return rc;
}

/* ---- values ---- */

int optparse_number(const struct optparse_option *option, const char *value, unsigned *number,
                    struct error *err)
{
    uint64_t wide;
    if (units_parse_number(value, option->min, option->max, &wide, err) < 0)
        return -1;
    *number = (unsigned)wide;
    return 0;
}

int optparse_flag(const char *value, bool *flag, struct error *err)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1", NULL};
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0) {
            *flag = i % 2 == 1;
            return 0;
        }
    }
    return error_set(err, ERROR_USAGE, "'%s' is neither 'yes' nor 'no'", value);
}

int optparse_choice(const char *const *choices, const char *value, unsigned *index, struct error *err)
{
    char list[SUBJECT_MAX];
    size_t used = 0;
    for (unsigned i = 0; choices[i] != NULL; i++) {
        if (strcmp(value, choices[i]) == 0) {
            *index = i;
            return 0;
        }
        const char *glue = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";
        int added = snprintf(list + used, sizeof list - used, "%s%s", glue, choices[i]);
        assert(added > 0 && (size_t)added < sizeof list - used);
        used += (size_t)added;
    }
    return error_set(err, ERROR_USAGE, "'%s' is not one of %s", value, list);
}

/* ---- help ---- */

void optparse_print_options(FILE *out, const struct optparse_spec *spec, unsigned commands)
{
    for (size_t i = 0; i < spec->option_count; i++) {
        const struct optparse_option *option = &spec->options[i];
        if (!(option->commands & commands))
            continue;
        char letter[8] = "   ";
        char left[VARIABLE_MAX];
        if (option->letter != '\0')
            (void)snprintf(letter, sizeof letter, "-%c,", option->letter);
        (void)snprintf(left, sizeof left, "%s --%s%s%s", letter, option->name, option->argument ? " " : "",
                       option->argument ? option->argument : "");
        (void)fprintf(out, "  %-25s %s\n", left, option->help);
    }
}
