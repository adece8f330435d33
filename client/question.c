/* One attempt is one connection. */
#include "client/question.h"

struct question {
    const struct options *options;
    question_asker *ask;
    void *context;
};

static int ask_once(void *context, struct attempt *attempt, struct error *err)
{
    const struct question *question = context;
    struct control control;
    if (control_open(&control, question->options, err) < 0)
        return -1;
    attempt->connected = true;
    int result = question->ask(&control, question->context, attempt, err);
    control_close(&control);
    return result;
}

int question_ask(const struct options *options, question_asker *ask, void *context, struct error *err)
{
    struct question question = {options, ask, context};
    return attempts_run(options, ask_once, &question, err);
}
