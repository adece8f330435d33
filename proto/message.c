/* One table says which fields a message has; encoding, decoding, checking and freeing walk it.
 * So a new message is a struct, a row and a paragraph of the page, and no limit can be forgotten. */
#include "proto/message.h"

#include "proto/json.h"
#include "proto/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_SIZE,
    KIND_PADDING,
    KIND_TIME,
    KIND_NSEC,
    KIND_FLAG,
    KIND_TEXT,
    KIND_STATE,
    KIND_ID,
    KIND_ORIGIN,
    KIND_PATH,
    KIND_HASHES,
    KIND_SECRET,
    KIND_SIZES,
    KIND_FILES,
    KIND_OBJECT
};

struct field {
    const char *name;
    enum kind kind;
    bool optional;
    size_t offset;
};

#define FIELD(name, kind, member)    {name, kind, false, offsetof(struct message, u.member)}
#define OPTIONAL(name, kind, member) {name, kind, true, offsetof(struct message, u.member)}
#define MOST_FIELDS                  11

static const struct {
    const char *name;
    struct field fields[MOST_FIELDS + 1];
} messages[MESSAGE_TYPE_COUNT] = {
    [MESSAGE_ALIVE] = {"alive", {{0}}},
    [MESSAGE_CHALLENGE] = {"challenge", {FIELD("nonce", KIND_SECRET, challenge.nonce)}},
    [MESSAGE_PROVE] = {"prove",
                       {FIELD("nonce", KIND_SECRET, prove.nonce), FIELD("proof", KIND_SECRET, prove.proof)}},
    [MESSAGE_WELCOME] = {"welcome",
                         {FIELD("proof", KIND_SECRET, welcome.proof),
                          FIELD("write", KIND_FLAG, welcome.write)}},
    [MESSAGE_LIST] = {"list", {{0}}},
    [MESSAGE_INFO] = {"info",
                      {FIELD("model", KIND_ID, request.model), OPTIONAL("brief", KIND_FLAG, request.brief)}},
    [MESSAGE_REMOVE] = {"remove", {FIELD("model", KIND_ID, request.model)}},
    [MESSAGE_VERIFY] = {"verify", {FIELD("model", KIND_ID, request.model)}},
    [MESSAGE_PUSH] = {"push",
                      {FIELD("model", KIND_ID, request.model), OPTIONAL("check", KIND_FLAG, request.check)}},
    [MESSAGE_PULL] = {"pull", {FIELD("model", KIND_ID, request.model)}},
    [MESSAGE_STATUS] = {"status", {{0}}},
    [MESSAGE_LINK] = {"link", {{0}}},
    [MESSAGE_DISK_WRITE] = {"disk_write", {FIELD("bytes", KIND_SIZE, disk.bytes)}},
    [MESSAGE_DISK_READ] = {"disk_read",
                           {FIELD("model", KIND_ID, disk.model), FIELD("bytes", KIND_SIZE, disk.bytes)}},
    [MESSAGE_HOST] = {"host", {OPTIONAL("padding", KIND_PADDING, host.padding)}},
    [MESSAGE_ERROR] = {"error",
                       {FIELD("code", KIND_TEXT, error.code), FIELD("message", KIND_TEXT, error.message),
                        OPTIONAL("path", KIND_PATH, error.path)}},
    [MESSAGE_END] = {"end", {{0}}},
    [MESSAGE_MODEL] = {"model",
                       {FIELD("name", KIND_ID, model.name), FIELD("bytes", KIND_SIZE, model.bytes),
                        FIELD("files", KIND_SIZE, model.files), FIELD("mtime", KIND_TIME, model.mtime),
                        FIELD("nsec", KIND_NSEC, model.nsec), FIELD("state", KIND_STATE, model.state),
                        FIELD("present", KIND_SIZE, model.present),
                        FIELD("warnings", KIND_SIZE, model.warnings),
                        OPTIONAL("flawed", KIND_FLAG, model.flawed),
                        OPTIONAL("origin", KIND_ORIGIN, model.origin),
                        OPTIONAL("version", KIND_SIZE, model.version)}},
    [MESSAGE_PROGRESS] = {"progress",
                          {FIELD("bytes", KIND_SIZE, progress.bytes),
                           FIELD("total", KIND_SIZE, progress.total)}},
    [MESSAGE_CHECKED] = {"checked",
                         {FIELD("path", KIND_PATH, checked.path), FIELD("ok", KIND_FLAG, checked.ok),
                          OPTIONAL("fresh", KIND_FLAG, checked.fresh),
                          FIELD("bad", KIND_SIZES, checked.bad)}},
    [MESSAGE_FACT] = {"fact", {FIELD("name", KIND_TEXT, fact.name), FIELD("value", KIND_TEXT, fact.value)}},
    [MESSAGE_SERVER] =
        {"server",
         {FIELD("version", KIND_TEXT, server.version), FIELD("uptime", KIND_SIZE, server.uptime),
          FIELD("bytes_free", KIND_SIZE, server.bytes_free),
          FIELD("bytes_total", KIND_SIZE, server.bytes_total), FIELD("rate", KIND_SIZE, server.rate),
          FIELD("streams", KIND_SIZE, server.streams), FIELD("max_streams", KIND_SIZE, server.max_streams),
          FIELD("waiting", KIND_SIZE, server.waiting), FIELD("source", KIND_SIZE, server.source),
          FIELD("cached", KIND_SIZE, server.cached)}},
    [MESSAGE_SESSION] = {"session",
                         {FIELD("peer", KIND_TEXT, session.peer),
                          FIELD("request", KIND_TEXT, session.request),
                          OPTIONAL("model", KIND_ID, session.model), FIELD("bytes", KIND_SIZE, session.bytes),
                          FIELD("rate", KIND_SIZE, session.rate),
                          FIELD("streams", KIND_SIZE, session.streams),
                          FIELD("age", KIND_SIZE, session.age)}},
    [MESSAGE_FILES] = {"files", {FIELD("files", KIND_FILES, files)}},
    [MESSAGE_LISTED] = {"listed", {{0}}},
    [MESSAGE_STAGED] = {"staged",
                        {FIELD("path", KIND_PATH, staged.path), FIELD("size", KIND_SIZE, staged.size),
                         FIELD("mtime", KIND_TIME, staged.mtime), FIELD("nsec", KIND_NSEC, staged.nsec),
                         FIELD("source", KIND_SIZE, staged.source), FIELD("first", KIND_SIZE, staged.first),
                         FIELD("hashes", KIND_HASHES, staged.hashes)}},
    [MESSAGE_PLAN] = {"plan",
                      {FIELD("files", KIND_SIZE, plan.files), FIELD("bytes", KIND_SIZE, plan.bytes),
                       FIELD("missing_files", KIND_SIZE, plan.missing_files),
                       FIELD("missing_bytes", KIND_SIZE, plan.missing_bytes),
                       FIELD("add", KIND_FLAG, plan.add), OPTIONAL("origin", KIND_ORIGIN, plan.origin)}},
    [MESSAGE_GO] = {"go", {{0}}},
    [MESSAGE_READY] = {"ready",
                       {FIELD("streams", KIND_SIZE, ready.streams),
                        OPTIONAL("origin", KIND_ORIGIN, ready.origin)}},
    [MESSAGE_COMMIT] = {"commit", {{0}}},
    [MESSAGE_PUBLISHED] = {"published",
                           {FIELD("files", KIND_SIZE, published.files),
                            FIELD("bytes", KIND_SIZE, published.bytes),
                            FIELD("durable", KIND_FLAG, published.durable)}},
    [MESSAGE_HASHES] = {"hashes", {FIELD("file", KIND_SIZE, hashes.file)}},
    [MESSAGE_BLOCKS] = {"blocks",
                        {FIELD("file", KIND_SIZE, blocks.file), FIELD("first", KIND_SIZE, blocks.first),
                         FIELD("hashes", KIND_HASHES, blocks.hashes)}},
    [MESSAGE_METADATA] = {"metadata", {FIELD("metadata", KIND_OBJECT, metadata.metadata)}},
    [MESSAGE_DONE] = {"done", {{0}}},
    [MESSAGE_MEASURED] = {"measured",
                          {FIELD("write", KIND_FLAG, measured.write),
                           FIELD("bytes", KIND_SIZE, measured.bytes), FIELD("ns", KIND_SIZE, measured.ns),
                           FIELD("cached", KIND_SIZE, measured.cached)}},
    [MESSAGE_ACTIVITY] =
        {"activity",
         {FIELD("stream", KIND_SIZE, activity.stream), FIELD("bytes", KIND_SIZE, activity.bytes),
          FIELD("wall", KIND_SIZE, activity.wall), FIELD("file", KIND_SIZE, activity.file),
          FIELD("socket", KIND_SIZE, activity.socket), FIELD("cpu", KIND_SIZE, activity.cpu),
          FIELD("queued", KIND_SIZE, activity.queued), FIELD("busy", KIND_SIZE, activity.busy),
          FIELD("window", KIND_SIZE, activity.window), FIELD("source", KIND_SIZE, activity.source),
          FIELD("cached", KIND_SIZE, activity.cached)}},
};

void size_list_add(struct size_list *list, uint64_t value)
{
    if ((list->count & (list->count - 1)) == 0)
        list->values = realloc(list->values, (list->count ? 2 * list->count : 1) * sizeof *list->values);
    if (!list->values)
        abort();
    list->values[list->count++] = value;
}

const char *message_type_name(enum message_type type)
{
    return messages[type].name;
}

/* -- encoding -- */

static void add_files(struct json *object, const char *name, const struct listing *listing)
{
    struct json *array = json_add(object, name, json_array());
    for (size_t i = 0; i < listing->count; i++) {
        const struct file_entry *file = &listing->files[i];
        struct json *entry = json_add(array, NULL, json_object());
        json_add_path(entry, "path", file->path, false);
        json_add_size(entry, "size", file->size);
        json_add_number(entry, "mtime", (double)file->mtime);
        json_add_size(entry, "nsec", file->nsec);
        if (file->has_hash)
            json_add_hex(entry, "hash", file->hash, HASH_SIZE);
        if (file->source != 0)
            json_add_size(entry, "source", file->source);
        if (file->has_sha256)
            json_add_hex(entry, "sha256", file->sha256, SHA256_SIZE);
        if (file->has_git_blob)
            json_add_hex(entry, "git_blob", file->git_blob, GIT_BLOB_SIZE);
        if (file->from != FROM_NONE)
            json_add_text(entry, "from", file_from_name(file->from));
    }
}

static void add_sizes(struct json *object, const char *name, const struct size_list *list)
{
    struct json *array = json_add(object, name, json_array());
    for (size_t i = 0; i < list->count; i++)
        json_add_size(array, NULL, list->values[i]);
}

/* Text is cut at its limit, at a character's border or not: what is left half becomes U+FFFD. */
static void add_text(struct json *object, const char *name, const char *text)
{
    char cut[LIMIT_TEXT / 3 + 1];
    if (strlen(text) <= LIMIT_TEXT && json_is_utf8(text, strlen(text))) {
        json_add_text(object, name, text);
        return;
    }
    size_t length = strnlen(text, sizeof cut - 1); /* each byte may grow to three */
    memcpy(cut, text, length);
    cut[length] = '\0';
    json_add_text(object, name, cut);
}

static void encode_field(struct json *object, const struct field *field, const void *value)
{
    switch (field->kind) {
    case KIND_SIZE:
        if (!field->optional || *(const uint64_t *)value)
            json_add_size(object, field->name, *(const uint64_t *)value);
        break;
    case KIND_PADDING:
        if (!field->optional || *(const uint64_t *)value > 0)
            json_add_size(object, field->name, *(const uint64_t *)value);
        break;
    case KIND_TIME:
        json_add_number(object, field->name, (double)*(const int64_t *)value);
        break;
    case KIND_NSEC:
        json_add_size(object, field->name, *(const uint32_t *)value);
        break;
    case KIND_FLAG:
        if (!field->optional || *(const bool *)value)
            json_add_bool(object, field->name, *(const bool *)value);
        break;
    case KIND_TEXT:
    case KIND_STATE:
    case KIND_ID:
        if (!field->optional || *(char *const *)value)
            add_text(object, field->name, *(char *const *)value);
        break;
    case KIND_PATH:
        if (*(char *const *)value)
            json_add_path(object, field->name, *(char *const *)value, false);
        break;
    case KIND_ORIGIN:
        if (*(char *const *)value)
            json_add_text(object, field->name, *(char *const *)value);
        break;
    case KIND_SECRET:
        json_add_hex(object, field->name, value, SECRET_SIZE);
        break;
    case KIND_HASHES: {
        const struct block_hashes *hashes = value;
        json_add_hex(object, field->name, hashes->bytes, hashes->count * HASH_SIZE);
        break;
    }
    case KIND_SIZES:
        add_sizes(object, field->name, value);
        break;
    case KIND_FILES:
        add_files(object, field->name, value);
        break;
    case KIND_OBJECT:
        json_add(object, field->name, json_copy(*(struct json *const *)value));
        break;
    }
}

char *message_encode(const struct message *message, size_t *length)
{
    struct json *object = json_object();
    json_add_text(object, "type", messages[message->type].name);
    for (const struct field *f = messages[message->type].fields; f->name; f++)
        encode_field(object, f, (const char *)message + f->offset);
    char *text = json_print(object);
    json_free(object);
    *length = strlen(text);
    return text;
}

/* -- decoding: each returns whether the value is there, of the right kind and within its limits -- */

static bool decode_padding(const struct json *value, uint64_t *out)
{
    return json_as_size(value, out) && *out <= LIMIT_PADDING;
}

static bool decode_nsec(const struct json *value, uint32_t *out)
{
    uint64_t whole;
    if (!json_as_size(value, &whole) || whole > 999999999)
        return false;
    *out = (uint32_t)whole;
    return true;
}

static bool decode_text(const struct json *value, char **out)
{
    const char *text = json_as_text(value);
    if (!text || strlen(text) > LIMIT_TEXT)
        return false;
    *out = strdup(text);
    return *out != NULL;
}

static bool decode_id(const struct json *value, char **out)
{
    const char *text = json_as_text(value);
    return text && name_is_model_id(text) && decode_text(value, out);
}

static bool decode_origin(const struct json *value, char **out)
{
    const char *text = json_as_text(value);
    return text && name_is_origin(text) && decode_text(value, out);
}

static bool decode_path(const struct json *object, const char *key, char **out)
{
    *out = json_get_path(object, key);
    if (*out && name_is_path(*out))
        return true;
    free(*out);
    *out = NULL;
    return false;
}

static bool has_path(const struct json *object, const char *key)
{
    char hex[32];
    (void)snprintf(hex, sizeof hex, "%s_hex", key);
    return json_get(object, key) || json_get(object, hex);
}

static bool decode_state(const struct json *value, char **out)
{
    const char *text = json_as_text(value);
    return text && (strcmp(text, "complete") == 0 || strcmp(text, "incomplete") == 0) &&
           decode_text(value, out);
}

static bool decode_hashes(const struct json *value, struct block_hashes *out)
{
    const char *text = json_as_text(value);
    size_t digits = text ? strlen(text) : 0;
    if (digits == 0 || digits % (2 * HASH_SIZE) != 0 || digits / (2 * HASH_SIZE) > LIMIT_BATCH_HASHES)
        return false;
    out->count = digits / (2 * HASH_SIZE);
    out->bytes = malloc(out->count * HASH_SIZE);
    return out->bytes && json_as_hex(value, out->bytes, out->count * HASH_SIZE);
}

static bool decode_sizes(const struct json *value, struct size_list *out)
{
    size_t count = json_length(value);
    if (!json_is_array(value) || count > LIMIT_BATCH_HASHES)
        return false;
    out->values = calloc(count + 1, sizeof *out->values);
    if (!out->values)
        return false;
    for (const struct json *v = json_first(value); v; v = json_next(v))
        if (!json_as_size(v, &out->values[out->count++]))
            return false;
    return true;
}

static bool decode_file(const struct json *object, struct file_entry *file)
{
    const struct json *from = json_get(object, "from");
    memset(file, 0, sizeof *file);
    if (!json_is_object(object) || !json_as_size(json_get(object, "size"), &file->size) ||
        !json_as_whole(json_get(object, "mtime"), &file->mtime) ||
        !decode_nsec(json_get(object, "nsec"), &file->nsec))
        return false;
    if (!json_get_hex(object, "hash", &file->has_hash, file->hash, HASH_SIZE) ||
        !json_get_hex(object, "sha256", &file->has_sha256, file->sha256, SHA256_SIZE) ||
        !json_get_hex(object, "git_blob", &file->has_git_blob, file->git_blob, GIT_BLOB_SIZE))
        return false;
    if (json_get(object, "source") && !json_as_size(json_get(object, "source"), &file->source))
        return false;
    if (from) {
        const char *word = json_as_text(from);
        file->from = word ? file_from_parse(word) : FROM_NONE;
        if (file->from == FROM_NONE)
            return false;
    }
    return decode_path(object, "path", &file->path);
}

static bool decode_files(const struct json *value, struct listing *out)
{
    size_t count = json_length(value);
    if (count == 0 || count > LIMIT_BATCH_FILES)
        return false;
    for (const struct json *v = json_first(value); v; v = json_next(v)) {
        struct file_entry file;
        if (!decode_file(v, &file))
            return false;
        listing_add(out, &file);
        free(file.path);
    }
    return true;
}

static bool decode_object(const struct json *value, struct json **out)
{
    if (!json_is_object(value))
        return false;
    *out = json_copy(value);
    return true;
}

static bool decode_field(const struct json *object, const struct field *field, void *out)
{
    const struct json *value = json_get(object, field->name);
    switch (field->kind) {
    case KIND_SIZE:
        return json_as_size(value, out) || (field->optional && !value);
    case KIND_PADDING:
        return decode_padding(value, out) || (field->optional && !value);
    case KIND_TIME:
        return json_as_whole(value, out);
    case KIND_NSEC:
        return decode_nsec(value, out);
    case KIND_FLAG:
        return json_as_bool(value, out) || (field->optional && !value);
    case KIND_TEXT:
        return decode_text(value, out);
    case KIND_STATE:
        return decode_state(value, out);
    case KIND_ID:
        return decode_id(value, out) || (field->optional && !value);
    case KIND_ORIGIN:
        return decode_origin(value, out) || (field->optional && !value);
    case KIND_PATH:
        return decode_path(object, field->name, out) || (field->optional && !has_path(object, field->name));
    case KIND_SECRET:
        return json_as_hex(value, out, SECRET_SIZE);
    case KIND_HASHES:
        return decode_hashes(value, out);
    case KIND_SIZES:
        return decode_sizes(value, out);
    case KIND_FILES:
        return decode_files(value, out);
    case KIND_OBJECT:
        return decode_object(value, out);
    }
    return false;
}

static int type_of(const struct json *object)
{
    const char *name = json_as_text(json_get(object, "type"));
    for (int i = 0; name && i < MESSAGE_TYPE_COUNT; i++)
        if (strcmp(messages[i].name, name) == 0)
            return i;
    return -1;
}

int message_decode(struct message *message, const char *text, size_t length, struct error *err)
{
    memset(message, 0, sizeof *message);
    struct json *object = json_parse(text, length, LIMIT_JSON_DEPTH);
    int type = json_is_object(object) ? type_of(object) : -1;
    if (type < 0) {
        json_free(object);
        return error_set(err, ERROR_PROTOCOL, "a control message is no known message");
    }
    message->type = (enum message_type)type;
    int result = 0;
    for (const struct field *f = messages[type].fields; result == 0 && f->name; f++)
        if (!decode_field(object, f, (char *)message + f->offset))
            result =
                error_set(err, ERROR_PROTOCOL, "field '%s' of message '%s' is missing or outside its limits",
                          f->name, messages[type].name);
    json_free(object);
    if (result < 0)
        message_release(message);
    return result;
}

static void release_field(const struct field *field, void *value)
{
    switch (field->kind) {
    case KIND_TEXT:
    case KIND_STATE:
    case KIND_ID:
    case KIND_ORIGIN:
    case KIND_PATH:
        free(*(char **)value);
        break;
    case KIND_HASHES:
        free(((struct block_hashes *)value)->bytes);
        break;
    case KIND_SIZES:
        free(((struct size_list *)value)->values);
        break;
    case KIND_FILES:
        listing_release(value);
        break;
    case KIND_OBJECT:
        json_free(*(struct json **)value);
        break;
    case KIND_SIZE:
    case KIND_PADDING:
    case KIND_TIME:
    case KIND_NSEC:
    case KIND_FLAG:
    case KIND_SECRET:
        break;
    }
}

void message_release(struct message *message)
{
    for (const struct field *f = messages[message->type].fields; f->name; f++)
        release_field(f, (char *)message + f->offset);
    memset(message, 0, sizeof *message);
}
