/* The `metadata` object, the same from both programs. What is not known is null, so that every key is always
 * there. */
#include "common/model_summary.h"

#include "proto/limits.h"

/* "1 k tokens" */
#define K_TOKENS 1000

static void add_number(struct json *object, const char *key, uint64_t number)
{
    if (number > 0)
        json_add_size(object, key, limit_size(number));
    else
        json_add_null(object, key);
}

static void add_text(struct json *object, const char *key, const char *text)
{
    if (*text)
        json_add_text(object, key, text);
    else
        json_add_null(object, key);
}

static void add_mix(struct json *object, const struct dtype_mix *mix)
{
    struct json *array = json_add(object, "dtypes", json_array());
    for (size_t i = 0; i < mix->count; i++) {
        const struct dtype_use *use = &mix->uses[i];
        struct json *entry = json_add(array, NULL, json_object());
        json_add_text(entry, "dtype", use->name);
        json_add_size(entry, "tensors", limit_size(use->tensors));
        json_add_size(entry, "elements", limit_size(use->elements));
        json_add_size(entry, "bytes", limit_size(use->bytes));
    }
}

static void add_facts(struct json *object, const struct model_facts *facts)
{
    add_text(object, "architecture", facts->architecture);
    add_text(object, "model_type", facts->model_type);
    add_text(object, "name", facts->name);
    add_text(object, "license", facts->licence);
    add_text(object, "torch_dtype", facts->dtype);
    add_text(object, "quantization", facts->quantization);
    add_number(object, "quantization_bits", facts->quantization_bits);
    add_number(object, "context_length", facts->context_length);
    add_number(object, "layers", facts->layers);
    add_number(object, "embedding_length", facts->embedding_length);
    add_number(object, "attention_heads", facts->heads);
    add_number(object, "kv_heads", facts->kv_heads);
    add_number(object, "experts", facts->experts);
    add_number(object, "experts_used", facts->experts_used);
}

static void add_kinds(struct json *object, const struct model_summary *summary)
{
    struct json *kinds = json_add(object, "files", json_object());
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++) {
        struct json *entry = json_add(kinds, file_kind_name((enum file_kind)kind), json_object());
        json_add_size(entry, "files", summary->kinds[kind].files);
        json_add_size(entry, "bytes", limit_size(summary->kinds[kind].bytes));
    }
}

static void add_memory(struct json *object, const struct model_summary *summary)
{
    struct json *memory = json_add(object, "memory", json_object());
    uint64_t bytes = summary->kv_bytes_of_token;
    add_number(memory, "weights", summary->load_bytes);
    add_number(memory, "kv_cache_per_token", bytes);
    add_number(memory, "kv_cache_per_1k_tokens",
               bytes < LIMIT_SIZE / K_TOKENS ? bytes * K_TOKENS : LIMIT_SIZE);
}

static void add_set(struct json *array, const struct model_set *set)
{
    struct json *entry = json_add(array, NULL, json_object());
    json_add_path(entry, "path", set->name, true);
    json_add_text(entry, "format", weights_format_name(set->format));
    add_text(entry, "architecture", set->facts.architecture);
    add_text(entry, "quantization", set->facts.quantization);
    json_add_size(entry, "files", set->files);
    json_add_size(entry, "bytes", limit_size(set->bytes));
    add_number(entry, "tensors", dtype_mix_total(&set->mix).tensors);
    add_number(entry, "parameters", set->parameters);
    add_number(entry, "memory", set->load_bytes);
    add_mix(entry, &set->mix);
}

static void add_findings(struct json *object, const struct finding_list *findings)
{
    struct json *array = json_add(object, "findings", json_array());
    for (size_t i = 0; i < findings->count; i++) {
        const struct model_finding *item = &findings->items[i];
        struct json *entry = json_add(array, NULL, json_object());
        json_add_text(entry, "kind", finding_name(item->finding.kind));
        json_add_path(entry, "path", item->path, true);
        json_add_text(entry, "message", item->finding.text);
        json_add_bool(entry, "stops", finding_stops(item->finding.kind));
    }
    if (findings->omitted > 0)
        json_add_size(object, "findings_omitted", limit_size(findings->omitted));
}

void model_summary_json(const struct model_summary *summary, struct json *object)
{
    json_add_bool(object, "complete", !summary->findings.stops);
    add_facts(object, &summary->facts);
    add_number(object, "parameters", summary->parameters);
    add_number(object, "tensors", dtype_mix_total(&summary->mix).tensors);
    add_mix(object, &summary->mix);
    add_kinds(object, summary);
    add_memory(object, summary);
    struct json *sets = json_add(object, "sets", json_array());
    for (size_t i = 0; i < summary->set_count; i++)
        add_set(sets, &summary->sets[i]);
    if (summary->sets_omitted > 0)
        json_add_size(object, "sets_omitted", limit_size(summary->sets_omitted));
    add_findings(object, &summary->findings);
}
