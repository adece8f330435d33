/* Two sets of facts are filled on the way, of the model and of its language part, and then made one. */
#include "common/model_config.h"

#include "common/model_json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The first name that occurs counts. */
static const struct {
    const char *key;
    size_t at;
} numbers[] = {
    {"max_position_embeddings", offsetof(struct model_facts, context_length)},
    {"n_positions", offsetof(struct model_facts, context_length)},
    {"max_seq_len", offsetof(struct model_facts, context_length)},
    {"seq_length", offsetof(struct model_facts, context_length)},
    {"num_hidden_layers", offsetof(struct model_facts, layers)},
    {"n_layer", offsetof(struct model_facts, layers)},
    {"n_layers", offsetof(struct model_facts, layers)},
    {"num_layers", offsetof(struct model_facts, layers)},
    {"hidden_size", offsetof(struct model_facts, embedding_length)},
    {"n_embd", offsetof(struct model_facts, embedding_length)},
    {"d_model", offsetof(struct model_facts, embedding_length)},
    {"num_attention_heads", offsetof(struct model_facts, heads)},
    {"n_head", offsetof(struct model_facts, heads)},
    {"n_heads", offsetof(struct model_facts, heads)},
    {"num_key_value_heads", offsetof(struct model_facts, kv_heads)},
    {"num_kv_heads", offsetof(struct model_facts, kv_heads)},
    {"head_dim", offsetof(struct model_facts, key_length)},
    {"kv_lora_rank", offsetof(struct model_facts, kv_lora_rank)},
    {"qk_rope_head_dim", offsetof(struct model_facts, rope_dimensions)},
    {"num_local_experts", offsetof(struct model_facts, experts)},
    {"num_experts", offsetof(struct model_facts, experts)},
    {"n_routed_experts", offsetof(struct model_facts, experts)},
    {"moe_num_experts", offsetof(struct model_facts, experts)},
    {"num_experts_per_tok", offsetof(struct model_facts, experts_used)},
    {"moe_topk", offsetof(struct model_facts, experts_used)},
};

static const struct {
    const char *key;
    size_t at;
} texts[] = {
    {"model_type", offsetof(struct model_facts, model_type)},
    {"torch_dtype", offsetof(struct model_facts, dtype)},
    {"dtype", offsetof(struct model_facts, dtype)},
};

static const char *const language_parts[] = {"text_config", "llm_config", "language_config"};

#define KEY_MAX 64
#define NOWHERE (-1)

struct scan {
    struct model_facts whole, language;
    char key[KEY_MAX];        /* the last one */
    int language_depth;       /* at which the members of the language part stand, or NOWHERE */
    int quantization_depth;   /* at which those of quantization_config do */
    bool in_list_of_settings; /* directly below a key that is wanted as a list */
};

static bool is_language_part(const char *key)
{
    for (size_t i = 0; i < sizeof language_parts / sizeof language_parts[0]; i++)
        if (strcmp(key, language_parts[i]) == 0)
            return true;
    return false;
}

/* The facts that members at this depth belong to, or NULL. */
static struct model_facts *facts_at(struct scan *scan, int depth)
{
    if (scan->language_depth != NOWHERE)
        return depth == scan->language_depth ? &scan->language : NULL;
    return depth == 1 ? &scan->whole : NULL;
}

static void take_number(struct scan *scan, struct model_facts *facts, uint64_t number)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint64_t *to = (uint64_t *)((char *)facts + numbers[i].at);
        if (*to == 0 && strcmp(scan->key, numbers[i].key) == 0)
            *to = number;
    }
}

static void take_text(struct scan *scan, struct model_facts *facts, const struct json_token *token)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *to = (char *)facts + texts[i].at;
        if (!*to && strcmp(scan->key, texts[i].key) == 0)
            json_token_copy(token, to, MODEL_FACT_MAX);
    }
}

/* quant_method and bits; compressed-tensors has num_bits further down. */
static void take_quantization(struct scan *scan, const struct json_token *token)
{
    struct model_facts *whole = &scan->whole;
    uint64_t number;
    if (token->event == JSON_STRING && token->depth == scan->quantization_depth &&
        strcmp(scan->key, "quant_method") == 0)
        json_token_copy(token, whole->quantization, MODEL_FACT_MAX);
    if (json_token_whole(token, &number) && whole->quantization_bits == 0 &&
        (strcmp(scan->key, "bits") == 0 || strcmp(scan->key, "num_bits") == 0))
        whole->quantization_bits = number;
}

/* Entries of `architectures`, and of the list of layers: those with "linear_attention", "mamba" or "conv"
 * keep no keys and values. */
static void take_entry(struct scan *scan, struct model_facts *facts, const struct json_token *token)
{
    char text[MODEL_FACT_MAX];
    json_token_copy(token, text, sizeof text);
    if (strcmp(scan->key, "architectures") == 0 && !*facts->architecture)
        memcpy(facts->architecture, text, sizeof text);
    bool is_layer = strcmp(scan->key, "layer_types") == 0 || strcmp(scan->key, "layers_block_type") == 0;
    if (is_layer && strstr(text, "attention") && !strstr(text, "linear"))
        facts->cache_layers++;
}

static void take_value(struct scan *scan, const struct json_token *token)
{
    uint64_t number;
    struct model_facts *facts = facts_at(scan, token->depth);
    if (scan->quantization_depth != NOWHERE) {
        take_quantization(scan, token);
    } else if (facts && token->event == JSON_STRING) {
        take_text(scan, facts, token);
    } else if (facts && json_token_whole(token, &number)) {
        take_number(scan, facts, number);
    } else if (scan->in_list_of_settings && token->event == JSON_STRING) {
        facts = facts_at(scan, token->depth - 1);
        if (facts)
            take_entry(scan, facts, token);
    }
}

static void begin_container(struct scan *scan, const struct json_token *token)
{
    bool is_object = token->event == JSON_BEGIN_OBJECT && token->depth > 0;
    scan->in_list_of_settings = token->event == JSON_BEGIN_ARRAY;
    if (is_object && scan->language_depth == NOWHERE && is_language_part(scan->key))
        scan->language_depth = token->depth + 1;
    /* MLX calls it "quantization". */
    if (is_object && scan->quantization_depth == NOWHERE &&
        (strcmp(scan->key, "quantization_config") == 0 || strcmp(scan->key, "quantization") == 0))
        scan->quantization_depth = token->depth + 1;
}

static void end_container(struct scan *scan, const struct json_token *token)
{
    scan->in_list_of_settings = false;
    if (token->depth < scan->language_depth)
        scan->language_depth = NOWHERE;
    if (token->depth < scan->quantization_depth)
        scan->quantization_depth = NOWHERE;
}

static int take_token(void *context, const struct json_token *token)
{
    struct scan *scan = context;
    switch (token->event) {
    case JSON_KEY:
        json_token_copy(token, scan->key, sizeof scan->key);
        break;
    case JSON_BEGIN_OBJECT:
    case JSON_BEGIN_ARRAY:
        begin_container(scan, token);
        break;
    case JSON_END_OBJECT:
    case JSON_END_ARRAY:
        end_container(scan, token);
        break;
    default:
        take_value(scan, token);
        break;
    }
    return 0;
}

/* -- what Python writes and JSON does not have -- */

static void replace_word(char *text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(text, word, length) == 0) {
        memset(text, ' ', length);
        *text = '0';
    }
}

/* Outside of strings, NaN and Infinity become 0. `text` ends with NUL. */
static void replace_words(char *text)
{
    bool in_string = false;
    for (; *text; text++) {
        if (in_string && *text == '\\' && text[1]) {
            text++;
        } else if (*text == '"') {
            in_string = !in_string;
        } else if (!in_string) {
            replace_word(text, "NaN");
            replace_word(text, "Infinity");
        }
    }
}

/* -- the whole -- */

int model_config_read(struct model_facts *facts, const struct model_reader *in, struct finding *why)
{
    struct scan scan = {.language_depth = NOWHERE, .quantization_depth = NOWHERE};
    *facts = (struct model_facts){0};
    if (in->size > MODEL_CONFIG_MAX)
        return finding_set(why, FINDING_NOT_CHECKED, "is not read: %" PRIu64 " bytes are no configuration",
                           in->size);
    if (model_json_begins(in, why) < 0)
        return -1;
    size_t length = (size_t)in->size;
    char *text = malloc(length + 1);
    if (!text)
        abort();
    int result = model_reader_get(in, text, length, 0, why);
    if (result == 0) {
        text[length] = '\0';
        replace_words(text);
        result = model_json_parse(text, length, "it", take_token, &scan, why);
    }
    free(text);
    *facts = scan.language;
    model_facts_complete(facts, &scan.whole);
    return result;
}
