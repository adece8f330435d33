/* Numbers from strangers: every product is checked. */
#include "common/model_facts.h"

#include <string.h>

static void take_text(char *to, const char *from)
{
    if (!*to)
        memcpy(to, from, MODEL_FACT_MAX);
}

static void take_number(uint64_t *to, uint64_t from)
{
    if (!*to)
        *to = from;
}

void model_facts_complete(struct model_facts *facts, const struct model_facts *from)
{
    take_text(facts->architecture, from->architecture);
    take_text(facts->model_type, from->model_type);
    take_text(facts->name, from->name);
    take_text(facts->licence, from->licence);
    take_text(facts->dtype, from->dtype);
    take_text(facts->quantization, from->quantization);
    take_number(&facts->quantization_bits, from->quantization_bits);
    take_number(&facts->context_length, from->context_length);
    take_number(&facts->layers, from->layers);
    take_number(&facts->cache_layers, from->cache_layers);
    take_number(&facts->embedding_length, from->embedding_length);
    take_number(&facts->heads, from->heads);
    take_number(&facts->kv_heads, from->kv_heads);
    take_number(&facts->kv_heads_of_layers, from->kv_heads_of_layers);
    take_number(&facts->key_length, from->key_length);
    take_number(&facts->value_length, from->value_length);
    take_number(&facts->kv_lora_rank, from->kv_lora_rank);
    take_number(&facts->rope_dimensions, from->rope_dimensions);
    take_number(&facts->experts, from->experts);
    take_number(&facts->experts_used, from->experts_used);
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t result;
    return __builtin_mul_overflow(a, b, &result) ? 0 : result;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t result;
    return __builtin_add_overflow(a, b, &result) ? 0 : result;
}

uint64_t model_facts_kv_bytes(const struct model_facts *f)
{
    uint64_t layers = f->cache_layers ? f->cache_layers : f->layers;
    if (f->kv_lora_rank)
        return product(product(layers, sum(f->kv_lora_rank, f->rope_dimensions)), MODEL_KV_BYTES);
    uint64_t heads =
        f->kv_heads_of_layers ? f->kv_heads_of_layers : product(layers, f->kv_heads ? f->kv_heads : f->heads);
    uint64_t key = f->key_length ? f->key_length : f->heads ? f->embedding_length / f->heads : 0;
    uint64_t value = f->value_length ? f->value_length : key;
    return product(product(heads, sum(key, value)), MODEL_KV_BYTES);
}
