/* The daemon's options: their table, what each value means, and the one rule about addresses.
 *
 * All sources go through common/optparse; this file knows only how a text becomes a field. */
#include "server/config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/units.h"
#include "proto/version.h"

#define PROGRAM "mstored"

enum option_id {
    OPTION_ROOT,
    OPTION_LISTEN,
    OPTION_TOKEN_FILE,
    OPTION_NO_AUTH,
    OPTION_ALLOW,
    OPTION_READ_ONLY,
    OPTION_MAX_STREAMS,
    OPTION_TIMEOUT,
    OPTION_IO,
    OPTION_STAGING_DAYS,
    OPTION_CONFIG,
    OPTION_MAKE_TOKEN,
    OPTION_LOG_LEVEL,
    OPTION_HELP,
    OPTION_VERSION,
};

/* The daemon has no commands: every option is of the one set. */
#define DAEMON 1u

static const char *const log_level_names[] = {
    [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug", NULL,
};

static const char *const make_token_names[] = {"rw", "ro", NULL};

#define FROM_ALL .commands = DAEMON, .in_environment = true, .in_file = true

static const struct optparse_option table[] = {
    {OPTION_ROOT, 0, "root", "DIR", "where models lie, as DIR/NAMESPACE/MODEL", FROM_ALL},
    {OPTION_LISTEN, 0, "listen", "HOST[:PORT]",
     "address to serve; repeatable; port 0 takes a free one (127.0.0.1:7420)", .repeatable = true, FROM_ALL},
    {OPTION_TOKEN_FILE, 0, "token-file", "FILE",
     "lines 'rw TOKEN' or 'ro TOKEN'; clients must prove that they know one", FROM_ALL},
    {OPTION_NO_AUTH, 0, "no-auth", NULL, "serve everyone on an address that is not loopback", FROM_ALL},
    {OPTION_ALLOW, 0, "allow", "CIDR", "close all peers but these at once; repeatable", .repeatable = true,
     FROM_ALL},
    {OPTION_READ_ONLY, 0, "read-only", NULL, "refuse push and rm", FROM_ALL},
    {OPTION_MAX_STREAMS, 0, "max-streams", "N", "data streams at a time over all clients, 1 to 1024 (64)",
     .min = 1, .max = 1024, FROM_ALL},
    {OPTION_TIMEOUT, 0, "timeout", "SECONDS", "silence after which a peer is given up, 1 to 3600 (60)",
     .min = 1, .max = 3600, FROM_ALL},
    {OPTION_IO, 0, "io", "MODE", "how files are written: auto, buffered or direct (auto)",
     .choices = io_mode_names, FROM_ALL},
    {OPTION_STAGING_DAYS, 0, "staging-days", "N",
     "age at which unfinished pushes are removed, 1 to 3650 (14)", .min = 1, .max = 3650, FROM_ALL},
    {OPTION_CONFIG, 0, "config", "FILE", "settings (" CONFIG_DEFAULT_FILE " if it is there)",
     .commands = DAEMON, .in_environment = true},
    {OPTION_MAKE_TOKEN, 0, "make-token", "ACCESS", "print a line for a token file, for rw or ro, and end",
     .commands = DAEMON, .choices = make_token_names},
    {OPTION_LOG_LEVEL, 0, "log-level", "LEVEL", "error, warn, info or debug (info)",
     .choices = log_level_names, FROM_ALL},
    {OPTION_HELP, 'h', "help", NULL, "this text", .commands = DAEMON, .repeatable = true},
    {OPTION_VERSION, 0, "version", NULL, "the version", .commands = DAEMON, .repeatable = true},
};

/* What the parser fills: the configuration, and the file that is still to be read for it. */
struct reading {
    struct config *config;
    char *file;
};

/* ---- values ---- */

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static int set_path(char **path, const char *value, struct error *err)
{
    if (value[0] == '\0')
        return error_set(err, ERROR_USAGE, "'' is no path");
    *path = must(strdup(value));
    return 0;
}

static int add_listen(struct config *config, const char *value, struct error *err)
{
    struct hostport hostport;
    if (hostport_parse(&hostport, value, HOSTPORT_DEFAULT_PORT, err) < 0)
        return -1;
    config->listen = must(realloc(config->listen, (config->listen_count + 1) * sizeof *config->listen));
    config->listen[config->listen_count++] = hostport;
    return 0;
}

/* The length of a family's addresses in bits. */
static unsigned address_bits(int family)
{
    return family == AF_INET ? 32 : 128;
}

/* IPv4 mapped into IPv6 becomes IPv4, as peers do in config_is_allowed(). */
static void unmap(struct config_cidr *cidr)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    if (cidr->family != AF_INET6 || cidr->bits < 96 || memcmp(cidr->address, prefix, sizeof prefix) != 0)
        return;
    memmove(cidr->address, cidr->address + sizeof prefix, 4);
    cidr->family = AF_INET;
    cidr->bits -= 96;
}

static void clear_host_bits(struct config_cidr *cidr)
{
    for (unsigned bit = cidr->bits; bit < 8 * sizeof cidr->address; bit++)
        cidr->address[bit / 8] &= (uint8_t)~(0x80u >> bit % 8);
}

static bool parse_address(struct config_cidr *cidr, const char *text, size_t length)
{
    char address[INET6_ADDRSTRLEN];
    if (length >= sizeof address)
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    cidr->family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;
    return inet_pton(cidr->family, address, cidr->address) == 1;
}

static int parse_cidr(struct config_cidr *cidr, const char *text, struct error *err)
{
    size_t length = strcspn(text, "/");
    if (!parse_address(cidr, text, length))
        return error_set(err, ERROR_USAGE,
                         "'%s' is not ADDRESS[/BITS], for instance '10.0.0.0/8' or 'fd00::/8'", text);
    uint64_t bits = address_bits(cidr->family);
    if (text[length] == '/' && units_parse_number(text + length + 1, 0, bits, &bits, err) < 0)
        return error_set(err, ERROR_USAGE, "'%s' has no number from 0 to %u behind its slash", text,
                         address_bits(cidr->family));
    cidr->bits = (unsigned)bits;
    unmap(cidr);
    clear_host_bits(cidr);
    return 0;
}

static int set_log_level(struct config *config, const char *value, struct error *err)
{
    unsigned index;
    if (optparse_choice(log_level_names, value, &index, err) < 0)
        return -1;
    config->log_level = (enum log_level)index;
    return 0;
}

static int set_make_token(struct config *config, const char *value, struct error *err)
{
    unsigned index;
    if (optparse_choice(make_token_names, value, &index, err) < 0)
        return -1;
    config->make_token = index == 0 ? CONFIG_TOKEN_RW : CONFIG_TOKEN_RO;
    return 0;
}

static int add_allow(struct config *config, const char *value, struct error *err)
{
    struct config_cidr cidr = {0};
    if (parse_cidr(&cidr, value, err) < 0)
        return -1;
    config->allow = must(realloc(config->allow, (config->allow_count + 1) * sizeof *config->allow));
    config->allow[config->allow_count++] = cidr;
    return 0;
}

static int apply(void *target, const struct optparse_option *option, const char *value, struct error *err)
{
    struct reading *reading = target;
    struct config *config = reading->config;
    switch ((enum option_id)option->id) {
    case OPTION_ROOT:
        return set_path(&config->root, value, err);
    case OPTION_LISTEN:
        return add_listen(config, value, err);
    case OPTION_TOKEN_FILE:
        return set_path(&config->token_file, value, err);
    case OPTION_NO_AUTH:
        return optparse_flag(value, &config->no_auth, err);
    case OPTION_ALLOW:
        return add_allow(config, value, err);
    case OPTION_READ_ONLY:
        return optparse_flag(value, &config->read_only, err);
    case OPTION_MAX_STREAMS:
        return optparse_number(option, value, &config->max_streams, err);
    case OPTION_TIMEOUT:
        return optparse_number(option, value, &config->timeout_s, err);
    case OPTION_IO:
        return io_mode_parse(value, &config->io, err);
    case OPTION_STAGING_DAYS:
        return optparse_number(option, value, &config->staging_days, err);
    case OPTION_CONFIG:
        return set_path(&reading->file, value, err);
    case OPTION_MAKE_TOKEN:
        return set_make_token(config, value, err);
    case OPTION_LOG_LEVEL:
        return set_log_level(config, value, err);
    case OPTION_HELP:
        return optparse_flag(value, &config->help, err);
    case OPTION_VERSION:
        return optparse_flag(value, &config->version, err);
    }
    abort(); /* a row of the table without its case */
}

static const struct optparse_spec spec = {
    .program = PROGRAM,
    .environment_prefix = "MSTORED_",
    .options = table,
    .option_count = sizeof table / sizeof table[0],
    .apply = apply,
};

/* ---- sources ---- */

/* Names stay unresolved here, so all but "localhost" count as reachable from outside. */
static int check_exposure(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->listen_count && !config->no_auth && !config->token_file; i++) {
        char text[HOSTPORT_TEXT_MAX];
        if (!hostport_is_loopback(&config->listen[i]))
            return error_set(
                err, ERROR_USAGE,
                "will not listen on '%s' without authentication: name tokens with --token-file FILE, or add "
                "--no-auth to serve everyone who can reach it",
                hostport_format(text, &config->listen[i]));
    }
    return 0;
}

static int complete(struct config *config, struct error *err)
{
    if (config->root == NULL)
        return error_set(err, ERROR_USAGE, "no root: say with --root DIR where the models lie");
    if (config->listen_count == 0 && add_listen(config, "127.0.0.1", err) < 0)
        return -1;
    if (config->no_auth && config->token_file)
        return error_set(err, ERROR_USAGE, "--no-auth and --token-file contradict each other: leave one out");
    return check_exposure(config, err);
}

static int read_sources(struct reading *reading, struct optparse *parser, int argc, char **argv,
                        struct error *err)
{
    int rc = optparse_arguments(parser, argc, argv, err);
    if (reading->config->help || reading->config->version || reading->config->make_token != CONFIG_NO_TOKEN)
        return 0;
    if (rc < 0)
        return -1;
    if (parser->positional.count > 0)
        return error_set(err, ERROR_USAGE,
                         "'%s' is no option: " PROGRAM " takes options only, for instance --root DIR",
                         parser->positional.items[0]);
    if (optparse_environment(parser, err) < 0)
        return -1;
    const char *file = reading->file != NULL ? reading->file : CONFIG_DEFAULT_FILE;
    if (optparse_file(parser, file, reading->file != NULL, err) < 0)
        return -1;
    return complete(reading->config, err);
}

int config_parse(struct config *config, int argc, char **argv, struct error *err)
{
    *config = (struct config){
        .max_streams = 64,
        .timeout_s = 60,
        .staging_days = 14,
        .log_level = LOG_INFO,
    };
    struct reading reading = {.config = config};
    struct optparse parser;
    optparse_init(&parser, &spec, &reading);
    int rc = read_sources(&reading, &parser, argc, argv, err);
    optparse_release(&parser);
    free(reading.file);
    if (rc < 0)
        config_release(config);
    return rc;
}

void config_release(struct config *config)
{
    free(config->root);
    free(config->token_file);
    free(config->listen);
    free(config->allow);
    *config = (struct config){0};
}

/* ---- peers ---- */

static bool is_within(const struct config_cidr *peer, const struct config_cidr *range)
{
    struct config_cidr start = *peer;
    start.bits = range->bits;
    clear_host_bits(&start);
    return peer->family == range->family && memcmp(start.address, range->address, sizeof start.address) == 0;
}

bool config_is_allowed(const struct config *config, const struct sockaddr *address)
{
    struct config_cidr peer = {.family = address->sa_family};
    if (config->allow_count == 0)
        return true;
    if (address->sa_family == AF_INET)
        memcpy(peer.address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    else if (address->sa_family == AF_INET6)
        memcpy(peer.address, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    else
        return false;
    peer.bits = address_bits(peer.family);
    unmap(&peer);
    clear_host_bits(&peer);
    for (size_t i = 0; i < config->allow_count; i++)
        if (is_within(&peer, &config->allow[i]))
            return true;
    return false;
}

/* ---- help ---- */

void config_print_help(FILE *out)
{
    (void)fprintf(out, "usage: " PROGRAM " --root DIR [options]\n\n"
                       "Serves the AI models below DIR to mstore.\n\n"
                       "options:\n");
    optparse_print_options(out, &spec, DAEMON);
    (void)fprintf(
        out, "\n"
             "Each is also read from the environment (MSTORED_ROOT, MSTORED_MAX_STREAMS; MSTORED_LISTEN and\n"
             "MSTORED_ALLOW take several, with spaces between) and from the file, as name = value.\n");
}

void config_print_version(FILE *out)
{
    (void)fprintf(out, PROGRAM " " MSTORE_VERSION "\n");
}

const struct optparse_option *config_table(size_t *count)
{
    *count = spec.option_count;
    return table;
}
