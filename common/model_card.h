/* The licence that a model card names: README.md, whose front matter is YAML between two lines "---".
 *
 * Understood are `license: NAME` with or without quotes, a list below `license:` (its first entry), and
 * `license_name:`, which says more where the licence is "other"
 * (https://huggingface.co/docs/hub/model-cards). No other YAML. Pure; any thread. */
#ifndef COMMON_MODEL_CARD_H
#define COMMON_MODEL_CARD_H

#include "common/model_facts.h"

#include <stddef.h>

/* Front matter that lists results of many benchmarks is long. */
#define MODEL_CARD_MAX ((size_t)64 << 10)

/* From the first bytes of the card, MODEL_CARD_MAX at most. Empty if it names none. */
void model_card_licence(const char *text, size_t length, char licence[MODEL_FACT_MAX]);

#endif
