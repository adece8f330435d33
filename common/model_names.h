/* What the name of a file in a model tells: which kind it is, and which part of how many. Pure; any thread.
 */
#ifndef COMMON_MODEL_NAMES_H
#define COMMON_MODEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum file_kind { FILE_WEIGHTS, FILE_CONFIG, FILE_TOKENIZER, FILE_OTHER, FILE_KIND_COUNT };

/* "weights", "config", "tokenizer", "other" */
const char *file_kind_name(enum file_kind kind);

enum file_kind file_kind_of(const char *path);

enum weights_format {
    WEIGHTS_NONE, /* no weights */
    WEIGHTS_SAFETENSORS,
    WEIGHTS_GGUF,
    WEIGHTS_PICKLE, /* of PyTorch, a ZIP archive or a pickle: begins with bytes of its own */
    WEIGHTS_RAW,    /* anything else: may begin with any bytes */
};

/* "safetensors", "gguf", "pytorch"; "other" for WEIGHTS_RAW. */
const char *weights_format_name(enum weights_format format);

enum weights_format weights_format_of(const char *path);

/* Whether `text` ends with `end`, whatever the case of letters. */
bool has_ending(const char *text, const char *end);

/* A file called "<stem>-<number>-of-<total><ending>", as model-00002-of-00005.safetensors. Most writers pad
 * both numbers to five digits, some to other widths or not at all; most count from 1, some from 0. */
struct part_name {
    size_t stem;      /* length of what comes before the '-' of the number, with the folder */
    size_t digits;    /* of the number */
    size_t total_at;  /* where the digits of the total begin */
    size_t ending_at; /* where the ending begins, with its '.' */
    uint64_t number, total;
};

/* False for a name of another form, and for one whose number is above its total. */
bool part_name_parse(const char *path, struct part_name *part);

#endif
