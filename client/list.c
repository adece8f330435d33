/* ls: the models, as a table or as JSON. */
#include "client/commands.h"
#include "client/model_text.h"
#include "client/output.h"
#include "client/question.h"

#include "common/units.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

struct list {
    const struct options *options;
    const char *glob;
    struct json *models; /* with --json */
    bool printed_head;
    int64_t now;
};

static void print_model(struct list *list, const struct message_model *model)
{
    char bytes[UNITS_TEXT_MAX], age[UNITS_TEXT_MAX], state[MODEL_STATE_MAX];
    if (!list->printed_head)
        (void)printf("%-48s %10s %8s  %-16s %s\n", "NAME", "SIZE", "FILES", "MODIFIED", "STATE");
    list->printed_head = true;
    (void)printf("%-48s %10s %8" PRIu64 "  %-16s %s\n", model->name, units_format_bytes(bytes, model->bytes),
                 model->files, units_format_age(age, list->now - model->mtime),
                 model_state_text(model, state));
}

static void take_model(struct list *list, const struct message_model *model)
{
    if (list->glob && fnmatch(list->glob, model->name, 0) != 0)
        return;
    if (list->models)
        model_add_json(json_add(list->models, NULL, json_object()), model, true);
    else
        print_model(list, model);
}

static int ask(struct control *control, void *context, struct attempt *attempt, struct error *err)
{
    struct list *list = context;
    if (control_send_simple(control, MESSAGE_LIST, err) < 0)
        return -1;
    for (;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        enum message_type type = message.type;
        attempt->told = true;
        if (type == MESSAGE_MODEL)
            take_model(list, &message.u.model);
        else if (type != MESSAGE_END)
            (void)control_unexpected(&message, err);
        message_release(&message);
        if (type == MESSAGE_END)
            return 0;
        if (type != MESSAGE_MODEL)
            return -1;
    }
}

int command_list(const struct options *options)
{
    struct error err = {0};
    struct json *result = options->json ? json_object() : NULL;
    struct list list = {.options = options,
                        .glob = options->arguments.count > 0 ? options->arguments.items[0] : NULL,
                        .models = result ? json_add(result, "models", json_array()) : NULL,
                        .now = time(NULL)};
    (void)question_ask(options, ask, &list, &err);
    return output_finish(options, result, &err);
}
