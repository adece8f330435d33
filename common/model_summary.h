/* What the names, sizes and headers of a model's files tell: what is wrong with it, and what it is. For both
 * programs: before a push, of a stored version, of a local copy. docs/formats.md says what is checked,
 * against which specification.
 *
 *     struct model_source source = {listing, open_file, context, NULL};
 *     struct model_summary summary;
 *     model_summary_read(&summary, &source);
 *     … summary.findings, model_summary_json() …
 *     model_summary_release(&summary);
 *
 * Only headers are read, never weights: a few hundred kilobytes a file, one file after the other. Blocking,
 * so never on a loop; one thread a call. Whatever the files hold, memory stays below some 64 MB beside what
 * the number of files takes. Out of memory ends the program.
 *
 * Nothing here fails: what cannot be opened or read is a finding. */
#ifndef COMMON_MODEL_SUMMARY_H
#define COMMON_MODEL_SUMMARY_H

#include "common/dtype_mix.h"
#include "common/model_facts.h"
#include "common/model_finding.h"
#include "common/model_names.h"
#include "proto/json.h"
#include "proto/listing.h"

#include <stdatomic.h>
#include <stdbool.h>

/* More are counted only. */
#define MODEL_SETS_MAX 1024

/* What open says of a file that is part of the model and cannot be read from here: it counts, nothing is said
 * of its inside. */
#define MODEL_FILE_ELSEWHERE (-2)

struct model_source {
    const struct listing *files; /* paths and sizes; each path once */
    /* Opens that file for reading: a descriptor, which the summary closes, -1 with errno, or
     * MODEL_FILE_ELSEWHERE. */
    int (*open)(void *context, const struct file_entry *file);
    void *context;
    /* Looked at before each file, may be NULL; what was read until then is in the summary. */
    const atomic_bool *cancelled;
};

/* Files of weights that are loaded together: the files of an index, the parts of a series, or one file. A
 * repository of quantisations has a set for each of them. */
struct model_set {
    char *name; /* the path of its index, else of its first file */
    enum weights_format format;
    uint64_t files, bytes; /* that are there */
    uint64_t load_bytes;   /* of the tensors; of the files where their headers are not read */
    uint64_t parameters;   /* 0 if the headers are not read */
    uint64_t packed_elements, packed_bits, auxiliary_elements; /* as in safetensors.h */
    struct dtype_mix mix;
    struct model_facts facts; /* of GGUF metadata */
    bool is_auxiliary;        /* loaded beside another */
};

struct model_summary {
    struct finding_list findings;
    struct {
        uint64_t files, bytes;
    } kinds[FILE_KIND_COUNT];
    struct model_set *sets; /* in the order of their names */
    size_t set_count;
    uint64_t sets_omitted;
    struct dtype_mix mix; /* of all sets */

    /* Of what one would load: the largest set; of a diffusers pipeline (model_index.json) the largest set of
     * each folder together. */
    const struct model_set *main_set; /* the largest of these, NULL without weights */
    uint64_t parameters, load_bytes;
    struct model_facts facts; /* of config.json, then of the main set; the licence of the model card first */
    uint64_t kv_bytes_of_token; /* 0 if not known */
};

void model_summary_read(struct model_summary *summary, const struct model_source *source);
void model_summary_release(struct model_summary *summary);

/* Adds the members of the `metadata` object (docs/formats.md) to `object`. */
void model_summary_json(const struct model_summary *summary, struct json *object);

#endif
