/* The header of a GGUF file, versions 1 to 3: metadata (keys and values), then where each tensor lies.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; what it leaves open is as llama.cpp
 * reads it. Version 1 has 32-bit counts, lengths and dimensions. Little-endian files only: a big-endian one
 * is FINDING_NOT_CHECKED.
 *
 * Work and memory are bounded by the limits below and by what the size of the file can hold: arrays are
 * passed over, and a tensor costs 16 bytes. */
#ifndef COMMON_GGUF_H
#define COMMON_GGUF_H

#include "common/dtype_mix.h"
#include "common/model_facts.h"
#include "common/model_finding.h"
#include "common/model_reader.h"

#include <stdbool.h>

/* Vocabularies of 256 k tokens with their merges take 15 MB. */
#define GGUF_HEADER_MAX ((uint64_t)256 << 20)
/* Keys; the number of tensors has the same limit (EXTENTS_MAX). */
#define GGUF_KEYS_MAX ((uint64_t)1 << 20)
/* Arrays in arrays, which the format allows and no writer makes. */
#define GGUF_ARRAY_DEPTH 4
/* "At most 4, but this may change in the future." */
#define GGUF_DIMENSIONS_MAX 8

struct gguf {
    uint64_t version;
    struct model_facts facts;
    bool is_auxiliary; /* a projector that is loaded beside a model (general.type "mmproj", architecture
                          "clip") */
    uint64_t file_type;
    bool has_file_type;
    /* Of a file that is one of several: its number from 0, how many there are, and the tensors of all. */
    uint64_t split_number, split_count, split_tensors;
    struct dtype_mix mix;
};

/* Checks the header and fills *out with what it tells. -1 with *why for what was found first; *out then holds
 * what had been read by then. FINDING_NOT_CHECKED for a file that does not begin as a GGUF file does, and for
 * types that are not in the table (all else is checked and counted then). */
int gguf_read(struct gguf *out, const struct model_reader *in, struct finding *why);

#endif
