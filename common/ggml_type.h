/* The data types of tensors in GGUF files, and the names of quantisations.
 *
 * Source: ggml/include/ggml.h (enum ggml_type), ggml/src/ggml-common.h (sizes of blocks) and include/llama.h
 * (enum llama_ftype) of https://github.com/ggml-org/llama.cpp, state of 2026. A row of a tensor is a whole
 * number of blocks. Const tables; any thread. */
#ifndef COMMON_GGML_TYPE_H
#define COMMON_GGML_TYPE_H

#include <stdint.h>

struct ggml_type {
    const char *name;
    uint32_t block_elements, block_bytes;
};

/* NULL for a number that is not known here. */
const struct ggml_type *ggml_type_find(uint64_t number);

/* What `general.file_type` says: "Q4_K_M"; NULL for a number that is not known here. */
const char *ggml_file_type_name(uint64_t number);

#endif
