/* Kinds of files by their names, and parts of a series. */
#include "support.h"

#include "common/model_names.h"

static void kinds(void **state)
{
    (void)state;
    static const struct {
        const char *path, *kind, *format;
    } rows[] = {
        {"model.safetensors", "weights", "safetensors"},
        {"sub/model-00001-of-00002.safetensors", "weights", "safetensors"},
        {"MODEL.GGUF", "weights", "gguf"},
        {"pytorch_model.bin", "weights", "pytorch"},
        {"pytorch_model-00001-of-00002.bin", "weights", "pytorch"},
        {"unet/diffusion_pytorch_model.fp16.bin", "weights", "pytorch"},
        {"consolidated.00.pth", "weights", "pytorch"},
        {"weights.bin", "weights", "other"},
        {"onnx/model.onnx_data", "weights", "other"},
        {"config.json", "config", "none"},
        {"model.safetensors.index.json", "config", "none"},
        {"generation_config.json", "config", "none"},
        {"params.yaml", "config", "none"},
        {"tokenizer.json", "tokenizer", "none"},
        {"tokenizer.model", "tokenizer", "none"},
        {"sub/tokenizer_config.json", "tokenizer", "none"},
        {"vocab.txt", "tokenizer", "none"},
        {"merges.txt", "tokenizer", "none"},
        {"chat_template.jinja", "tokenizer", "none"},
        {"qwen.tiktoken", "tokenizer", "none"},
        {"README.md", "other", "none"},
        {"safetensors", "other", "none"},
        {"tokenizer/readme", "other", "none"},
        {"a.safetensors.incomplete", "other", "none"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(file_kind_name(file_kind_of(rows[i].path)), rows[i].kind);
        assert_string_equal(weights_format_name(weights_format_of(rows[i].path)), rows[i].format);
    }
}

static void parts_of_a_series(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t stem, digits;
        uint64_t number, total;
        const char *rest;
    } rows[] = {
        {"model-00002-of-00005.safetensors", 5, 5, 2, 5, "00005.safetensors"},
        {"model-00001-of-000163.safetensors", 5, 5, 1, 163, "000163.safetensors"},
        {"model-1-of-61.safetensors", 5, 1, 1, 61, "61.safetensors"},
        {"a/b.c/Qwen2.5-7B-00001-of-00002.gguf", 16, 5, 1, 2, "00002.gguf"},
        {"m-00000-of-00003.bin", 1, 5, 0, 3, "00003.bin"},
        {"m-1-of-2.fp16.safetensors", 1, 1, 1, 2, "2.fp16.safetensors"},
        {"-1-of-2.x", 0, 1, 1, 2, "2.x"},
        {"a-1-of-2-3-of-4.x", 8, 1, 3, 4, "4.x"},
        {"m-999999999-of-999999999.x", 1, 9, 999999999, 999999999, "999999999.x"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct part_name part;
        if (!part_name_parse(rows[i].path, &part))
            fail_msg("not taken: %s", rows[i].path);
        assert_int_equal(part.stem, rows[i].stem);
        assert_int_equal(part.digits, rows[i].digits);
        assert_int_equal(part.number, rows[i].number);
        assert_int_equal(part.total, rows[i].total);
        assert_string_equal(rows[i].path + part.total_at, rows[i].rest);
    }
}

static void other_names_are_no_parts(void **state)
{
    (void)state;
    static const char *const names[] = {
        "model.safetensors",
        "model-00003-of-00002.gguf",
        "model-1-of-.gguf",
        "model--of-2.gguf",
        "-of-2.gguf",
        "1-of-2.gguf",
        "model-1-of-2",
        "model-1_of_2.gguf",
        "model-1-OF-2.x",
        "a-1-of-2/x.gguf",
        "a-1/-of-2.x",
        "m-1-of-1000000000.x",
        "m-0000000001-of-2.x",
        "",
        ".",
        ".gguf",
        "a/.x",
        "m-1-of-x.gguf",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct part_name part;
        if (part_name_parse(names[i], &part))
            fail_msg("taken: %s", names[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(parts_of_a_series),
        cmocka_unit_test(other_names_are_no_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
