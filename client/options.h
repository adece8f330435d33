/* The client's command line, environment and configuration file, as one struct.
 *
 * Calling sequence: options_parse() once at start, even if only to learn that help is wanted, then
 * options_release(). After options_parse() the struct is const. Where `help` or `version` is true the
 * program prints that on standard output and ends with 0; nothing else in the struct counts then.
 * Everything that the command line can get wrong without looking at the server is refused here with
 * ERROR_USAGE, the subject in quotes and the way out in words.
 *
 * Strongest source first: command line, MSTORE_SERVER, $XDG_CONFIG_HOME/mstore/config (or
 * ~/.config/mstore/config), default.
 *
 * Threads: parse and release in one; read from any. Ownership: the struct owns all its strings. */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "client/read_mode.h"
#include "common/hostport.h"
#include "common/io_mode.h"
#include "common/optparse.h"
#include "common/token.h"
#include "proto/error.h"

#define OPTIONS_PROGRAM "mstore"

enum command {
    COMMAND_NONE,         /* only with `help` or `version` */
    COMMAND_PUSH,         /* arguments: source, model */
    COMMAND_PULL,         /* model, and with LAYOUT_FOLDER the destination */
    COMMAND_LS,           /* none, or a glob */
    COMMAND_INFO,         /* model */
    COMMAND_RM,           /* one or more models */
    COMMAND_VERIFY,       /* model, and perhaps a local folder */
    COMMAND_DOCTOR,       /* none */
    COMMAND_STATUS,       /* none */
    COMMAND_BENCH,        /* none, or a model */
    COMMAND_BENCH_READ,   /* one or more files or folders */
    COMMAND_BENCH_REPORT, /* one or more files of JSON lines */
    COMMAND_GET,          /* model */
    COMMAND_RUN,          /* model, and the words of a command of the system */
    COMMAND_CACHE_LS,     /* none */
    COMMAND_CACHE_RM,     /* one or more models */
    COMMAND_CACHE_PIN,    /* one or more models */
    COMMAND_CACHE_UNPIN,  /* one or more models */
    COMMAND_CACHE_PRUNE,  /* none */
    COMMAND_CACHE_PATHS,  /* none */
    COMMAND_COUNT
};

/* What a pull makes of a model. */
enum layout {
    LAYOUT_FOLDER,   /* a folder with its files */
    LAYOUT_HF_CACHE, /* blobs, a snapshot and a ref in the Hugging Face cache */
};

enum progress_mode {
    PROGRESS_AUTO, /* a bar on a terminal, else plain */
    PROGRESS_BAR,
    PROGRESS_PLAIN,
    PROGRESS_JSON,
    PROGRESS_NONE,
};

struct options {
    enum command command;
    bool help;
    bool version;
    struct hostport server; /* port never 0 */
    char *token_file;       /* or NULL */
    struct token *token;    /* what is in it, or NULL */
    unsigned streams;       /* 1 to 64 */
    struct optparse_list include;
    struct optparse_list exclude;
    bool all;
    enum io_mode io;
    uint64_t bytes_per_s; /* over all streams; 0: no limit */
    bool checksum;
    bool dry_run;
    bool add;
    bool allow_incomplete;
    bool sha256;
    enum layout layout;
    char *cache_dir; /* or NULL */
    char *file;      /* of the model, the only one to pull; or NULL */
    bool yes;
    unsigned timeout_s; /* 1 to 3600 */
    unsigned retries;   /* 0 to 1000 */
    enum progress_mode progress;
    bool json;
    bool quiet;
    enum read_mode read_mode;
    enum cache_wish cache;
    unsigned rounds;                /* 1 to 1000 */
    char *label;                    /* or NULL */
    char *out;                      /* or NULL */
    char *chart;                    /* ends in .svg or .png, or NULL */
    unsigned load_cost_s;           /* 0 to 86400 */
    uint64_t local_bytes_per_s;     /* 0: not known */
    uint64_t size;                  /* of the model that bench predicts for; not 0 */
    unsigned layers;                /* that bench measures, a bit 1u << enum bench_layer each */
    uint64_t budget;                /* of the local tier, bytes; 0: no limit */
    bool warm;                      /* read the files into the page cache */
    bool comfyui;                   /* paths as extra_model_paths.yaml */
    unsigned verbose;               /* how often -v was given */
    struct optparse_list arguments; /* of the command, checked in number; models are valid ids */
};

/* Reads argv[1] onwards, the environment and the configuration file. On failure nothing is left to
 * release, and `json` says in which form the error is wanted. */
int options_parse(struct options *options, int argc, char **argv, struct error *err);

void options_release(struct options *options);

/* The whole table, for those who list it. A row's `commands` is a set of bits 1u << command. */
const struct optparse_spec *options_spec(void);

#endif
