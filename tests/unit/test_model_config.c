/* config.json: the names that models use, the language part of multimodal ones, and what Python writes. */
#include "model_fixture.h"

#include "common/model_config.h"

static int read_text(const char *text, struct model_facts *facts, struct finding *why)
{
    struct memory memory = {(const uint8_t *)text, strlen(text), 0, 0};
    struct model_reader in = memory_reader(&memory, memory.length);
    return model_config_read(facts, &in, why);
}

static struct model_facts facts_of(const char *text)
{
    struct model_facts facts;
    struct finding why;
    int result = read_text(text, &facts, &why);
    assert_finding(result, why, "none", "");
    return facts;
}

static void a_dense_model(void **state)
{
    (void)state;
    struct model_facts f = facts_of(
        "{\"architectures\":[\"LlamaForCausalLM\",\"Other\"],\"model_type\":\"llama\",\"torch_dtype\":"
        "\"bfloat16\","
        "\"max_position_embeddings\":131072,\"num_hidden_layers\":32,\"hidden_size\":4096,"
        "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"rope_scaling\":{\"num_hidden_layers\":7},"
        "\"eos_token_id\":[1,2,3],\"x\":null,\"tie_word_embeddings\":false}");
    assert_string_equal(f.architecture, "LlamaForCausalLM");
    assert_string_equal(f.model_type, "llama");
    assert_string_equal(f.dtype, "bfloat16");
    assert_int_equal(f.context_length, 131072);
    assert_int_equal(f.layers, 32);
    assert_int_equal(f.heads, 32);
    assert_int_equal(f.kv_heads, 8);
    assert_int_equal(f.experts, 0);
    assert_int_equal(model_facts_kv_bytes(&f), 32 * 8 * 128 * 2 * 2);
}

static void an_old_model_by_its_old_names(void **state)
{
    (void)state;
    struct model_facts f =
        facts_of("{\"architectures\":[\"GPT2LMHeadModel\"],\"n_layer\":12,\"n_head\":12,\"n_embd\":768,"
                 "\"n_positions\":1024,\"n_ctx\":1024}");
    assert_int_equal(f.context_length, 1024);
    assert_int_equal(model_facts_kv_bytes(&f), 12 * 12 * 64 * 2 * 2);
}

static void a_model_of_experts_with_a_head_size(void **state)
{
    (void)state;
    struct model_facts f = facts_of(
        "{\"num_hidden_layers\":48,\"num_attention_heads\":32,\"num_key_value_heads\":4,\"head_dim\":128,"
        "\"hidden_size\":2048,\"num_experts\":128,\"num_experts_per_tok\":8,\"dtype\":\"float16\"}");
    assert_int_equal(f.experts, 128);
    assert_int_equal(f.experts_used, 8);
    assert_string_equal(f.dtype, "float16");
    assert_int_equal(model_facts_kv_bytes(&f), 48 * 4 * 128 * 2 * 2);
}

static void latent_attention_keeps_one_vector_a_layer(void **state)
{
    (void)state;
    struct model_facts f =
        facts_of("{\"num_hidden_layers\":61,\"num_attention_heads\":128,\"hidden_size\":7168,"
                 "\"num_key_value_heads\":128,\"kv_lora_rank\":512,\"qk_rope_head_dim\":64}");
    assert_int_equal(model_facts_kv_bytes(&f), 61 * (512 + 64) * 2);
}

static void layers_without_a_cache_do_not_count(void **state)
{
    (void)state;
    struct model_facts f =
        facts_of("{\"num_hidden_layers\":6,\"num_attention_heads\":2,\"head_dim\":8,\"layer_types\":["
                 "\"linear_attention\",\"full_attention\",\"mamba\",\"sliding_attention\",\"conv\",\"linear_"
                 "attention\"]}");
    assert_int_equal(f.cache_layers, 2);
    assert_int_equal(model_facts_kv_bytes(&f), 2 * 2 * 8 * 2 * 2);
}

static void the_language_part_goes_first(void **state)
{
    (void)state;
    struct model_facts f = facts_of(
        "{\"architectures\":[\"Gemma3ForConditionalGeneration\"],\"model_type\":\"gemma3\",\"hidden_size\":1,"
        "\"text_config\":{\"hidden_size\":2560,\"num_hidden_layers\":34,\"num_attention_heads\":8,"
        "\"rope\":{\"num_hidden_layers\":9},\"num_key_value_heads\":4,\"head_dim\":256,"
        "\"layer_types\":[\"full_attention\"],\"max_position_embeddings\":32768},"
        "\"vision_config\":{\"hidden_size\":1152,\"num_hidden_layers\":27},\"torch_dtype\":\"bfloat16\"}");
    assert_string_equal(f.architecture, "Gemma3ForConditionalGeneration");
    assert_int_equal(f.embedding_length, 2560);
    assert_int_equal(f.layers, 34);
    assert_int_equal(f.context_length, 32768);
    assert_int_equal(f.cache_layers, 1);
    assert_string_equal(f.dtype, "bfloat16");
    /* In a part of a part. */
    f = facts_of("{\"thinker_config\":{\"num_hidden_layers\":3,\"text_config\":{\"num_hidden_layers\":28}},"
                 "\"talker_config\":{\"num_hidden_layers\":4}}");
    assert_int_equal(f.layers, 28);
}

static void quantisations_are_named(void **state)
{
    (void)state;
    struct model_facts f =
        facts_of("{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,"
                 "\"num_hidden_layers\":5,\"x\":{\"quant_method\":\"y\"}},\"num_hidden_layers\":2}");
    assert_string_equal(f.quantization, "gptq");
    assert_int_equal(f.quantization_bits, 4);
    assert_int_equal(f.layers, 2);
    f = facts_of("{\"quantization_config\":{\"config_groups\":{\"group_0\":{\"weights\":{\"num_bits\":8}}},"
                 "\"quant_method\":\"compressed-tensors\"}}");
    assert_string_equal(f.quantization, "compressed-tensors");
    assert_int_equal(f.quantization_bits, 8);
}

static void numbers_that_only_python_has_do_no_harm(void **state)
{
    (void)state;
    struct model_facts f = facts_of("{\"time_step_limit\": [0.0, Infinity], \"a\": -Infinity, \"b\": NaN,"
                                    "\"c\": \"NaN \\\" Infinity \\\\\", \"num_hidden_layers\": 3}");
    assert_int_equal(f.layers, 3);
}

static void numbers_that_are_none_are_not_taken(void **state)
{
    (void)state;
    struct model_facts f =
        facts_of("{\"num_hidden_layers\":-1,\"hidden_size\":\"12\",\"num_attention_heads\":1.5,"
                 "\"max_position_embeddings\":99999999999999999999,\"n_head\":[4]}");
    assert_int_equal(f.layers, 0);
    assert_int_equal(f.embedding_length, 0);
    assert_int_equal(f.heads, 0);
    assert_int_equal(f.context_length, 0);
    assert_int_equal(model_facts_kv_bytes(&f), 0);
    /* A product that would not fit. */
    f = facts_of("{\"num_hidden_layers\":4294967296,\"num_attention_heads\":4294967296,\"head_dim\":2}");
    assert_int_equal(model_facts_kv_bytes(&f), 0);
}

static void check(const char *text, const char *kind, const char *word)
{
    struct model_facts facts;
    struct finding why;
    int result = read_text(text, &facts, &why);
    assert_finding(result, why, kind, word);
}

static void damage_is_found_and_other_files_are_not_judged(void **state)
{
    (void)state;
    char deep[2000];
    check("", "not-checked", "does not begin");
    check("[]", "not-checked", "does not begin");
    check("{\"num_hidden_layers\":", "bad-header", "not JSON");
    check("{\"a\":Infinit}", "bad-header", "not JSON");
    check("{\"a\":\"\\", "bad-header", "not JSON");
    (void)snprintf(deep, sizeof deep, "{\"a\":");
    memset(deep + 5, '[', sizeof deep - 6);
    deep[sizeof deep - 1] = '\0';
    check(deep, "bad-header", "nested too deeply");
    char *large = malloc(MODEL_CONFIG_MAX + 2);
    assert_non_null(large);
    memset(large, ' ', MODEL_CONFIG_MAX + 1);
    large[MODEL_CONFIG_MAX + 1] = '\0';
    check(large, "not-checked", "1048577 bytes");
    memcpy(large, "{}", 2);
    large[MODEL_CONFIG_MAX] = '\0';
    check(large, "none", "");
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_model),
        cmocka_unit_test(an_old_model_by_its_old_names),
        cmocka_unit_test(a_model_of_experts_with_a_head_size),
        cmocka_unit_test(latent_attention_keeps_one_vector_a_layer),
        cmocka_unit_test(layers_without_a_cache_do_not_count),
        cmocka_unit_test(the_language_part_goes_first),
        cmocka_unit_test(quantisations_are_named),
        cmocka_unit_test(numbers_that_only_python_has_do_no_harm),
        cmocka_unit_test(numbers_that_are_none_are_not_taken),
        cmocka_unit_test(damage_is_found_and_other_files_are_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
