/* The header of GGUF files of all versions: a valid one tells what is in it, and each way of breaking it is
 * found, without a look at the data. */
#include "model_fixture.h"

#include "common/extents.h"
#include "common/ggml_type.h"
#include "common/gguf.h"

enum { U16 = 2, U32 = 4, I32 = 5, F32 = 6, STRING = 8, ARRAY = 9, U64 = 10 };
enum { T_F32 = 0, T_F16 = 1, T_Q4_K = 12, T_Q6_K = 14 };

/* A small model with everything that is looked for; general.architecture stands behind a key that needs it.
 */
static struct fixture gguf_model(uint32_t version)
{
    struct fixture f = gguf_begin(version, 3, 17);
    gguf_whole(&f, "llama.context_length", U64, 131072);
    gguf_text(&f, "general.architecture", "llama");
    gguf_text(&f, "general.name", "Tiny");
    gguf_text(&f, "general.license", "mit");
    gguf_whole(&f, "general.file_type", U32, 15);
    gguf_whole(&f, "general.alignment", U32, 32);
    gguf_whole(&f, "llama.block_count", U32, 2);
    gguf_whole(&f, "llama.embedding_length", U32, 64);
    gguf_whole(&f, "llama.attention.head_count", U32, 8);
    gguf_whole(&f, "llama.attention.head_count_kv", U32, 2);
    gguf_whole(&f, "llama.expert_count", U32, 4);
    gguf_whole(&f, "other.block_count", U32, 99);
    gguf_whole(&f, "split.no", U16, 1);
    gguf_whole(&f, "split.count", U16, 3);
    gguf_whole(&f, "split.tensors.count", I32, 7);
    gguf_array(&f, "tokenizer.ggml.tokens", STRING, 3);
    gguf_string(&f, "<s>");
    gguf_string(&f, "");
    gguf_string(&f, "general.name");
    gguf_array(&f, "tokenizer.ggml.scores", F32, 3);
    fixture_bytes(&f, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    gguf_tensor(&f, "blk.0.attn_q.weight", 2, 256, T_Q4_K, 0);
    gguf_tensor(&f, "blk.0.attn_norm.weight", 8, 12, T_F16, 288);
    gguf_tensor(&f, "output.weight", 3, 256, T_Q6_K, 480);
    gguf_end(&f, 480 + 630);
    return f;
}

/* A cursor reads ahead: what it finds behind the header must not count. */
static int read_fixture(const struct fixture *f, struct gguf *out, struct finding *why)
{
    size_t behind = f->size - f->length < MODEL_CURSOR_BUFFER ? f->size - f->length : MODEL_CURSOR_BUFFER;
    uint8_t *start = malloc(f->length + behind + 1);
    assert_non_null(start);
    if (f->length > 0)
        memcpy(start, f->bytes, f->length);
    memset(start + f->length, 0xaa, behind);
    struct memory memory = {start, f->length + behind, 0, 0};
    struct model_reader in = memory_reader(&memory, f->size);
    int result = gguf_read(out, &in, why);
    free(start);
    return result;
}

static void check(struct fixture f, const char *kind, const char *word)
{
    struct gguf out;
    struct finding why;
    int result = read_fixture(&f, &out, &why);
    assert_finding(result, why, kind, word);
    fixture_release(&f);
}

static void a_valid_header_of_each_version_tells_what_is_in_it(void **state)
{
    (void)state;
    for (uint32_t version = 1; version <= 3; version++) {
        struct gguf out;
        struct finding why;
        struct fixture f = gguf_model(version);
        int result = read_fixture(&f, &out, &why);
        assert_finding(result, why, "none", "");
        assert_int_equal(out.version, version);
        assert_string_equal(out.facts.architecture, "llama");
        assert_string_equal(out.facts.name, "Tiny");
        assert_string_equal(out.facts.licence, "mit");
        assert_string_equal(out.facts.quantization, "Q4_K_M");
        assert_int_equal(out.facts.context_length, 131072);
        assert_int_equal(out.facts.layers, 2);
        assert_int_equal(out.facts.experts, 4);
        assert_int_equal(out.split_number, 1);
        assert_int_equal(out.split_count, 3);
        assert_int_equal(out.split_tensors, 7);
        struct dtype_use total = dtype_mix_total(&out.mix);
        assert_int_equal(total.tensors, 3);
        assert_int_equal(total.elements, 512 + 96 + 768);
        assert_int_equal(total.bytes, 288 + 192 + 630);
        assert_string_equal(out.mix.uses[2].name, "Q6_K");
        /* 2 layers, 2 heads of 64 / 8 numbers, keys and values, 2 bytes each */
        assert_int_equal(model_facts_kv_bytes(&out.facts), 2 * 2 * 8 * 2 * 2);
        fixture_release(&f);
    }
}

static void a_file_that_lacks_its_last_byte_is_found(void **state)
{
    (void)state;
    struct fixture f = gguf_model(3);
    f.size--;
    check(f, "cut-file", "its header describes");
    f = gguf_model(3);
    f.size++; /* padding behind the last tensor is usual */
    check(f, "none", "");
}

static void a_file_that_ends_anywhere_in_its_header_is_found(void **state)
{
    (void)state;
    for (uint32_t version = 1; version <= 3; version++) {
        struct fixture f = gguf_model(version);
        for (size_t size = 8; size < f.length; size++) {
            struct gguf out;
            struct finding why;
            struct fixture cut = {.bytes = f.bytes, .length = size, .size = size};
            int result = read_fixture(&cut, &out, &why);
            assert_finding(result, why, "cut-file", "cut off");
        }
        fixture_release(&f);
    }
}

static void other_files_of_that_name_are_not_judged(void **state)
{
    (void)state;
    struct gguf out;
    struct finding why;
    uint8_t noise[64];
    fill(noise, sizeof noise, 7);
    for (size_t size = 0; size <= sizeof noise; size++) {
        struct fixture f = {.bytes = noise, .length = size, .size = size};
        int result = read_fixture(&f, &out, &why);
        assert_finding(result, why, size == 0 ? "cut-file" : "not-checked", "");
    }
    check(gguf_begin(4, 0, 0), "not-checked", "version 4");
    check(gguf_begin(0, 0, 0), "bad-header", "version is 0");
    check(gguf_begin(0x03000000, 0, 0), "not-checked", "big-endian");
}

static void counts_that_no_file_can_hold_are_refused_unread(void **state)
{
    (void)state;
    static const uint64_t claims[][2] = {
        {1000000000, 0}, {0, 1000000000}, {UINT64_MAX, UINT64_MAX}, {0, UINT64_MAX}};
    for (size_t i = 0; i < COUNT_OF(claims); i++)
        check(gguf_begin(3, claims[i][0], claims[i][1]), "bad-header", "not believed");
    check(gguf_begin(3, 1000000, 0), "cut-file", "header");
    check(gguf_begin(3, 0, 1000000), "cut-file", "header");
    struct fixture f = gguf_begin(3, 0, 1);
    gguf_array(&f, "a", STRING, 1000000000);
    check(f, "cut-file", "header");
    f = gguf_begin(3, 0, 1);
    gguf_array(&f, "a", U64, UINT64_MAX / 8 + 1);
    check(f, "cut-file", "header");
    f = gguf_begin(3, 0, 1);
    gguf_string(&f, "a");
    fixture_number(&f, STRING, 4);
    fixture_number(&f, UINT64_MAX, 8);
    check(f, "cut-file", "header");
}

/* A file of zeros behind its first bytes, as large as files get. */
static ssize_t sparse_read(void *context, void *buffer, size_t length, uint64_t offset)
{
    memset(buffer, 0, length);
    struct memory *memory = context;
    (void)memory_read(memory, buffer, length, offset);
    memory->read_bytes += length;
    return (ssize_t)length;
}

static void a_header_of_a_huge_file_is_read_to_a_limit(void **state)
{
    (void)state;
    struct gguf out;
    struct finding why;
    struct fixture f = gguf_begin(3, 0, 1);
    gguf_array(&f, "a", STRING, (uint64_t)1 << 24); /* of empty strings */
    struct memory memory = {f.bytes, f.length, 0, 0};
    struct model_reader in = {(uint64_t)1 << 50, sparse_read, &memory};
    int result = gguf_read(&out, &in, &why);
    assert_finding(result, why, "none", "");
    put_le(f.bytes + f.length - 8, (uint64_t)1 << 40, 8);
    memory.read_bytes = 0;
    result = gguf_read(&out, &in, &why);
    assert_finding(result, why, "oversized-header", "268435456");
    assert_true(memory.read_bytes < 100000);
    fixture_release(&f);
}

static void arrays_in_arrays_are_bounded(void **state)
{
    (void)state;
    struct fixture f = gguf_begin(3, 0, 1);
    gguf_array(&f, "a", ARRAY, 1);
    for (int i = 0; i < 2; i++) {
        fixture_number(&f, ARRAY, 4);
        fixture_number(&f, 1, 8);
    }
    fixture_number(&f, U16, 4);
    fixture_number(&f, 2, 8);
    fixture_number(&f, 0, 4);
    check(f, "none", "");
    f = gguf_begin(3, 0, 1);
    gguf_array(&f, "a", ARRAY, 1);
    for (int i = 0; i < 1000; i++) {
        fixture_number(&f, ARRAY, 4);
        fixture_number(&f, 1, 8);
    }
    check(f, "bad-header", "nested");
}

static void values_of_no_type_are_refused(void **state)
{
    (void)state;
    struct fixture f = gguf_begin(3, 0, 1);
    gguf_string(&f, "a");
    fixture_number(&f, 13, 4);
    fixture_number(&f, 0, 8);
    check(f, "bad-header", "type");
    f = gguf_begin(3, 0, 1);
    gguf_array(&f, "a", 13, 1);
    fixture_number(&f, 0, 8);
    check(f, "bad-header", "type");
}

/* One tensor with what stands in `rows`, `columns`, `type` and `offset`. */
static struct fixture one_tensor(uint64_t rows, uint64_t columns, uint32_t type, uint64_t offset,
                                 uint64_t data)
{
    struct fixture f = gguf_begin(3, 1, 1);
    gguf_text(&f, "general.architecture", "a");
    gguf_tensor(&f, "t\x1b", rows, columns, type, offset);
    gguf_end(&f, data);
    return f;
}

static void sizes_of_tensors_are_computed_without_overflow(void **state)
{
    (void)state;
    check(one_tensor(2, 256, T_Q4_K, 0, 288), "none", "");
    check(one_tensor(2, 256, T_Q4_K, 0, 287), "cut-file", "");
    check(one_tensor(2, 256, T_Q4_K, 32, 320), "none", "");
    check(one_tensor(2, 256, T_Q4_K, 32, 319), "cut-file", "");
    check(one_tensor(2, 255, T_Q4_K, 0, 288), "bad-header", "'t\\x1b' has rows");
    check(one_tensor(0, 0, T_F32, 0, 0), "none", "");
    check(one_tensor(1ull << 32, 1ull << 32, T_F32, 0, 0), "bad-header", "counted");
    check(one_tensor(1, 1ull << 62, T_F32, 0, 0), "bad-header", "counted");
    check(one_tensor(1, 1ull << 60, T_F32, UINT64_MAX - 31, 0), "bad-header", "counted");
    check(one_tensor(1, 1ull << 60, T_F32, 0, 1 << 20), "cut-file", "");
    check(one_tensor(1, 1, T_F32, UINT64_MAX - 31, 0), "cut-file", "");
    check(one_tensor(1, 1, T_F32, 16, 64), "bad-header", "aligned");
    check(one_tensor(1, 1, 1000, 0, 64), "not-checked", "type");
}

static void tensors_do_not_overlap(void **state)
{
    (void)state;
    struct fixture f = gguf_begin(3, 2, 0);
    gguf_tensor(&f, "a", 1, 9, T_F32, 0);
    gguf_tensor(&f, "b", 1, 9, T_F32, 32);
    gguf_end(&f, 1000);
    check(f, "overlap", "offset 32");
    f = gguf_begin(3, 2, 0);
    gguf_tensor(&f, "b", 1, 8, T_F32, 32);
    gguf_tensor(&f, "a", 1, 8, T_F32, 0);
    gguf_end(&f, 64);
    check(f, "none", "");
}

static void odd_alignments_and_dimensions_are_refused(void **state)
{
    (void)state;
    static const uint64_t alignments[] = {0, 3, 48, 0xffffffff};
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        struct fixture f = gguf_begin(3, 0, 1);
        gguf_whole(&f, "general.alignment", U32, alignments[i]);
        check(f, "bad-header", "alignment");
    }
    struct fixture f = gguf_begin(3, 1, 1);
    gguf_whole(&f, "general.alignment", U32, 64);
    gguf_tensor(&f, "a", 1, 8, T_F32, 32);
    gguf_end(&f, 64);
    check(f, "bad-header", "aligned");
    f = gguf_begin(3, 1, 0);
    gguf_string(&f, "a");
    fixture_number(&f, 1000000, 4);
    gguf_end(&f, 64);
    check(f, "bad-header", "dimensions");
}

static void heads_may_differ_between_layers(void **state)
{
    (void)state;
    struct gguf out;
    struct finding why;
    struct fixture f = gguf_begin(3, 0, 4);
    gguf_text(&f, "general.architecture", "a");
    gguf_array(&f, "a.attention.head_count_kv", I32, 3);
    fixture_number(&f, 8, 4);
    fixture_number(&f, 0, 4);
    fixture_number(&f, 4, 4);
    gguf_whole(&f, "a.attention.key_length", U32, 128);
    gguf_whole(&f, "a.attention.value_length", U32, 64);
    int result = read_fixture(&f, &out, &why);
    assert_finding(result, why, "none", "");
    assert_int_equal(out.facts.kv_heads_of_layers, 12);
    assert_int_equal(model_facts_kv_bytes(&out.facts), 12 * (128 + 64) * 2);
    fixture_release(&f);
}

static void numbers_of_another_kind_are_not_taken(void **state)
{
    (void)state;
    struct gguf out;
    struct finding why;
    struct fixture f = gguf_begin(3, 0, 4);
    gguf_text(&f, "general.architecture", "a");
    gguf_whole(&f, "a.block_count", I32, 0xfffffffb); /* -5 */
    gguf_whole(&f, "a.context_length", F32, 0x40a00000);
    gguf_text(&f, "a.expert_count", "7");
    int result = read_fixture(&f, &out, &why);
    assert_finding(result, why, "none", "");
    assert_int_equal(out.facts.layers, 0);
    assert_int_equal(out.facts.context_length, 0);
    assert_int_equal(out.facts.experts, 0);
    fixture_release(&f);
    f = gguf_begin(3, 0, 2);
    gguf_text(&f, "general.architecture", "a");
    gguf_array(&f, "a.attention.head_count_kv", F32, 1);
    fixture_number(&f, 0, 4);
    check(f, "bad-header", "heads");
}

static void projectors_are_told_from_models(void **state)
{
    (void)state;
    struct gguf out;
    struct finding why;
    struct fixture f = gguf_begin(3, 0, 2);
    gguf_text(&f, "general.architecture", "a");
    gguf_text(&f, "general.type", "mmproj");
    assert_int_equal(read_fixture(&f, &out, &why), 0);
    assert_true(out.is_auxiliary);
    fixture_release(&f);
    f = gguf_begin(3, 0, 1);
    gguf_text(&f, "general.architecture", "clip");
    assert_int_equal(read_fixture(&f, &out, &why), 0);
    assert_true(out.is_auxiliary);
    fixture_release(&f);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    struct gguf out;
    struct finding why;
    char text[70000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct fixture f = gguf_begin(3, 0, 3);
    gguf_text(&f, text, text);
    gguf_text(&f, "general.architecture", text);
    gguf_text(&f, "general.name", text);
    int result = read_fixture(&f, &out, &why);
    assert_finding(result, why, "none", "");
    assert_int_equal(strlen(out.facts.architecture), MODEL_FACT_MAX - 1);
    assert_int_equal(strlen(out.facts.name), MODEL_FACT_MAX - 1);
    fixture_release(&f);
}

static void without_a_file_type_the_largest_type_names_the_quantisation(void **state)
{
    (void)state;
    struct gguf out;
    struct finding why;
    struct fixture f = one_tensor(2, 256, T_Q6_K, 0, 420);
    assert_int_equal(read_fixture(&f, &out, &why), 0);
    assert_string_equal(out.facts.quantization, "Q6_K");
    fixture_release(&f);
    assert_string_equal(ggml_file_type_name(1024 + 7), "Q8_0");
    assert_null(ggml_file_type_name(5));
    assert_null(ggml_file_type_name(1000));
    assert_null(ggml_type_find(4));
    assert_null(ggml_type_find(UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_header_of_each_version_tells_what_is_in_it),
        cmocka_unit_test(a_file_that_lacks_its_last_byte_is_found),
        cmocka_unit_test(a_file_that_ends_anywhere_in_its_header_is_found),
        cmocka_unit_test(other_files_of_that_name_are_not_judged),
        cmocka_unit_test(counts_that_no_file_can_hold_are_refused_unread),
        cmocka_unit_test(a_header_of_a_huge_file_is_read_to_a_limit),
        cmocka_unit_test(arrays_in_arrays_are_bounded),
        cmocka_unit_test(values_of_no_type_are_refused),
        cmocka_unit_test(sizes_of_tensors_are_computed_without_overflow),
        cmocka_unit_test(tensors_do_not_overlap),
        cmocka_unit_test(odd_alignments_and_dimensions_are_refused),
        cmocka_unit_test(heads_may_differ_between_layers),
        cmocka_unit_test(numbers_of_another_kind_are_not_taken),
        cmocka_unit_test(projectors_are_told_from_models),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(without_a_file_type_the_largest_type_names_the_quantisation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
