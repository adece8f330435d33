/* info: one model with its files. */
#include "client/commands.h"
#include "client/history.h"
#include "client/load_time.h"
#include "client/metadata_text.h"
#include "client/model_text.h"
#include "client/output.h"
#include "client/question.h"

#include "common/units.h"
#include "proto/hex.h"

#include <inttypes.h>
#include <string.h>

struct info {
    const struct options *options;
    struct json *result, *files; /* with --json */
    struct json *metadata;       /* as it came, or NULL */
};

static void print_head(const struct message_model *model)
{
    char bytes[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX], state[MODEL_STATE_MAX];
    (void)printf("name      %s\nsize      %s (%" PRIu64 " bytes)\nfiles     %" PRIu64
                 "\nmodified  %s\nstate     %s\n",
                 model->name, units_format_bytes(bytes, model->bytes), model->bytes, model->files,
                 units_format_time(time, model->mtime, model->nsec), model_state_text(model, state));
    if (model->origin)
        (void)printf("origin    %s\n", model->origin);
}

static void print_file(const struct file_entry *file)
{
    char hash[HEX_MAX(HASH_SIZE)] = "-";
    if (file->has_hash)
        (void)hex_print(hash, file->hash, HASH_SIZE);
    (void)printf("%16" PRIu64 "  %-32s  ", file->size, hash);
    output_text(file->path);
    (void)printf("\n");
}

static void add_file(struct json *files, const struct file_entry *file)
{
    char time[UNITS_TEXT_MAX];
    struct json *object = json_add(files, NULL, json_object());
    json_add_path(object, "path", file->path, true);
    json_add_size(object, "bytes", file->size);
    json_add_text(object, "modified", units_format_time(time, file->mtime, file->nsec));
    if (file->has_hash)
        json_add_hex(object, "hash", file->hash, HASH_SIZE);
    else
        json_add_null(object, "hash");
    if (file->has_sha256)
        json_add_hex(object, "sha256", file->sha256, SHA256_SIZE);
}

static struct load_time load_time(const struct options *options, uint64_t bytes)
{
    struct history history;
    size_t pulls;
    history_load(&history, &options->server, HISTORY_PULL);
    double rate = history_rate(&history, &pulls);
    return load_time_of(bytes, rate, pulls, (double)options->local_bytes_per_s, options->load_cost_s);
}

static void print_load_time(const struct load_time *time)
{
    char text[LOAD_TIME_TEXT_MAX];
    if (load_time_text(text, time)[0])
        (void)printf("loading   %s\n", text);
}

static void take_model(struct info *info, const struct message_model *model)
{
    struct load_time time = load_time(info->options, model->bytes);
    if (!info->result) {
        print_head(model);
        print_load_time(&time);
        return;
    }
    model_add_json(info->result, model, false);
    load_time_add_json(info->result, &time);
    if (model->origin)
        json_add_text(info->result, "origin", model->origin);
    info->files = json_add(info->result, "files", json_array());
}

static void take_files(struct info *info, const struct listing *files)
{
    for (size_t i = 0; i < files->count; i++)
        if (info->files)
            add_file(info->files, &files->files[i]);
        else
            print_file(&files->files[i]);
}

static int ask(struct control *control, void *context, struct attempt *attempt, struct error *err)
{
    struct info *info = context;
    if (control_request(control, MESSAGE_INFO, info->options->arguments.items[0], err) < 0)
        return -1;
    for (bool has_model = false;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        enum message_type type = message.type;
        bool good = true;
        if (type == MESSAGE_MODEL && !has_model) {
            take_model(info, &message.u.model);
            has_model = attempt->told = true;
        } else if (type == MESSAGE_FILES && has_model) {
            take_files(info, &message.u.files);
        } else if (type == MESSAGE_METADATA && has_model && !info->metadata) {
            info->metadata = message.u.metadata.metadata;
            message.u.metadata.metadata = NULL;
        } else if (type != MESSAGE_END || !has_model) {
            good = false;
            (void)control_unexpected(&message, err);
        }
        message_release(&message);
        if (!good)
            return -1;
        if (type == MESSAGE_END)
            return 0;
    }
}

/* Behind the files, for the server tells it last. */
static void show_metadata(struct info *info)
{
    struct json *metadata = info->metadata ? info->metadata : json_object();
    if (info->result) {
        json_add(info->result, "metadata", metadata);
        return;
    }
    metadata_print(metadata);
    json_free(metadata);
}

int command_info(const struct options *options)
{
    struct error err = {0};
    struct info info = {.options = options, .result = options->json ? json_object() : NULL};
    if (question_ask(options, ask, &info, &err) == 0 || info.metadata)
        show_metadata(&info);
    return output_finish(options, info.result, &err);
}
