/* rm: asks on a terminal, then removes model by model. */
#include "client/commands.h"
#include "client/control.h"
#include "client/output.h"

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

/* A model that cannot be removed does not keep the others; the last error is the command's. */
static void remove_all(struct control *control, const struct options *options, struct json *removed,
                       struct error *err)
{
    for (size_t i = 0; i < options->arguments.count; i++) {
        const char *model = options->arguments.items[i];
        struct error one = {0};
        if (remove_model(control, model, &one) == 0) {
            if (removed)
                json_add_text(removed, NULL, model);
            else if (!options->quiet)
                (void)printf("removed %s\n", model);
            continue;
        }
        if (err->code != ERROR_NONE)
            output_error("%s", err->text);
        *err = one;
        if (one.code == ERROR_LOST || one.code == ERROR_PROTOCOL || one.code == ERROR_INTERRUPTED)
            return;
    }
}

int command_remove(const struct options *options)
{
    struct control control;
    struct error err = {0};
    struct json *result = options->json ? json_object() : NULL;
    struct json *removed = result ? json_add(result, "removed", json_array()) : NULL;
    if (!is_confirmed(options)) {
        error_set(&err, ERROR_FAILED, "nothing was removed");
    } else if (control_open(&control, options, &err) == 0) {
        remove_all(&control, options, removed, &err);
        control_close(&control);
    }
    if (result)
        json_add_bool(result, "ok", err.code == ERROR_NONE);
    return output_finish(options, result, &err);
}
