/* `config.json`: what a model says about itself, by the names that transformers uses and has used
 * (PretrainedConfig and its attribute maps). What a multimodal model says of its language part (text_config
 * and the like) goes before what stands outside.
 *
 * Python writes NaN and Infinity, which JSON does not have; they are read as numbers. */
#ifndef COMMON_MODEL_CONFIG_H
#define COMMON_MODEL_CONFIG_H

#include "common/model_facts.h"
#include "common/model_finding.h"
#include "common/model_reader.h"

#define MODEL_CONFIG_MAX ((uint64_t)1 << 20)

/* -1 with *why, FINDING_NOT_CHECKED for a file that does not begin with '{'; *facts then hold what had been
 * read by then. */
int model_config_read(struct model_facts *facts, const struct model_reader *in, struct finding *why);

#endif
