/* The client's options: their table, their values, their sources. A row of the table says all that is known
 * of an option, so that parsing, help and the man-page test cannot disagree. */
#include "client/options.h"

#include "client/arguments.h"
#include "client/bench_layers.h"
#include "client/chart.h"
#include "client/command_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "proto/name.h"

#define PROGRAM    OPTIONS_PROGRAM
#define HELP_MODEL "NS/MODEL"

enum option_id {
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_STREAMS,
    OPTION_INCLUDE,
    OPTION_EXCLUDE,
    OPTION_ALL,
    OPTION_IO,
    OPTION_BWLIMIT,
    OPTION_CHECKSUM,
    OPTION_DRY_RUN,
    OPTION_ADD,
    OPTION_ALLOW_INCOMPLETE,
    OPTION_SHA256,
    OPTION_LAYOUT,
    OPTION_CACHE_DIR,
    OPTION_YES,
    OPTION_TIMEOUT,
    OPTION_RETRIES,
    OPTION_PROGRESS,
    OPTION_MODE,
    OPTION_CACHE,
    OPTION_ROUNDS,
    OPTION_SIZE,
    OPTION_LAYER,
    OPTION_LABEL,
    OPTION_OUT,
    OPTION_CHART,
    OPTION_LOAD_COST,
    OPTION_LOCAL_RATE,
    OPTION_BUDGET,
    OPTION_WARM,
    OPTION_COMFYUI,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_VERSION,
};

/* Below this the streams' own messages would outweigh what they carry, and no disk is so slow. */
#define RATE_MIN 1000

/* Bytes of a label: room for a name of a place, not for a story. */
#define LABEL_MAX 200

/* Sets of commands. */
#define PUSH         (1u << COMMAND_PUSH)
#define PULL         (1u << COMMAND_PULL)
#define INFO         (1u << COMMAND_INFO)
#define RM           (1u << COMMAND_RM)
#define VERIFY       (1u << COMMAND_VERIFY)
#define BENCH        (1u << COMMAND_BENCH)
#define BENCH_READ   (1u << COMMAND_BENCH_READ)
#define BENCH_REPORT (1u << COMMAND_BENCH_REPORT)
#define GET          (1u << COMMAND_GET)
#define RUN          (1u << COMMAND_RUN)
#define CACHE_LS     (1u << COMMAND_CACHE_LS)
#define CACHE_PRUNE  (1u << COMMAND_CACHE_PRUNE)
#define CACHE_PATHS  (1u << COMMAND_CACHE_PATHS)
#define TRANSFER     (PUSH | PULL)
#define TIER         (GET | RUN)
#define CACHE                                                                                                \
    (CACHE_LS | CACHE_PRUNE | CACHE_PATHS | 1u << COMMAND_CACHE_RM | 1u << COMMAND_CACHE_PIN |               \
     1u << COMMAND_CACHE_UNPIN)
#define ALL    (((1u << COMMAND_COUNT) - 1) & ~(1u << COMMAND_NONE))
#define LOCAL  (BENCH_READ | BENCH_REPORT | CACHE) /* these talk to no server */
#define REMOTE (ALL & ~LOCAL)

static const char *const progress_names[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_BAR] = "bar",   [PROGRESS_PLAIN] = "plain",
    [PROGRESS_JSON] = "json", [PROGRESS_NONE] = "none", NULL,
};

static const char *const layout_names[] = {
    [LAYOUT_FOLDER] = "folder",
    [LAYOUT_HF_CACHE] = "hf-cache",
    NULL,
};

static const struct optparse_option table[] = {
    {OPTION_SERVER, 's', "server", "HOST[:PORT]", "the daemon to talk to (127.0.0.1:7420)",
     .commands = REMOTE, .in_environment = true, .in_file = true},
    {OPTION_TOKEN_FILE, 0, "token-file", "FILE", "holds the token to prove to the server; '' for none",
     .commands = REMOTE, .in_environment = true, .in_file = true},
    {OPTION_STREAMS, 'n', "streams", "N", "data connections, 1 to 64 (4)",
     .commands = TRANSFER | TIER | BENCH, .min = 1, .max = 64},
    {OPTION_INCLUDE, 0, "include", "GLOB", "move only files that match; repeatable", .commands = TRANSFER,
     .repeatable = true},
    {OPTION_EXCLUDE, 0, "exclude", "GLOB", "move no files that match; repeatable", .commands = TRANSFER,
     .repeatable = true},
    {OPTION_ALL, 0, "all", NULL, "also what is left out by default (.git, .cache/huggingface, ...)",
     .commands = TRANSFER},
    {OPTION_IO, 0, "io", "MODE", "how files are written: auto, buffered or direct (auto)",
     .commands = PULL | TIER | BENCH, .choices = io_mode_names},
    {OPTION_BWLIMIT, 0, "bwlimit", "RATE", "bytes a second over all streams, such as 200M",
     .commands = TRANSFER | TIER},
    {OPTION_CHECKSUM, 0, "checksum", NULL, "decide what is already there by content, not by size and time",
     .commands = TRANSFER},
    {OPTION_DRY_RUN, 0, "dry-run", NULL, "say what would move, and how much; move nothing",
     .commands = TRANSFER},
    {OPTION_ADD, 0, "add", NULL, "keep the stored files that the source lacks", .commands = PUSH},
    {OPTION_ALLOW_INCOMPLETE, 0, "allow-incomplete", NULL,
     "also a model that lacks a shard or has a broken file", .commands = TRANSFER | TIER},
    {OPTION_SHA256, 0, "sha256", NULL, "record the SHA-256 of each file; reads them once more",
     .commands = PUSH},
    {OPTION_LAYOUT, 0, "layout", "LAYOUT",
     "folder, or hf-cache: blobs and links for the Hub's library (folder)", .commands = PULL,
     .choices = layout_names},
    {OPTION_CACHE_DIR, 0, "cache-dir", "DIR",
     "the cache of --layout hf-cache ($HF_HUB_CACHE, $HF_HOME/hub, ...)", .commands = PULL},
    {OPTION_YES, 'y', "yes", NULL, "remove without asking", .commands = RM},
    {OPTION_TIMEOUT, 0, "timeout", "SECONDS", "silence after which a link is given up, 1 to 3600 (60)",
     .commands = REMOTE, .min = 1, .max = 3600},
    {OPTION_RETRIES, 0, "retries", "N", "how often a lost link is tried again, 0 to 1000 (5)",
     .commands = REMOTE, .min = 0, .max = 1000},
    {OPTION_PROGRESS, 0, "progress", "MODE", "auto, bar, plain, json or none (auto)",
     .commands = TRANSFER | TIER | VERIFY, .choices = progress_names},
    {OPTION_MODE, 0, "mode", "MODE", "how files are read: read or mmap (read)", .commands = BENCH_READ,
     .choices = read_mode_names},
    {OPTION_CACHE, 0, "cache", "STATE",
     "cold: drop the files from the cache before each round; warm: read them", .commands = BENCH_READ,
     .choices = cache_wish_names},
    {OPTION_ROUNDS, 0, "rounds", "N", "how often it is measured, 1 to 1000 (3)",
     .commands = BENCH | BENCH_READ, .min = 1, .max = 1000},
    {OPTION_SIZE, 0, "size", "SIZE", "of the model to predict for; at most 2G of it are moved a round (2G)",
     .commands = BENCH},
    {OPTION_LAYER, 0, "layer", "L,...", "measure only these: link-up, link-down, server-disk-read, ... (all)",
     .commands = BENCH},
    {OPTION_LABEL, 0, "label", "TEXT", "what the figures are called in a report (the first path)",
     .commands = BENCH_READ},
    {OPTION_OUT, 0, "out", "FILE", "append the JSON lines to this file", .commands = BENCH_READ},
    {OPTION_CHART, 0, "chart", "FILE", "draw a chart into this file, .svg or .png", .commands = BENCH_REPORT},
    {OPTION_LOAD_COST, 0, "load-cost", "SECONDS", "what loading takes beside reading, 0 to 86400 (0)",
     .commands = BENCH_READ | BENCH_REPORT | INFO, .min = 0, .max = 86400},
    {OPTION_LOCAL_RATE, 0, "local-rate", "RATE", "bytes a second of a local disk to compare with, such as 2G",
     .commands = INFO},
    {OPTION_BUDGET, 0, "budget", "SIZE", "what the local cache may take in all, such as 500G (no limit)",
     .commands = TIER | CACHE_LS | CACHE_PRUNE, .in_file = true, .file_name = "cache-budget"},
    {OPTION_WARM, 0, "warm", NULL, "read the files into the page cache, and say how much stays there",
     .commands = PULL | TIER},
    {OPTION_COMFYUI, 0, "comfyui", NULL, "the paths as a section of extra_model_paths.yaml",
     .commands = CACHE_PATHS},
    {OPTION_JSON, 0, "json", NULL, "the result as one JSON object on standard output",
     .commands = ALL & ~RUN},
    {OPTION_QUIET, 'q', "quiet", NULL, "errors only", .commands = ALL},
    {OPTION_VERBOSE, 'v', "verbose", NULL, "say more; repeatable", .commands = ALL, .repeatable = true},
    {OPTION_HELP, 'h', "help", NULL, "this text, or a command's", .commands = ALL, .repeatable = true},
    {OPTION_VERSION, 0, "version", NULL, "the version", .commands = ALL, .repeatable = true},
};

/* ---- values ---- */

static int set_server(struct options *options, const char *value, struct error *err)
{
    if (hostport_parse(&options->server, value, HOSTPORT_DEFAULT_PORT, err) < 0)
        return -1;
    if (options->server.port == 0)
        return error_set(err, ERROR_USAGE, "'%s' has port 0: write the port on which mstored listens", value);
    return 0;
}

static int set_pattern(struct optparse_list *list, const char *value, struct error *err)
{
    if (value[0] == '\0')
        return error_set(err, ERROR_USAGE, "'' matches nothing: write a pattern such as '*.gguf'");
    optparse_list_add(list, value);
    return 0;
}

static int set_progress(struct options *options, const char *value, struct error *err)
{
    unsigned index;
    if (optparse_choice(progress_names, value, &index, err) < 0)
        return -1;
    options->progress = (enum progress_mode)index;
    return 0;
}

static void set_text(char **text, const char *value)
{
    *text = strdup(value);
    if (!*text)
        abort();
}

static int set_layout(struct options *options, const char *value, struct error *err)
{
    unsigned index;
    if (optparse_choice(layout_names, value, &index, err) < 0)
        return -1;
    options->layout = (enum layout)index;
    return 0;
}

static int set_cache_dir(struct options *options, const char *value, struct error *err)
{
    if (value[0] == '\0')
        return error_set(err, ERROR_USAGE, "'' is no folder: write a name");
    set_text(&options->cache_dir, value);
    return 0;
}

static int set_read_mode(struct options *options, const char *value, struct error *err)
{
    unsigned index;
    if (optparse_choice(read_mode_names, value, &index, err) < 0)
        return -1;
    options->read_mode = (enum read_mode)index;
    return 0;
}

static int set_cache(struct options *options, const char *value, struct error *err)
{
    unsigned index;
    if (optparse_choice(cache_wish_names, value, &index, err) < 0)
        return -1;
    options->cache = (enum cache_wish)index;
    return 0;
}

static int set_label(struct options *options, const char *value, struct error *err)
{
    if (value[0] == '\0' || strlen(value) > LABEL_MAX)
        return error_set(err, ERROR_USAGE, "'%s' is no label: write 1 to %d bytes", value, LABEL_MAX);
    set_text(&options->label, value);
    return 0;
}

static int set_out(struct options *options, const char *value, struct error *err)
{
    if (value[0] == '\0')
        return error_set(err, ERROR_USAGE, "'' is no file: write a name");
    set_text(&options->out, value);
    return 0;
}

static int set_chart(struct options *options, const char *value, struct error *err)
{
    if (!chart_is_name(value))
        return error_set(err, ERROR_USAGE, "'%s' says no form: write a name that ends in .svg or .png",
                         value);
    set_text(&options->chart, value);
    return 0;
}

static int set_size(uint64_t *size, const char *value, struct error *err)
{
    if (units_parse_size(value, size, err) < 0)
        return -1;
    return *size > 0 ? 0 : error_set(err, ERROR_USAGE, "'%s' is too little: give at least 1 byte", value);
}

static int set_rate(uint64_t *bytes_per_s, const char *value, struct error *err)
{
    if (units_parse_size(value, bytes_per_s, err) < 0)
        return -1;
    if (*bytes_per_s >= RATE_MIN)
        return 0;
    return error_set(err, ERROR_USAGE, "'%s' is too little: give at least 1K, bytes a second", value);
}

static int apply(void *target, const struct optparse_option *option, const char *value, struct error *err)
{
    struct options *o = target;
    switch ((enum option_id)option->id) {
    case OPTION_SERVER:
        return set_server(o, value, err);
    case OPTION_TOKEN_FILE:
        set_text(&o->token_file, value);
        return 0;
    case OPTION_STREAMS:
        return optparse_number(option, value, &o->streams, err);
    case OPTION_INCLUDE:
        return set_pattern(&o->include, value, err);
    case OPTION_EXCLUDE:
        return set_pattern(&o->exclude, value, err);
    case OPTION_ALL:
        return optparse_flag(value, &o->all, err);
    case OPTION_IO:
        return io_mode_parse(value, &o->io, err);
    case OPTION_BWLIMIT:
        return set_rate(&o->bytes_per_s, value, err);
    case OPTION_CHECKSUM:
        return optparse_flag(value, &o->checksum, err);
    case OPTION_DRY_RUN:
        return optparse_flag(value, &o->dry_run, err);
    case OPTION_ADD:
        return optparse_flag(value, &o->add, err);
    case OPTION_ALLOW_INCOMPLETE:
        return optparse_flag(value, &o->allow_incomplete, err);
    case OPTION_SHA256:
        return optparse_flag(value, &o->sha256, err);
    case OPTION_LAYOUT:
        return set_layout(o, value, err);
    case OPTION_CACHE_DIR:
        return set_cache_dir(o, value, err);
    case OPTION_YES:
        return optparse_flag(value, &o->yes, err);
    case OPTION_TIMEOUT:
        return optparse_number(option, value, &o->timeout_s, err);
    case OPTION_RETRIES:
        return optparse_number(option, value, &o->retries, err);
    case OPTION_PROGRESS:
        return set_progress(o, value, err);
    case OPTION_MODE:
        return set_read_mode(o, value, err);
    case OPTION_CACHE:
        return set_cache(o, value, err);
    case OPTION_ROUNDS:
        return optparse_number(option, value, &o->rounds, err);
    case OPTION_SIZE:
        return set_size(&o->size, value, err);
    case OPTION_LAYER:
        return bench_layers_parse(value, &o->layers, err);
    case OPTION_LABEL:
        return set_label(o, value, err);
    case OPTION_OUT:
        return set_out(o, value, err);
    case OPTION_CHART:
        return set_chart(o, value, err);
    case OPTION_LOAD_COST:
        return optparse_number(option, value, &o->load_cost_s, err);
    case OPTION_LOCAL_RATE:
        return set_rate(&o->local_bytes_per_s, value, err);
    case OPTION_BUDGET:
        return set_size(&o->budget, value, err);
    case OPTION_WARM:
        return optparse_flag(value, &o->warm, err);
    case OPTION_COMFYUI:
        return optparse_flag(value, &o->comfyui, err);
    case OPTION_JSON:
        return optparse_flag(value, &o->json, err);
    case OPTION_QUIET:
        return optparse_flag(value, &o->quiet, err);
    case OPTION_VERBOSE:
        o->verbose++;
        return 0;
    case OPTION_HELP:
        return optparse_flag(value, &o->help, err);
    case OPTION_VERSION:
        return optparse_flag(value, &o->version, err);
    }
    abort(); /* a row of the table without its case */
}

static const struct optparse_spec spec = {
    .program = PROGRAM,
    .environment_prefix = "MSTORE_",
    .commands = command_names,
    .options = table,
    .option_count = sizeof table / sizeof table[0],
    .apply = apply,
};

/* ---- command and its arguments ---- */

static int check_arguments(const struct options *options, struct error *err)
{
    const struct optparse_list *arguments = &options->arguments;
    if (arguments_check(options, err) < 0)
        return -1;
    if ((options->layout == LAYOUT_FOLDER || arguments->count == 0) &&
        command_check_count(options->command, arguments, err) < 0)
        return -1;
    size_t own = options->command == COMMAND_RUN ? 2 : arguments->count; /* behind it, the command's words */
    for (size_t i = 0; i < own; i++)
        if (arguments->items[i][0] == '\0')
            return error_set(err, ERROR_USAGE, "'' is no argument: write " PROGRAM " %s %s",
                             command_names[options->command], command_synopsis(options->command));
    if (arguments_check_order(options, err) < 0)
        return -1;
    for (size_t i = 0; i < arguments->count; i++)
        if (command_takes_model(options->command, i) && !name_is_model_id(arguments->items[i]))
            return error_set(err, ERROR_USAGE,
                             "'%s' is not a model id: write " HELP_MODEL
                             ", both of letters, digits, '-', '_', '.'",
                             arguments->items[i]);
    return 0;
}

static int take_command(struct options *options, const struct optparse *parser, struct error *err)
{
    const struct optparse_list *words = &parser->positional;
    size_t used;
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "no command: '" PROGRAM " --help' lists the commands");
    if (command_find(&options->command, words, &used, err) < 0)
        return -1;
    for (size_t i = used; i < words->count; i++)
        optparse_list_add(&options->arguments, words->items[i]);
    if (optparse_check_command(parser, options->command, err) < 0 || arguments_complete(options, err) < 0)
        return -1;
    return check_arguments(options, err);
}

/* ---- sources ---- */

static int read_config_file(struct optparse *parser, struct error *err)
{
    const char *home = getenv("HOME");
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *below = "/mstore/config";
    if (base == NULL || base[0] != '/') { /* relative ones are to be ignored, says the XDG specification */
        if (home == NULL || home[0] == '\0')
            return 0;
        base = home;
        below = "/.config/mstore/config";
    }
    char *path;
    if (asprintf(&path, "%s%s", base, below) < 0)
        abort();
    int rc = optparse_file(parser, path, false, err);
    free(path);
    return rc;
}

static int load_token(struct options *options, struct error *err)
{
    if (!(1u << options->command & REMOTE) || !options->token_file || !options->token_file[0])
        return 0;
    options->token = malloc(sizeof *options->token);
    if (!options->token)
        abort();
    return token_start(err) < 0 ? -1 : token_load(options->token, options->token_file, err);
}

static int read_sources(struct options *options, struct optparse *parser, int argc, char **argv,
                        struct error *err)
{
    int rc = optparse_arguments(parser, argc, argv, err);
    size_t used;
    if (options->help || options->version)
        return parser->positional.count > 0 ? command_find(&options->command, &parser->positional, &used, err)
                                            : 0;
    if (rc < 0 || take_command(options, parser, err) < 0)
        return -1;
    if (options->quiet && options->verbose > 0)
        return error_set(err, ERROR_USAGE,
                         "options '--quiet' and '--verbose' exclude each other: leave one out");
    if (optparse_environment(parser, err) < 0)
        return -1;
    return read_config_file(parser, err) < 0 ? -1 : load_token(options, err);
}

/* Whether --json is among the options, also behind the one that is wrong. */
static bool is_json_wanted(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
    *options = (struct options){
        .server = {.host = "127.0.0.1", .port = HOSTPORT_DEFAULT_PORT},
        .streams = 4,
        .timeout_s = 60,
        .retries = 5,
        .cache = CACHE_WISH_NONE,
        .rounds = 3,
        .size = UINT64_C(2) * 1000 * 1000 * 1000,
        .layers = BENCH_ALL_LAYERS,
    };
    struct optparse parser;
    optparse_init(&parser, &spec, options);
    int rc = read_sources(options, &parser, argc, argv, err);
    optparse_release(&parser);
    if (rc < 0) {
        options_release(options);
        options->json = is_json_wanted(argc, argv);
    }
    return rc;
}

void options_release(struct options *options)
{
    optparse_list_release(&options->include);
    optparse_list_release(&options->exclude);
    optparse_list_release(&options->arguments);
    char **texts[] = {&options->token_file, &options->label,     &options->out,
                      &options->chart,      &options->cache_dir, &options->file};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
    free(options->token);
    options->token = NULL;
}

const struct optparse_spec *options_spec(void)
{
    return &spec;
}
