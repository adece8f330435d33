/* A model as ls and info show it. Pure. */
#ifndef CLIENT_MODEL_TEXT_H
#define CLIENT_MODEL_TEXT_H

#include "proto/json.h"
#include "proto/message.h"

#include <stdbool.h>

#define MODEL_STATE_MAX 96

/* "complete", "incomplete 80%", whether it is flawed, and what cannot be served. Returns `out`. */
const char *model_state_text(const struct message_model *model, char out[MODEL_STATE_MAX]);

/* name, bytes, modified, state and, where they say something, bytes_present and warnings. One that is
 * `listed` among others has the number of its files, too, and of its metadata that it is not complete, where
 * that is known. */
void model_add_json(struct json *object, const struct message_model *model, bool listed);

#endif
