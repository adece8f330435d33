/* Tables of endings and names, and one pattern. */
#include "common/model_names.h"

#include "common/path.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *ending;
    enum weights_format format;
} endings[] = {
    {".safetensors", WEIGHTS_SAFETENSORS},
    {".gguf", WEIGHTS_GGUF},
    {".pt", WEIGHTS_PICKLE},
    {".pth", WEIGHTS_PICKLE},
    {".ckpt", WEIGHTS_PICKLE},
    {".bin", WEIGHTS_RAW},
    {".onnx", WEIGHTS_RAW},
    {".onnx_data", WEIGHTS_RAW},
    {".onnx.data", WEIGHTS_RAW},
    {".h5", WEIGHTS_RAW},
    {".msgpack", WEIGHTS_RAW},
    {".npz", WEIGHTS_RAW},
    {".ggml", WEIGHTS_RAW},
    {".tflite", WEIGHTS_RAW},
    {".ot", WEIGHTS_RAW},
};

/* Files of this ending are PyTorch's under these names; others hold anything. */
static const char *const pickle_bins[] = {"pytorch_model*.bin", "diffusion_pytorch_model*.bin",
                                          "adapter_model*.bin"};

static const char *const tokenizer_names[] = {
    "tokenizer*",        "vocab.*",         "merges.txt",           "special_tokens_map.json",
    "added_tokens.json", "spiece.model",    "sentencepiece*.model", "*.tiktoken",
    "tekken.json",       "chat_template.*", "source.spm",           "target.spm",
};

static const char *const config_endings[] = {".json", ".yaml", ".yml", ".toml"};

bool has_ending(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcasecmp(text + length - wanted, end) == 0;
}

static bool matches(const char *const *patterns, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

#define MATCHES(patterns, name) matches(patterns, sizeof(patterns) / sizeof *(patterns), name)

enum weights_format weights_format_of(const char *path)
{
    const char *name = path_name(path);
    if (MATCHES(tokenizer_names, name))
        return WEIGHTS_NONE;
    if (MATCHES(pickle_bins, name))
        return WEIGHTS_PICKLE;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (has_ending(name, endings[i].ending))
            return endings[i].format;
    return WEIGHTS_NONE;
}

const char *weights_format_name(enum weights_format format)
{
    static const char *const names[] = {"none", "safetensors", "gguf", "pytorch", "other"};
    return names[format];
}

enum file_kind file_kind_of(const char *path)
{
    const char *name = path_name(path);
    if (MATCHES(tokenizer_names, name))
        return FILE_TOKENIZER;
    if (weights_format_of(path) != WEIGHTS_NONE)
        return FILE_WEIGHTS;
    for (size_t i = 0; i < sizeof config_endings / sizeof config_endings[0]; i++)
        if (has_ending(name, config_endings[i]))
            return FILE_CONFIG;
    return FILE_OTHER;
}

const char *file_kind_name(enum file_kind kind)
{
    static const char *const names[FILE_KIND_COUNT] = {"weights", "config", "tokenizer", "other"};
    return names[kind];
}

/* -- parts -- */

/* Reads the digits that end before `end`; returns where they begin. 0 digits, or more than 9, give `end`
 * itself. */
static size_t digits_before(const char *text, size_t end, uint64_t *number)
{
    size_t begin = end;
    uint64_t unit = 1;
    *number = 0;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9' && end - begin < 10) {
        begin--;
        *number += unit * (uint64_t)(text[begin] - '0');
        unit *= 10;
    }
    return end - begin == 10 ? end : begin;
}

bool part_name_parse(const char *path, struct part_name *part)
{
    static const char of[] = "-of-";
    const char *name = path_name(path);
    const char *dot = strchr(name, '.');
    for (; dot; dot = strchr(dot + 1, '.')) { /* stems have dots: Qwen2.5-7B-00001-of-00002.gguf */
        part->ending_at = (size_t)(dot - path);
        part->total_at = digits_before(path, part->ending_at, &part->total);
        size_t of_at = part->total_at - strlen(of);
        if (part->total_at == part->ending_at || part->total_at < path_folder_length(path) + strlen(of) + 2 ||
            strncmp(path + of_at, of, strlen(of)) != 0)
            continue;
        size_t number_at = digits_before(path, of_at, &part->number);
        part->digits = of_at - number_at;
        part->stem = number_at - 1;
        return part->digits > 0 && number_at > path_folder_length(path) && path[number_at - 1] == '-' &&
               part->number <= part->total;
    }
    return false;
}
