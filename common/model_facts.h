/* What a model says about itself, in config.json or in the metadata of a GGUF file. A number that is 0 and a
 * text that is empty were not told. Texts are as the file has them: escape them before they are shown. Plain
 * values; any thread. */
#ifndef COMMON_MODEL_FACTS_H
#define COMMON_MODEL_FACTS_H

#include <stdint.h>

#define MODEL_FACT_MAX 96

/* Bytes of one number in a KV cache: 16 bits are what llama.cpp, vLLM and transformers take unless told
 * otherwise. */
#define MODEL_KV_BYTES 2

struct model_facts {
    char architecture[MODEL_FACT_MAX]; /* "LlamaForCausalLM" (config.json), "llama" (GGUF) */
    char model_type[MODEL_FACT_MAX];
    char name[MODEL_FACT_MAX];
    char licence[MODEL_FACT_MAX];
    char dtype[MODEL_FACT_MAX];        /* that the model was saved for: "bfloat16" */
    char quantization[MODEL_FACT_MAX]; /* method or type: "gptq", "Q4_K_M" */
    uint64_t quantization_bits;
    uint64_t context_length; /* tokens */
    uint64_t layers;
    uint64_t cache_layers; /* those of them that keep keys and values, where they are not all */
    uint64_t embedding_length;
    uint64_t heads, kv_heads;
    uint64_t kv_heads_of_layers;            /* the sum over all layers, where they differ */
    uint64_t key_length, value_length;      /* of one head */
    uint64_t kv_lora_rank, rope_dimensions; /* latent attention keeps these two for all heads together */
    uint64_t experts, experts_used;
};

/* Takes what `from` tells and `facts` do not. */
void model_facts_complete(struct model_facts *facts, const struct model_facts *from);

/* Bytes that one token takes in the KV cache, as if every layer that keeps keys and values kept those of all
 * tokens; layers with a sliding window keep fewer. 0 if the facts do not suffice. */
uint64_t model_facts_kv_bytes(const struct model_facts *facts);

#endif
