/* GGUF: the bytes as a file, and as the start of a larger one. */
#include "model_target.h"

#include "common/extents.h"
#include "common/gguf.h"

static void try_file(const uint8_t *bytes, size_t length, uint64_t size)
{
    struct memory memory = {bytes, length, 0, 0};
    struct model_reader in = memory_reader(&memory, size);
    struct gguf out;
    struct finding why;
    int result = gguf_read(&out, &in, &why);
    check_finding(result, &why);
    check_mix(&out.mix);
    must_hold(memchr(out.facts.architecture, 0, MODEL_FACT_MAX) && memchr(out.facts.name, 0, MODEL_FACT_MAX));
    (void)model_facts_kv_bytes(&out.facts);
    if (result < 0)
        return;
    must_hold(out.version >= 1 && out.version <= 3);
    must_hold(dtype_mix_total(&out.mix).tensors <= EXTENTS_MAX && dtype_mix_total(&out.mix).bytes <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    try_file(bytes, length, length);
    try_file(bytes, length, length + 1110);
    return 0;
}
