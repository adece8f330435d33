/* What is known gets a line; the rest is left to --json. */
#include "client/metadata_text.h"

#include "client/output.h"
#include "common/model_names.h"
#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>

static void print_text(const char *title, const struct json *value)
{
    const char *text = json_as_text(value);
    if (!text || !text[0])
        return;
    (void)printf("%-9s ", title);
    output_text(text);
    (void)printf("\n");
}

static bool get_size(const struct json *object, const char *key, uint64_t *out)
{
    return json_as_size(json_get(object, key), out);
}

/* "7.62 B" (10^9), "135 M". */
static void print_parameters(const struct json *metadata)
{
    uint64_t count;
    if (!get_size(metadata, "parameters", &count))
        return;
    if (count >= 1000000000)
        (void)printf("%-9s %.2f B\n", "params", (double)count / 1e9);
    else
        (void)printf("%-9s %.1f M\n", "params", (double)count / 1e6);
}

static void print_dtypes(const struct json *metadata)
{
    char bytes[UNITS_TEXT_MAX];
    const char *between = "";
    for (const struct json *d = json_first(json_get(metadata, "dtypes")); d; d = json_next(d)) {
        const char *name = json_as_text(json_get(d, "dtype"));
        uint64_t size;
        if (!name || !get_size(d, "bytes", &size))
            continue;
        (void)printf(between[0] ? "%s" : "%-9s ", between[0] ? between : "dtypes");
        output_text(name);
        (void)printf(" %s", units_format_bytes(bytes, size));
        between = ", ";
    }
    if (between[0])
        (void)printf("\n");
}

static void print_kinds(const struct json *metadata)
{
    char text[UNITS_TEXT_MAX];
    const char *between = "";
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++) {
        const char *name = file_kind_name((enum file_kind)kind);
        const struct json *of_kind = json_get(json_get(metadata, "files"), name);
        uint64_t files, bytes;
        if (!json_as_size(json_get(of_kind, "files"), &files) ||
            !json_as_size(json_get(of_kind, "bytes"), &bytes) || files == 0)
            continue;
        (void)printf(between[0] ? "%s" : "%-9s ", between[0] ? between : "kinds");
        (void)printf("%" PRIu64 " %s %s", files, name, units_format_bytes(text, bytes));
        between = ", ";
    }
    if (between[0])
        (void)printf("\n");
}

static void print_shape(const struct json *metadata)
{
    static const struct {
        const char *key, *word;
    } parts[] = {{"layers", "layers"}, {"experts", "experts"}, {"tensors", "tensors"}};
    const char *between = "";
    uint64_t value;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (get_size(metadata, parts[i].key, &value)) {
            (void)printf(between[0] ? "%s" : "%-9s ", between[0] ? between : "shape");
            (void)printf("%" PRIu64 " %s", value, parts[i].word);
            between = ", ";
        }
    if (between[0])
        (void)printf("\n");
    if (get_size(metadata, "context_length", &value))
        (void)printf("%-9s %" PRIu64 " tokens\n", "context", value);
}

static void print_memory(const struct json *metadata)
{
    const struct json *memory = json_get(metadata, "memory");
    char bytes[UNITS_TEXT_MAX];
    uint64_t size;
    if (!get_size(memory, "weights", &size))
        return;
    (void)printf("%-9s %s for the weights", "memory", units_format_bytes(bytes, size));
    if (get_size(memory, "kv_cache_per_1k_tokens", &size))
        (void)printf(", %s KV cache for 1 k tokens", units_format_bytes(bytes, size));
    (void)printf("\n");
}

void metadata_print_findings(const struct json *metadata)
{
    for (const struct json *f = json_first(json_get(metadata, "findings")); f; f = json_next(f)) {
        const char *path = json_as_text(json_get(f, "path")), *text = json_as_text(json_get(f, "message"));
        if (path && text)
            output_error("'%s' %s", path, text);
    }
}

void metadata_print(const struct json *metadata)
{
    print_kinds(metadata);
    print_text("arch", json_get(metadata, "architecture"));
    print_parameters(metadata);
    print_text("quant", json_get(metadata, "quantization"));
    print_dtypes(metadata);
    print_shape(metadata);
    print_memory(metadata);
    print_text("licence", json_get(metadata, "license"));
    metadata_print_findings(metadata);
}

bool metadata_is_complete(const struct json *metadata)
{
    bool complete;
    return !json_as_bool(json_get(metadata, "complete"), &complete) || complete;
}
