/* `info` with `brief`. A server that does not know the word sends more; it is passed over. */
#include "client/cache_ask.h"

#include "client/question.h"

struct inquiry {
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
static int ask(struct control *control, void *context, struct attempt *attempt, struct error *err)
{
    const struct inquiry *inquiry = context;
    struct message message = {.type = MESSAGE_INFO,
                              .u.request = {.model = (char *)inquiry->model, .brief = true}};
    (void)attempt;
    if (control_send(control, &message, err) < 0 || control_expect(control, MESSAGE_MODEL, &message, err) < 0)
        return -1;
    take_model(inquiry->version, &message.u.model);
    message_release(&message);
    return control_expect_simple(control, MESSAGE_END, err);
}

int cache_ask(const struct options *options, const char *model, struct cache_version *version,
              struct error *err)
{
    struct inquiry inquiry = {model, version};
    return question_ask(options, ask, &inquiry, err);
}
