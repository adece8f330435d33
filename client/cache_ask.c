/* `info` with `brief`. A server that does not know the word sends more; it is passed over. */
#include "client/cache_ask.h"

#include "client/attempts.h"
#include "client/control.h"

struct question {
    const struct options *options;
    const char *model;
    struct cache_version *version;
};

static void take_model(struct cache_version *version, const struct message_model *model)
{
    *version = (struct cache_version){.bytes = model->bytes,
                                      .files = model->files,
                                      .number = model->version,
                                      .mtime = model->mtime,
                                      .nsec = model->nsec};
}

static int read_answer(struct control *control, struct cache_version *version, struct error *err)
{
    for (bool has_model = false;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        enum message_type type = message.type;
        bool good = type == MESSAGE_MODEL ? !has_model
                                          : has_model && (type == MESSAGE_FILES || type == MESSAGE_METADATA ||
                                                          type == MESSAGE_END);
        if (type == MESSAGE_MODEL && good) {
            take_model(version, &message.u.model);
            has_model = true;
        }
        if (!good)
            (void)control_unexpected(&message, err);
        message_release(&message);
        if (!good)
            return -1;
        if (type == MESSAGE_END)
            return 0;
    }
}

static int ask_once(void *context, struct attempt *attempt, struct error *err)
{
    const struct question *question = context;
    struct control control;
    struct message ask = {.type = MESSAGE_INFO,
                          .u.request = {.model = (char *)question->model, .brief = true}};
    if (control_open(&control, question->options, err) < 0)
        return -1;
    attempt->connected = true;
    int result = control_send(&control, &ask, err);
    if (result == 0)
        result = read_answer(&control, question->version, err);
    control_close(&control);
    return result;
}

int cache_ask(const struct options *options, const char *model, struct cache_version *version,
              struct error *err)
{
    struct question question = {options, model, version};
    return attempts_run(options, ask_once, &question, err);
}
