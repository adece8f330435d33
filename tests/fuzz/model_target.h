/* What the targets for headers of model files share: bytes as a file, and what must hold of every finding. */
#ifndef FUZZ_MODEL_TARGET_H
#define FUZZ_MODEL_TARGET_H

#include "target.h"

#include "common/dtype_mix.h"
#include "common/model_finding.h"
#include "tests/memory_reader.h"

#include "proto/json.h"

static inline void must_be_shown(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        must_hold(*c >= 0x20 && *c != 0x7f);
}

static inline void check_finding(int result, const struct finding *why)
{
    if (result == 0)
        return;
    must_hold(result == -1 && why->kind > FINDING_NONE && why->kind < FINDING_KIND_COUNT);
    must_hold(strlen(why->text) < FINDING_TEXT_MAX && *why->text);
    must_be_shown(why->text);
}

static inline void check_mix(const struct dtype_mix *mix)
{
    must_hold(mix->count <= DTYPE_MIX_MAX);
    for (size_t i = 0; i < mix->count; i++)
        must_hold(mix->uses[i].name && mix->uses[i].tensors > 0);
}

#endif
