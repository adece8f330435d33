/* Whole models: what is missing or broken in them is found by name, and what they are is told, in the summary
 * and in its JSON. */
#include "model_fixture.h"

#include "common/model_summary.h"
#include "common/walk.h"

struct model {
    struct scratch *scratch;
    struct listing listing;
    int opened;
};

static enum walk_step add_entry(void *context, const struct walk_entry *entry, struct error *err)
{
    (void)err;
    if (entry->kind == WALK_FILE)
        plan_add(context, entry->path, (uint64_t)entry->st.st_size, FROM_NONE);
    return WALK_ON;
}

static int open_file(void *context, const struct file_entry *file)
{
    struct model *model = context;
    model->opened++;
    return path_open(model->scratch->fd, file->path, O_RDONLY, 0);
}

/* Of all that lies in the scratch folder. */
static struct model_summary summarise(struct scratch *scratch)
{
    struct model model = {.scratch = scratch};
    struct model_summary summary;
    struct error err;
    assert_int_equal(walk_tree(scratch->fd, false, add_entry, &model.listing, &err), 0);
    struct model_source source = {&model.listing, open_file, &model, NULL};
    model_summary_read(&summary, &source);
    listing_release(&model.listing);
    return summary;
}

static void put_text(struct scratch *scratch, const char *path, const char *text)
{
    assert_int_equal(path_make_parents(scratch->fd, path), 0);
    write_file(scratch->fd, path, text, strlen(text));
}

/* A file of the fixture's full size, zeros behind its header. */
static void put_fixture(struct scratch *scratch, const char *path, struct fixture f, int64_t more)
{
    assert_int_equal(path_make_parents(scratch->fd, path), 0);
    write_file(scratch->fd, path, f.bytes, f.length);
    int fd = openat(scratch->fd, path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)((int64_t)f.size + more)), 0);
    (void)close(fd);
    fixture_release(&f);
}

/* `elements` of BF16 in one tensor. */
static struct fixture shard(uint64_t elements)
{
    char json[256];
    (void)snprintf(json, sizeof json,
                   "{\"w\":{\"dtype\":\"BF16\",\"shape\":[%llu],\"data_offsets\":[0,%llu]}}",
                   (unsigned long long)elements, (unsigned long long)(2 * elements));
    return safetensors_fixture(json, 2 * elements);
}

/* One tensor of 256 x rows of Q4_K (type 12) or Q8_0 (8), and where it says that it stands. */
static struct fixture quantised(uint64_t rows, uint32_t type, uint64_t number, uint64_t count,
                                uint64_t tensors)
{
    struct fixture f = gguf_begin(3, 1, count ? 8 : 5);
    gguf_text(&f, "general.architecture", "qwen2");
    gguf_whole(&f, "general.file_type", 4, type == 12 ? 15 : 7);
    gguf_whole(&f, "qwen2.context_length", 4, 32768);
    gguf_whole(&f, "qwen2.block_count", 4, 28);
    gguf_text(&f, "general.license", "apache-2.0");
    if (count) {
        gguf_whole(&f, "split.no", 2, number);
        gguf_whole(&f, "split.count", 2, count);
        gguf_whole(&f, "split.tensors.count", 5, tensors);
    }
    gguf_tensor(&f, "w", rows, 256, type, 0);
    gguf_end(&f, rows * (type == 12 ? 144 : 272));
    return f;
}

static const struct model_finding *find(const struct model_summary *summary, const char *kind,
                                        const char *path)
{
    for (size_t i = 0; i < summary->findings.count; i++) {
        const struct model_finding *item = &summary->findings.items[i];
        if (strcmp(finding_name(item->finding.kind), kind) == 0 && strcmp(item->path, path) == 0)
            return item;
    }
    for (size_t i = 0; i < summary->findings.count; i++)
        print_message("%s: %s: %s\n", finding_name(summary->findings.items[i].finding.kind),
                      summary->findings.items[i].path, summary->findings.items[i].finding.text);
    fail_msg("no finding %s for %s", kind, path);
    return NULL;
}

/* Exactly one finding, of that kind, for that file, with that word in its text. */
static void expect_one(struct scratch *scratch, const char *kind, const char *path, const char *word)
{
    struct model_summary summary = summarise(scratch);
    const struct model_finding *item = find(&summary, kind, path);
    if (!strstr(item->finding.text, word))
        fail_msg("not in the text: %s: %s", word, item->finding.text);
    assert_int_equal(summary.findings.count, 1);
    assert_int_equal(summary.findings.stops, finding_stops(item->finding.kind));
    model_summary_release(&summary);
}

static void expect_none(struct scratch *scratch)
{
    struct model_summary summary = summarise(scratch);
    for (size_t i = 0; i < summary.findings.count; i++)
        fail_msg("%s: %s", summary.findings.items[i].path, summary.findings.items[i].finding.text);
    assert_false(summary.findings.stops);
    model_summary_release(&summary);
}

#define INDEX                                                                                                \
    "{\"weight_map\":{\"a\":\"model-00001-of-00003.safetensors\",\"b\":\"model-00002-of-00003."              \
    "safetensors\","                                                                                         \
    "\"c\":\"model-00003-of-00003.safetensors\"}}"

static void put_sharded(struct scratch *scratch)
{
    put_text(scratch, "config.json",
             "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\",\"num_hidden_layers\":2,"
             "\"hidden_size\":64,\"num_attention_heads\":8,\"num_key_value_heads\":2,"
             "\"max_position_embeddings\":2048,\"torch_dtype\":\"bfloat16\"}");
    put_text(scratch, "README.md", "---\nlicense: mit\n---\n");
    put_text(scratch, "tokenizer.json", "{}");
    put_text(scratch, "model.safetensors.index.json", INDEX);
    put_fixture(scratch, "model-00001-of-00003.safetensors", shard(1000), 0);
    put_fixture(scratch, "model-00002-of-00003.safetensors", shard(2000), 0);
    put_fixture(scratch, "model-00003-of-00003.safetensors", shard(300), 0);
}

static void a_whole_sharded_model_is_described(void **state)
{
    struct scratch *scratch = *state;
    put_sharded(scratch);
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.findings.count, 0);
    assert_int_equal(s.set_count, 1);
    assert_string_equal(s.sets[0].name, "model.safetensors.index.json");
    assert_int_equal(s.sets[0].files, 3);
    assert_int_equal(s.parameters, 3300);
    assert_int_equal(s.load_bytes, 6600);
    assert_int_equal(dtype_mix_total(&s.mix).tensors, 3);
    assert_string_equal(s.facts.architecture, "LlamaForCausalLM");
    assert_string_equal(s.facts.licence, "mit");
    assert_int_equal(s.facts.context_length, 2048);
    assert_int_equal(s.kv_bytes_of_token, 2 * 2 * 8 * 2 * 2);
    assert_int_equal(s.kinds[FILE_WEIGHTS].files, 3);
    assert_int_equal(s.kinds[FILE_CONFIG].files, 2);
    assert_int_equal(s.kinds[FILE_TOKENIZER].files, 1);
    assert_int_equal(s.kinds[FILE_OTHER].files, 1);
    model_summary_release(&s);
}

static void a_shard_that_the_index_names_is_missed(void **state)
{
    struct scratch *scratch = *state;
    put_sharded(scratch);
    assert_int_equal(unlinkat(scratch->fd, "model-00002-of-00003.safetensors", 0), 0);
    expect_one(scratch, "missing-shard", "model-00002-of-00003.safetensors",
               "'model.safetensors.index.json'");
    /* The parts of a series are missed without an index, too. */
    assert_int_equal(unlinkat(scratch->fd, "model.safetensors.index.json", 0), 0);
    expect_one(scratch, "missing-shard", "model-00002-of-00003.safetensors", "2 of 3 parts");
}

static void an_index_of_a_format_that_was_left_out_misses_nothing(void **state)
{
    struct scratch *scratch = *state;
    put_sharded(scratch);
    put_text(scratch, "pytorch_model.bin.index.json",
             "{\"weight_map\":{\"a\":\"pytorch_model-00001-of-00002.bin\",\"b\":\"pytorch_model-00002-of-"
             "00002.bin\"}}");
    expect_one(scratch, "not-checked", "pytorch_model.bin.index.json", "none is here");
}

static void an_index_without_any_weights_misses_all(void **state)
{
    struct scratch *scratch = *state;
    put_text(scratch, "sub/model.safetensors.index.json", INDEX);
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.findings.count, 3);
    (void)find(&s, "missing-shard", "sub/model-00003-of-00003.safetensors");
    model_summary_release(&s);
}

static void parts_are_counted_as_they_are_written(void **state)
{
    struct scratch *scratch = *state;
    put_fixture(scratch, "a/model-1-of-12.safetensors", shard(1), 0);
    put_fixture(scratch, "a/model-12-of-12.safetensors", shard(1), 0);
    put_fixture(scratch, "b/m-00000-of-00002.safetensors", shard(1), 0);
    put_fixture(scratch, "c/model-00001-of-000003.safetensors", shard(1), 0);
    put_fixture(scratch, "c/model-00002-of-000003.safetensors", shard(1), 0);
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.findings.count, 10 + 1 + 1);
    (void)find(&s, "missing-shard", "a/model-2-of-12.safetensors");
    (void)find(&s, "missing-shard", "a/model-11-of-12.safetensors");
    (void)find(&s, "missing-shard", "b/m-00001-of-00002.safetensors");
    (void)find(&s, "missing-shard", "c/model-00003-of-000003.safetensors");
    model_summary_release(&s);
}

static void a_series_that_claims_to_be_endless_is_bounded(void **state)
{
    struct scratch *scratch = *state;
    put_fixture(scratch, "m-1-of-999999999.safetensors", shard(1), 0);
    put_fixture(scratch, "m-500000000-of-999999999.safetensors", shard(1), 0);
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.findings.count, FINDINGS_MAX);
    assert_int_equal(s.findings.omitted, 999999999 - 2 - FINDINGS_MAX);
    assert_true(s.findings.stops);
    model_summary_release(&s);
}

static void what_stands_in_the_place_of_weights_is_found(void **state)
{
    struct scratch *scratch = *state;
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 4976698672\n";
    static const char *const pointers[] = {"a.safetensors", "a.gguf",     "a.bin",
                                           "a.pt",          "sub/a.onnx", "tokenizer.model"};
    for (size_t i = 0; i < COUNT_OF(pointers); i++) {
        put_text(scratch, pointers[i], pointer);
        expect_one(scratch, "lfs-pointer", pointers[i], "4976698672 bytes");
        assert_int_equal(unlinkat(scratch->fd, pointers[i], 0), 0);
    }
    static const char *const reserved[] = {"a.safetensors", "a.gguf", "pytorch_model.bin", "a.pth"};
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        put_fixture(scratch, reserved[i], (struct fixture){.size = 1 << 20}, 0);
        expect_one(scratch, "zero-header", reserved[i], "never written");
        assert_int_equal(unlinkat(scratch->fd, reserved[i], 0), 0);
    }
    /* Raw data may begin with zeros, and other files may be pointers. */
    put_fixture(scratch, "model.onnx_data", (struct fixture){.size = 1 << 20}, 0);
    put_text(scratch, "notes.txt", pointer);
    expect_none(scratch);
}

static void an_unfinished_download_is_named(void **state)
{
    struct scratch *scratch = *state;
    put_sharded(scratch);
    put_text(scratch, "x/model.safetensors.incomplete", "abc");
    expect_one(scratch, "unfinished", "x/model.safetensors.incomplete", "has not ended");
}

static void broken_headers_are_named(void **state)
{
    struct scratch *scratch = *state;
    put_sharded(scratch);
    put_fixture(scratch, "model-00002-of-00003.safetensors", shard(2000), -1);
    expect_one(scratch, "cut-file", "model-00002-of-00003.safetensors", "cut off");
    put_fixture(scratch, "model-00002-of-00003.safetensors", shard(2000), 0);
    put_text(scratch, "config.json", "{\"a\":");
    expect_one(scratch, "bad-header", "config.json", "not JSON");
    put_text(scratch, "config.json", "");
    expect_one(scratch, "not-checked", "config.json", "does not begin");
    put_text(scratch, "config.json", "{}");
    put_text(scratch, "model.safetensors.index.json", "{\"weight_map\":{");
    expect_one(scratch, "bad-header", "model.safetensors.index.json", "not JSON");
}

static void random_bytes_under_a_weights_name_are_a_note(void **state)
{
    struct scratch *scratch = *state;
    uint8_t *noise = filled(100000, 1);
    write_file(scratch->fd, "model.safetensors", noise, 100000);
    expect_one(scratch, "not-checked", "model.safetensors", "does not begin");
    free(noise);
}

static void quantisations_beside_each_other_are_sets(void **state)
{
    struct scratch *scratch = *state;
    put_fixture(scratch, "m-Q4_K_M.gguf", quantised(10, 12, 0, 0, 0), 0);
    put_fixture(scratch, "m-Q8_0-00001-of-00002.gguf", quantised(6, 8, 0, 2, 2), 0);
    put_fixture(scratch, "m-Q8_0-00002-of-00002.gguf", quantised(4, 8, 1, 2, 2), 0);
    struct fixture projector = gguf_begin(3, 1, 1);
    gguf_text(&projector, "general.architecture", "clip");
    gguf_tensor(&projector, "w", 1000, 256, 0, 0);
    gguf_end(&projector, 1024000);
    put_fixture(scratch, "mmproj.gguf", projector, 0);
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.findings.count, 0);
    assert_int_equal(s.set_count, 3);
    assert_string_equal(s.sets[0].facts.quantization, "Q4_K_M");
    assert_int_equal(s.sets[0].load_bytes, 1440);
    assert_string_equal(s.sets[1].name, "m-Q8_0-00001-of-00002.gguf");
    assert_int_equal(s.sets[1].files, 2);
    assert_int_equal(s.sets[1].parameters, 2560);
    assert_true(s.sets[2].is_auxiliary);
    /* One would load one of them: the largest. */
    assert_ptr_equal(s.main_set, &s.sets[1]);
    assert_int_equal(s.parameters, 2560);
    assert_int_equal(s.load_bytes, 2720);
    assert_string_equal(s.facts.architecture, "qwen2");
    assert_string_equal(s.facts.quantization, "Q8_0");
    assert_string_equal(s.facts.licence, "apache-2.0");
    assert_int_equal(s.facts.context_length, 32768);
    assert_int_equal(s.facts.layers, 28);
    model_summary_release(&s);
}

static void parts_of_a_gguf_say_where_they_belong(void **state)
{
    struct scratch *scratch = *state;
    put_fixture(scratch, "m-00001-of-00002.gguf", quantised(6, 8, 0, 2, 2), 0);
    expect_one(scratch, "missing-shard", "m-00002-of-00002.gguf", "1 of 2 parts");
    put_fixture(scratch, "m-00002-of-00002.gguf", quantised(6, 8, 1, 2, 2), 0);
    expect_none(scratch);
    put_fixture(scratch, "m-00002-of-00002.gguf", quantised(6, 8, 0, 2, 2), 0);
    expect_one(scratch, "bad-header", "m-00002-of-00002.gguf", "part 1 of 2");
    put_fixture(scratch, "m-00001-of-00002.gguf", quantised(6, 8, 0, 2, 9), 0);
    put_fixture(scratch, "m-00002-of-00002.gguf", quantised(6, 8, 1, 2, 9), 0);
    expect_one(scratch, "bad-header", "m-00001-of-00002.gguf", "9 should be there");
    assert_int_equal(unlinkat(scratch->fd, "m-00001-of-00002.gguf", 0), 0);
    assert_int_equal(renameat(scratch->fd, "m-00002-of-00002.gguf", scratch->fd, "x.gguf"), 0);
    expect_one(scratch, "missing-shard", "x.gguf", "under this name");
}

static void a_pipeline_is_loaded_with_all_its_parts(void **state)
{
    struct scratch *scratch = *state;
    put_fixture(scratch, "unet/model.safetensors", shard(1000), 0);
    put_fixture(scratch, "unet/model.fp16.safetensors", shard(500), 0);
    put_fixture(scratch, "vae/model.safetensors", shard(100), 0);
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.parameters, 1000);
    model_summary_release(&s);
    put_text(scratch, "model_index.json", "{}");
    s = summarise(scratch);
    assert_int_equal(s.parameters, 1100);
    assert_int_equal(s.load_bytes, 2200);
    assert_int_equal(dtype_mix_total(&s.mix).elements, 1600);
    model_summary_release(&s);
}

static void weights_with_a_header_go_before_others(void **state)
{
    struct scratch *scratch = *state;
    put_fixture(scratch, "model.safetensors", shard(10), 0);
    put_text(scratch, "pytorch_model.bin",
             "PK\003\004 and so on, for more bytes than the other file has tensors");
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.set_count, 2);
    assert_string_equal(s.main_set->name, "model.safetensors");
    assert_int_equal(s.load_bytes, 20);
    model_summary_release(&s);
}

static void indexes_and_sets_are_bounded(void **state)
{
    struct scratch *scratch = *state;
    char path[64];
    for (int i = 0; i < 65; i++) {
        (void)snprintf(path, sizeof path, "%02d/x.index.json", i);
        put_text(scratch, path, "{\"weight_map\":{\"a\":\"a.bin\"}}");
        (void)snprintf(path, sizeof path, "%02d/a.bin", i);
        put_text(scratch, path, "a");
    }
    expect_one(scratch, "not-checked", "64/x.index.json", "too many indexes");
    for (int i = 65; i < MODEL_SETS_MAX + 2; i++) {
        (void)snprintf(path, sizeof path, "%04d.bin", i);
        put_text(scratch, path, "a");
    }
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.set_count, MODEL_SETS_MAX);
    assert_int_equal(s.sets_omitted, 2);
    model_summary_release(&s);
}

static void weights_without_a_header_count_by_their_size(void **state)
{
    struct scratch *scratch = *state;
    put_text(scratch, "pytorch_model.bin", "PK\003\004 and so on");
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.findings.count, 0);
    assert_int_equal(s.parameters, 0);
    assert_int_equal(s.load_bytes, strlen("PK\003\004 and so on"));
    model_summary_release(&s);
}

static void quantised_layers_count_their_parameters(void **state)
{
    struct scratch *scratch = *state;
    put_text(scratch, "config.json", "{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4}}");
    put_fixture(
        scratch, "model.safetensors",
        safetensors_fixture("{\"m.qweight\":{\"dtype\":\"I32\",\"shape\":[100],\"data_offsets\":[0,400]},"
                            "\"m.scales\":{\"dtype\":\"F16\",\"shape\":[7],\"data_offsets\":[400,414]},"
                            "\"n.weight\":{\"dtype\":\"F16\",\"shape\":[5],\"data_offsets\":[414,424]}}",
                            424),
        0);
    struct model_summary s = summarise(scratch);
    assert_int_equal(s.parameters, 100 * 8 + 5);
    assert_string_equal(s.facts.quantization, "gptq");
    model_summary_release(&s);
}

static void files_that_cannot_be_opened_are_notes(void **state)
{
    struct scratch *scratch = *state;
    struct listing listing = {0};
    struct model model = {.scratch = scratch};
    plan_add(&listing, "config.json", 10, FROM_NONE);
    plan_add(&listing, "model.safetensors", 1000, FROM_NONE);
    struct model_source source = {&listing, open_file, &model, NULL};
    struct model_summary s;
    model_summary_read(&s, &source);
    assert_int_equal(s.findings.count, 2);
    (void)find(&s, "unreadable", "model.safetensors");
    assert_false(s.findings.stops);
    model_summary_release(&s);
    /* Nothing more is opened once nobody waits for it. */
    atomic_bool cancelled = true;
    model.opened = 0;
    source.cancelled = &cancelled;
    model_summary_read(&s, &source);
    assert_int_equal(model.opened, 0);
    model_summary_release(&s);
    listing_release(&listing);
}

static int open_elsewhere(void *context, const struct file_entry *file)
{
    return strcmp(file->path, "m-00001-of-00002.gguf") == 0 ? open_file(context, file) : MODEL_FILE_ELSEWHERE;
}

static void files_that_are_elsewhere_are_not_missed(void **state)
{
    struct scratch *scratch = *state;
    struct listing listing = {0};
    struct model model = {.scratch = scratch};
    struct fixture f = quantised(6, 8, 0, 2, 2);
    plan_add(&listing, "config.json", 10, FROM_NONE);
    plan_add(&listing, "m-00001-of-00002.gguf", f.size, FROM_NONE);
    plan_add(&listing, "m-00002-of-00002.gguf", 1000, FROM_NONE);
    put_fixture(scratch, "m-00001-of-00002.gguf", f, 0);
    struct model_source source = {&listing, open_elsewhere, &model, NULL};
    struct model_summary s;
    model_summary_read(&s, &source);
    assert_int_equal(s.findings.count, 0);
    assert_int_equal(s.sets[0].files, 2);
    assert_int_equal(s.parameters, 6 * 256);
    model_summary_release(&s);
    listing_release(&listing);
}

static void an_empty_model_is_described(void **state)
{
    struct scratch *scratch = *state;
    struct model_summary s = summarise(scratch);
    assert_null(s.main_set);
    assert_int_equal(s.findings.count, 0);
    model_summary_release(&s);
}

/* -- JSON -- */

static int64_t whole(const struct json *object, const char *key)
{
    int64_t number = -1;
    assert_true(json_as_whole(json_get(object, key), &number));
    return number;
}

static void the_json_has_all_of_it(void **state)
{
    struct scratch *scratch = *state;
    put_sharded(scratch);
    assert_int_equal(unlinkat(scratch->fd, "model-00002-of-00003.safetensors", 0), 0);
    struct model_summary s = summarise(scratch);
    struct json *made = json_object();
    bool complete = true;
    model_summary_json(&s, made);
    char *text = json_print(made);
    struct json *json = json_parse(text, strlen(text), 8);
    assert_non_null(json);
    free(text);
    json_free(made);
    assert_true(json_as_bool(json_get(json, "complete"), &complete) && !complete);
    assert_string_equal(json_as_text(json_get(json, "architecture")), "LlamaForCausalLM");
    assert_string_equal(json_as_text(json_get(json, "license")), "mit");
    assert_int_equal(whole(json, "parameters"), 1300);
    assert_int_equal(whole(json, "tensors"), 2);
    assert_int_equal(whole(json, "context_length"), 2048);
    assert_non_null(json_get(json, "quantization"));
    assert_null(json_as_text(json_get(json, "quantization")));
    const struct json *memory = json_get(json, "memory");
    assert_int_equal(whole(memory, "weights"), 2600);
    assert_int_equal(whole(memory, "kv_cache_per_token"), 128);
    assert_int_equal(whole(memory, "kv_cache_per_1k_tokens"), 128000);
    const struct json *dtype = json_first(json_get(json, "dtypes"));
    assert_string_equal(json_as_text(json_get(dtype, "dtype")), "BF16");
    assert_int_equal(whole(dtype, "bytes"), 2600);
    assert_int_equal(whole(json_get(json_get(json, "files"), "weights"), "files"), 2);
    const struct json *finding = json_first(json_get(json, "findings"));
    assert_string_equal(json_as_text(json_get(finding, "kind")), "missing-shard");
    assert_string_equal(json_as_text(json_get(finding, "path")), "model-00002-of-00003.safetensors");
    assert_int_equal(json_length(json_get(json, "sets")), 1);
    json_free(json);
    model_summary_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(a_whole_sharded_model_is_described),
        scratch_test(a_shard_that_the_index_names_is_missed),
        scratch_test(an_index_of_a_format_that_was_left_out_misses_nothing),
        scratch_test(an_index_without_any_weights_misses_all),
        scratch_test(parts_are_counted_as_they_are_written),
        scratch_test(a_series_that_claims_to_be_endless_is_bounded),
        scratch_test(what_stands_in_the_place_of_weights_is_found),
        scratch_test(an_unfinished_download_is_named),
        scratch_test(broken_headers_are_named),
        scratch_test(random_bytes_under_a_weights_name_are_a_note),
        scratch_test(quantisations_beside_each_other_are_sets),
        scratch_test(parts_of_a_gguf_say_where_they_belong),
        scratch_test(a_pipeline_is_loaded_with_all_its_parts),
        scratch_test(weights_with_a_header_go_before_others),
        scratch_test(indexes_and_sets_are_bounded),
        scratch_test(weights_without_a_header_count_by_their_size),
        scratch_test(quantised_layers_count_their_parameters),
        scratch_test(files_that_cannot_be_opened_are_notes),
        scratch_test(files_that_are_elsewhere_are_not_missed),
        scratch_test(an_empty_model_is_described),
        scratch_test(the_json_has_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
