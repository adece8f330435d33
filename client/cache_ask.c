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

/* The answer to a brief question is the model, and nothing behind it. */
static int read_answer(struct control *control, struct cache_version *version, struct error *err)
{
    struct message message;
    if (control_expect(control, MESSAGE_MODEL, &message, err) < 0)
        return -1;
    take_model(version, &message.u.model);
    message_release(&message);
    return control_expect_simple(control, MESSAGE_END, err);
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
