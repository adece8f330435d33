/* The header of a safetensors file: 8 bytes little-endian N, N bytes of JSON, then the tensors' bytes.
 *
 * Format and limits are those of the reference implementation (https://github.com/huggingface/safetensors,
 * README.md and safetensors/src/tensor.rs): N is at most 100 000 000; the JSON is an object that begins with
 * '{' and may be padded; each member but "__metadata__" is a tensor {dtype, shape, data_offsets [begin,
 * end]}; the tensors cover the rest of the file without overlap and without gap. So 8 + N + the last offset
 * is the size of the file, and a cut file is found without reading it.
 *
 * Memory: 16 bytes a tensor (EXTENTS_MAX), twice while they are sorted, and the longest string of the header.
 * Names are not kept, so a name that occurs twice is not noticed. */
#ifndef COMMON_SAFETENSORS_H
#define COMMON_SAFETENSORS_H

#include "common/dtype_mix.h"
#include "common/model_finding.h"
#include "common/model_reader.h"

#define SAFETENSORS_HEADER_MAX ((uint64_t)100000000)

/* Trainers put their whole settings as one string into "__metadata__"; some take a megabyte. */
#define SAFETENSORS_STRING_MAX ((size_t)4 << 20)

struct safetensors {
    uint64_t header_bytes; /* 8 + N */
    struct dtype_mix mix;
    /* Quantised layers, told by the names of their tensors: elements that each hold several parameters
     * ("….qweight", "….weight_packed", "…_blocks"; "….weight" of U32), the bits of these, and elements that
     * are no parameters (scales, zero points). */
    uint64_t packed_elements, packed_bits, auxiliary_elements;
};

/* Checks the header and fills *out with what it tells. -1 with *why for what was found first; *out then holds
 * what had been read by then. FINDING_NOT_CHECKED for a file that does not begin as a safetensors file does,
 * and for types that are not in the table (all else is checked and counted then). */
int safetensors_read(struct safetensors *out, const struct model_reader *in, struct finding *why);

#endif
