/* JSON inside a model's file: what a reader gives, fed to a json_stream; what is wrong with it becomes a
 * finding. */
#ifndef COMMON_MODEL_JSON_H
#define COMMON_MODEL_JSON_H

#include "common/json_stream.h"
#include "common/model_finding.h"
#include "common/model_reader.h"

/* Descriptions of models are flat: three levels in a safetensors header, five or so in a config.json. */
#define MODEL_JSON_DEPTH 32

/* Whether the file begins with '{': else it is another file under this name, FINDING_NOT_CHECKED. */
int model_json_begins(const struct model_reader *in, struct finding *why);

/* Feeds the `length` bytes from `offset` on, in pieces. FINDING_BAD_HEADER with a text that begins with
 * `subject` ("its header", "the index") where they are no JSON within the limits; where the visitor has
 * stopped, it has set *why. */
int model_json_read(const struct model_reader *in, uint64_t offset, uint64_t length, const char *subject,
                    size_t max_token, json_visitor *visit, void *context, struct finding *why);

/* The same for bytes in memory. */
int model_json_parse(const char *text, size_t length, const char *subject, json_visitor *visit, void *context,
                     struct finding *why);

#endif
