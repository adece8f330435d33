/* config.json, and the front matter of model cards. */
#include "model_target.h"

#include "common/model_card.h"
#include "common/model_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct memory memory = {bytes, length, 0, 0};
    struct model_reader in = memory_reader(&memory, length);
    struct model_facts facts;
    struct finding why;
    char licence[MODEL_FACT_MAX];
    check_finding(model_config_read(&facts, &in, &why), &why);
    must_hold(memchr(facts.architecture, 0, MODEL_FACT_MAX) && memchr(facts.quantization, 0, MODEL_FACT_MAX));
    must_hold(memchr(facts.model_type, 0, MODEL_FACT_MAX) && memchr(facts.dtype, 0, MODEL_FACT_MAX));
    (void)model_facts_kv_bytes(&facts);
    model_card_licence((const char *)bytes, length, licence);
    must_hold(memchr(licence, 0, MODEL_FACT_MAX));
    return 0;
}
