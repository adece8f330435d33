/* Indexes of sharded models. */
#include "model_target.h"

#include "common/model_index.h"
#include "proto/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct memory memory = {bytes, length, 0, 0};
    struct model_reader in = memory_reader(&memory, length);
    struct model_index index;
    struct finding why;
    size_t name_bytes = 0;
    check_finding(model_index_read(&index, &in, &why), &why);
    must_hold(index.count <= index.tensors && index.count <= MODEL_INDEX_SHARDS_MAX);
    for (size_t i = 0; i < index.count; i++) {
        must_hold(name_is_path(index.shards[i]));
        must_hold(i == 0 || strcmp(index.shards[i - 1], index.shards[i]) < 0);
        name_bytes += strlen(index.shards[i]) + 1;
    }
    must_hold(name_bytes == index.name_bytes && name_bytes <= MODEL_INDEX_NAMES_MAX);
    model_index_release(&index);
    return 0;
}
