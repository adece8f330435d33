/* The daemon's command line, environment and configuration file, as one struct that is const after start.
 *
 * Calling sequence: config_parse() first thing in main(), config_release() last. Where `help` or
 * `version` is true the program prints that on standard output and ends with 0; nothing else in the
 * struct counts then. Strongest source first: command line, MSTORED_… environment, file, default.
 *
 * Threads: any may read it between the two calls. Ownership: the struct owns all its memory. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/hostport.h"
#include "common/io_mode.h"
#include "common/log.h"
#include "common/optparse.h"
#include "proto/error.h"

struct sockaddr;

/* Read if it is there and no other file is named. */
#define CONFIG_DEFAULT_FILE "/etc/mstore/mstored.conf"

/* A range of addresses: the first `bits` bits of `address`, the others 0. */
struct config_cidr {
    int family;          /* AF_INET or AF_INET6 */
    uint8_t address[16]; /* network order; IPv4 uses four */
    unsigned bits;
};

enum config_make_token { CONFIG_NO_TOKEN, CONFIG_TOKEN_RW, CONFIG_TOKEN_RO };

struct config {
    bool help;
    bool version;
    enum config_make_token make_token; /* print one and end: nothing else counts then either */
    char *token_file;                  /* or NULL */
    char *root;                        /* never NULL after a successful parse without help or version */
    struct hostport *listen;           /* at least one; port 0 asks for a free one */
    size_t listen_count;
    bool no_auth;
    struct config_cidr *allow; /* none: everyone */
    size_t allow_count;
    bool read_only;
    unsigned max_streams;
    unsigned timeout_s;
    enum io_mode io;
    unsigned staging_days;
    enum log_level log_level;
};

/* Reads argv[1] onwards, the environment and the configuration file. Refuses an address that is not
 * loopback without no_auth or a token file; names other than "localhost" count as not loopback, since they
 * are not looked up here. A listener should look at what they resolve to with hostport_is_loopback_address().
 * On failure nothing is left to release. */
int config_parse(struct config *config, int argc, char **argv, struct error *err);

void config_release(struct config *config);

/* Whether a peer at that address may connect. IPv4 mapped into IPv6 counts as IPv4. */
bool config_is_allowed(const struct config *config, const struct sockaddr *address);

void config_print_help(FILE *out);

/* "mstored 0.1.0". */
void config_print_version(FILE *out);

/* The whole table, for those who list it: row 0 to *count - 1. */
const struct optparse_option *config_table(size_t *count);

#endif
