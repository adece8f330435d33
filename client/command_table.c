/* Each command is a row; its words stand in a list of their own, for that is what the parser takes. */
#include "client/command_table.h"

#include <stdint.h>
#include <string.h>

#define ARGUMENTS_ANY SIZE_MAX

struct command_row {
    const char *synopsis;
    const char *help;
    size_t min, max;                 /* number of arguments */
    size_t first_model, model_count; /* which of them are model ids */
};

static const struct command_row commands[COMMAND_COUNT] = {
    [COMMAND_PUSH] = {"SRC NS/MODEL", "store a folder or a file as a model, replacing it as a whole", 2, 2, 1,
                      1},
    [COMMAND_PULL] = {"NS/MODEL DST", "fetch a model into a folder, complete and verified", 2, 2, 0, 1},
    [COMMAND_LS] = {"[GLOB]", "list models: size, files, age, state", 0, 1, 0, 0},
    [COMMAND_INFO] = {"NS/MODEL", "show a model's files, sizes, hashes and headers", 1, 1, 0, 1},
    [COMMAND_RM] = {"NS/MODEL...", "remove models, and what unfinished pushes left of them", 1, ARGUMENTS_ANY,
                    0, ARGUMENTS_ANY},
    [COMMAND_VERIFY] = {"NS/MODEL [DIR]", "check the stored copy, or a local one, against the hashes", 1, 2,
                        0, 1},
    [COMMAND_DOCTOR] = {"", "look at both machines and the path between for what slows transfers", 0, 0, 0,
                        0},
    [COMMAND_STATUS] = {"", "show what the server is doing: sessions, rates, disk", 0, 0, 0, 0},
    [COMMAND_BENCH] = {"[NS/MODEL]", "measure each layer of the path to the server, and say which binds", 0,
                       1, 0, 1},
    [COMMAND_BENCH_READ] = {"PATH...", "measure how fast files of any place are read", 1, ARGUMENTS_ANY, 0,
                            0},
    [COMMAND_BENCH_REPORT] = {"FILE...", "compare what bench read has measured", 1, ARGUMENTS_ANY, 0, 0},
    [COMMAND_GET] = {"NS/MODEL", "print the path of a local copy, fetched if it is not current", 1, 1, 0, 1},
    [COMMAND_RUN] = {"NS/MODEL -- CMD...", "run a command with {} replaced by the path, model held", 2,
                     ARGUMENTS_ANY, 0, 1},
    [COMMAND_CACHE_LS] = {"", "list what the local cache holds", 0, 0, 0, 0},
    [COMMAND_CACHE_RM] = {"NS/MODEL...", "remove models from the local cache", 1, ARGUMENTS_ANY, 0,
                          ARGUMENTS_ANY},
    [COMMAND_CACHE_PIN] = {"NS/MODEL...", "keep models whatever the budget is", 1, ARGUMENTS_ANY, 0,
                           ARGUMENTS_ANY},
    [COMMAND_CACHE_UNPIN] = {"NS/MODEL...", "let the budget decide again", 1, ARGUMENTS_ANY, 0,
                             ARGUMENTS_ANY},
    [COMMAND_CACHE_PRUNE] = {"", "remove leftovers, and the least recently used, down to the budget", 0, 0, 0,
                             0},
    [COMMAND_CACHE_PATHS] = {"", "print the paths of the models in the local cache", 0, 0, 0, 0},
};

/* COMMAND_NONE has one that no word equals. */
const char *const command_names[] = {
    [COMMAND_NONE] = "",
    [COMMAND_PUSH] = "push",
    [COMMAND_PULL] = "pull",
    [COMMAND_LS] = "ls",
    [COMMAND_INFO] = "info",
    [COMMAND_RM] = "rm",
    [COMMAND_VERIFY] = "verify",
    [COMMAND_DOCTOR] = "doctor",
    [COMMAND_STATUS] = "status",
    [COMMAND_BENCH] = "bench",
    [COMMAND_BENCH_READ] = "bench read",
    [COMMAND_BENCH_REPORT] = "bench report",
    [COMMAND_GET] = "get",
    [COMMAND_RUN] = "run",
    [COMMAND_CACHE_LS] = "cache ls",
    [COMMAND_CACHE_RM] = "cache rm",
    [COMMAND_CACHE_PIN] = "cache pin",
    [COMMAND_CACHE_UNPIN] = "cache unpin",
    [COMMAND_CACHE_PRUNE] = "cache prune",
    [COMMAND_CACHE_PATHS] = "cache paths",
    NULL,
};

/* How many of the words a command's name takes, as "bench read" takes two; 0 if they do not begin with it. */
static size_t words_of_name(const char *name, const struct optparse_list *words)
{
    size_t count = 0;
    for (size_t length; *name != '\0'; name += length + (name[length] == ' '), count++) {
        length = strcspn(name, " ");
        if (count == words->count || strlen(words->items[count]) != length ||
            strncmp(words->items[count], name, length) != 0)
            return 0;
    }
    return count;
}

static int refuse_command(const char *word, struct error *err)
{
    const char *nearest = optparse_nearest(word, command_names + 1);
    if (nearest != NULL)
        return error_set(err, ERROR_USAGE, "unknown command '%s': did you mean '%s'?", word, nearest);
    return error_set(err, ERROR_USAGE,
                     "unknown command '%s': '" OPTIONS_PROGRAM " --help' lists the commands", word);
}

int command_find(enum command *command, const struct optparse_list *words, size_t *used, struct error *err)
{
    *used = 0;
    for (int i = COMMAND_NONE + 1; i < COMMAND_COUNT; i++) {
        size_t count = words_of_name(command_names[i], words);
        if (count > *used) {
            *used = count;
            *command = (enum command)i;
        }
    }
    return *used > 0 ? 0 : refuse_command(words->items[0], err);
}

/* What stands between a command and its arguments. */
static const char *blank(enum command command)
{
    return commands[command].synopsis[0] ? " " : "";
}

int command_check_count(enum command command, const struct optparse_list *arguments, struct error *err)
{
    const struct command_row *row = &commands[command];
    const char *name = command_names[command];
    if (arguments->count < row->min)
        return error_set(err, ERROR_USAGE, "'%s' lacks an argument: write " OPTIONS_PROGRAM " %s%s%s", name,
                         name, blank(command), row->synopsis);
    if (arguments->count > row->max)
        return error_set(err, ERROR_USAGE, "'%s' is one argument too many: write " OPTIONS_PROGRAM " %s%s%s",
                         arguments->items[row->max], name, blank(command), row->synopsis);
    return 0;
}

bool command_takes_model(enum command command, size_t argument)
{
    const struct command_row *row = &commands[command];
    return argument >= row->first_model && argument - row->first_model < row->model_count;
}

const char *command_synopsis(enum command command)
{
    return commands[command].synopsis;
}

const char *command_help(enum command command)
{
    return commands[command].help;
}
