/* `*.index.json`: which file of a sharded model holds which tensor, {"metadata": {…}, "weight_map": {tensor:
 * file}}.
 *
 * Real ones reach 60 MB, for they name every tensor; only the names of the distinct files are kept. Format:
 * what huggingface_hub writes (serialization of sharded state dicts). */
#ifndef COMMON_MODEL_INDEX_H
#define COMMON_MODEL_INDEX_H

#include "common/model_finding.h"
#include "common/model_reader.h"

#define MODEL_INDEX_MAX ((uint64_t)512 << 20)
/* The largest models have a thousand files. */
#define MODEL_INDEX_SHARDS_MAX ((size_t)16384)
#define MODEL_INDEX_NAMES_MAX  ((size_t)1 << 20) /* bytes of all their names */
/* Of the name of a tensor or file. */
#define MODEL_INDEX_STRING_MAX ((size_t)64 << 10)

struct model_index {
    char **shards; /* valid paths below the folder of the index, sorted, each once */
    size_t count, capacity;
    size_t name_bytes;
    uint64_t tensors; /* named in the weight_map */
};

/* -1 with *why, FINDING_NOT_CHECKED for a file that does not begin with '{'; *index then holds what had been
 * read by then. Release it in any case. An object without a weight_map names no files. */
int model_index_read(struct model_index *index, const struct model_reader *in, struct finding *why);
void model_index_release(struct model_index *index);

#endif
