/* safetensors: the bytes as a file, then as the header of one, so that the length in front is not in the way.
 */
#include "model_target.h"

#include "common/safetensors.h"
#include "proto/bytes.h"

/* What the corpus has behind its headers. */
#define DATA 56

static void try_file(const uint8_t *bytes, size_t length, uint64_t size)
{
    struct memory memory = {bytes, length, 0, 0};
    struct model_reader in = memory_reader(&memory, size);
    struct safetensors out;
    struct finding why;
    int result = safetensors_read(&out, &in, &why);
    check_finding(result, &why);
    check_mix(&out.mix);
    if (result == 0) /* every byte belongs to one tensor */
        must_hold(out.header_bytes + dtype_mix_total(&out.mix).bytes == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    try_file(bytes, length, length);
    uint8_t *file = malloc(8 + length);
    must_hold(file);
    put_le(file, length, 8);
    if (length > 0)
        memcpy(file + 8, bytes, length);
    try_file(file, 8 + length, 8 + length);
    try_file(file, 8 + length, 8 + length + DATA);
    free(file);
    return 0;
}
