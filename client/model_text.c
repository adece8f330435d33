/* One place for the words and the JSON of a model. */
#include "client/model_text.h"

#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_complete(const struct message_model *model)
{
    return strcmp(model->state, "complete") == 0;
}

const char *model_state_text(const struct message_model *model, char out[MODEL_STATE_MAX])
{
    char odd[MODEL_STATE_MAX - 16] = "";
    /* 99 % is not yet all: only a whole model is "complete". */
    uint64_t percent = model->bytes ? (uint64_t)((double)model->present * 100.0 / (double)model->bytes) : 0;
    if (model->warnings > 0)
        (void)snprintf(odd, sizeof odd, ", %" PRIu64 " entries not served", model->warnings);
    if (is_complete(model))
        (void)snprintf(out, MODEL_STATE_MAX, "complete%s%s", model->flawed ? ", flawed: see info" : "", odd);
    else
        (void)snprintf(out, MODEL_STATE_MAX, "incomplete %" PRIu64 "%%%s", percent > 99 ? 99 : percent, odd);
    return out;
}

void model_add_json(struct json *object, const struct message_model *model, bool listed)
{
    char time[UNITS_TEXT_MAX];
    json_add_text(object, "name", model->name);
    json_add_size(object, "bytes", model->bytes);
    if (listed)
        json_add_size(object, "files", model->files);
    json_add_text(object, "modified", units_format_time(time, model->mtime, model->nsec));
    json_add_text(object, "state", is_complete(model) ? "complete" : "incomplete");
    if (!is_complete(model))
        json_add_size(object, "bytes_present", model->present);
    if (model->warnings > 0)
        json_add_size(object, "warnings", model->warnings);
    if (listed && model->flawed)
        json_add_bool(json_add(object, "metadata", json_object()), "complete", false);
}
