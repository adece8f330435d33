/* rm: asks on a terminal, then removes model by model. */
#include "client/commands.h"
#include "client/output.h"
#include "client/question.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_confirmed(const struct options *options)
{
    char answer[16] = "";
    if (options->yes || !isatty(STDIN_FILENO))
        return true;
    (void)fprintf(stderr, "remove");
    for (size_t i = 0; i < options->arguments.count; i++)
        (void)fprintf(stderr, " %s", options->arguments.items[i]);
    (void)fprintf(stderr, "? [y/N] ");
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

int remove_model(struct control *control, const char *model, struct error *err)
{
    return control_request(control, MESSAGE_REMOVE, model, err) < 0
               ? -1
               : control_expect_simple(control, MESSAGE_END, err);
}

struct removal {
    const struct options *options;
    struct json *removed; /* with --json */
    size_t next;          /* of the arguments */
    struct error error;   /* of the last one that cannot be removed, which does not keep the others */
};

static void take_result(struct removal *removal, const char *model, const struct error *one)
{
    if (one->code != ERROR_NONE) {
        if (removal->error.code != ERROR_NONE)
            output_error("%s", removal->error.text);
        removal->error = *one;
    } else if (removal->removed) {
        json_add_text(removal->removed, NULL, model);
    } else if (!removal->options->quiet) {
        (void)printf("removed %s\n", model);
    }
}

static bool is_over(const struct error *err)
{
    return err->code == ERROR_LOST || err->code == ERROR_PROTOCOL || err->code == ERROR_INTERRUPTED ||
           err->code == ERROR_TERMINATED;
}

/* The rest of the models, over one connection. A request that may have been carried out is not repeated:
 * somebody may have pushed the model anew since. */
static int ask(struct control *control, void *context, struct attempt *attempt, struct error *err)
{
    struct removal *removal = context;
    for (; removal->next < removal->options->arguments.count; removal->next++) {
        const char *model = removal->options->arguments.items[removal->next];
        if (control_request(control, MESSAGE_REMOVE, model, err) < 0)
            return -1;
        struct error one = {0};
        attempt->told = control_expect_simple(control, MESSAGE_END, &one) < 0 && is_over(&one);
        if (attempt->told) {
            *err = one;
            return one.code == ERROR_LOST
                       ? error_set(err, ERROR_LOST, "%.300s; '%s' may be gone", one.text, model)
                       : -1;
        }
        take_result(removal, model, &one);
    }
    return 0;
}

int command_remove(const struct options *options)
{
    struct error err = {0};
    struct json *result = options->json ? json_object() : NULL;
    struct removal removal = {.options = options,
                              .removed = result ? json_add(result, "removed", json_array()) : NULL};
    if (!is_confirmed(options))
        error_set(&err, ERROR_FAILED, "nothing was removed");
    else if (question_ask(options, ask, &removal, &err) == 0)
        err = removal.error;
    else if (removal.error.code != ERROR_NONE)
        output_error("%s", removal.error.text);
    if (result)
        json_add_bool(result, "ok", err.code == ERROR_NONE);
    return output_finish(options, result, &err);
}
