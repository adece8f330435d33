/* The header of safetensors files: a valid one tells what is in it, and each way of breaking it is found,
 * without a look at the data. */
#include "model_fixture.h"

#include "common/extents.h"
#include "common/safetensors.h"

/* Two tensors, the later one first; 16 x 2 + 6 x 4 bytes of data. */
#define TWO                                                                                                  \
    "{\"__metadata__\":{\"format\":\"pt\"},"                                                                 \
    "\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[32,56]},"                                    \
    "\"a\":{\"dtype\":\"BF16\",\"shape\":[4,4],\"data_offsets\":[0,32]}}   "

static int read_fixture(const struct fixture *f, struct safetensors *out, struct finding *why)
{
    struct memory memory = {f->bytes, f->length, 0, 0};
    struct model_reader in = memory_reader(&memory, f->size);
    int result = safetensors_read(out, &in, why);
    assert_true(memory.read_end <= f->length);
    return result;
}

static void check(const char *json, uint64_t data, const char *kind, const char *word)
{
    struct safetensors out;
    struct finding why;
    struct fixture f = safetensors_fixture(json, data);
    int result = read_fixture(&f, &out, &why);
    assert_finding(result, why, kind, word);
    fixture_release(&f);
}

static void a_valid_header_tells_types_parameters_and_bytes(void **state)
{
    (void)state;
    struct safetensors out;
    struct finding why;
    struct fixture f = safetensors_fixture(TWO, 56);
    assert_int_equal(read_fixture(&f, &out, &why), 0);
    assert_int_equal(out.header_bytes, f.length);
    assert_int_equal(out.mix.count, 2);
    assert_string_equal(out.mix.uses[0].name, "F32");
    assert_int_equal(out.mix.uses[0].tensors, 1);
    assert_int_equal(out.mix.uses[0].elements, 6);
    assert_int_equal(out.mix.uses[0].bytes, 24);
    struct dtype_use total = dtype_mix_total(&out.mix);
    assert_int_equal(total.tensors, 2);
    assert_int_equal(total.elements, 22);
    assert_int_equal(total.bytes, 56);
    assert_string_equal(dtype_mix_largest(&out.mix), "BF16");
    fixture_release(&f);
}

static void a_file_that_is_shorter_or_longer_by_a_byte_is_found(void **state)
{
    (void)state;
    check(TWO, 56, "none", "");
    check(TWO, 55, "cut-file", "cut off");
    check(TWO, 57, "extra-bytes", "longer");
    check(TWO, 0, "cut-file", "cut off");
    check("{}", 0, "none", "");
    check("{}", 1, "extra-bytes", "longer");
}

static void a_file_that_ends_in_its_header_is_cut(void **state)
{
    (void)state;
    struct safetensors out;
    struct finding why;
    struct fixture f = safetensors_fixture(TWO, 0);
    for (size_t size = 9; size < f.length; size++) {
        struct fixture cut = {.bytes = f.bytes, .length = size, .size = size};
        int result = read_fixture(&cut, &out, &why);
        assert_finding(result, why, "cut-file", "header");
    }
    fixture_release(&f);
}

static void other_files_of_that_name_are_not_judged(void **state)
{
    (void)state;
    struct safetensors out;
    struct finding why;
    uint8_t noise[64];
    fill(noise, sizeof noise, 7);
    for (size_t size = 0; size <= sizeof noise; size++) {
        struct fixture f = {.bytes = noise, .length = size, .size = size};
        int result = read_fixture(&f, &out, &why);
        assert_finding(result, why, size == 0 ? "cut-file" : "not-checked", "");
    }
    check("[1,2,3,4,5,6,7,8]", 0, "not-checked", "does not begin");
}

static void headers_beyond_the_limit_are_refused_unread(void **state)
{
    (void)state;
    struct safetensors out;
    struct finding why;
    struct fixture f = safetensors_fixture(TWO, (uint64_t)1 << 40);
    static const uint64_t lengths[] = {100000001, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        put_le(f.bytes, lengths[i], 8);
        struct memory memory = {f.bytes, f.length, 0, 0};
        struct model_reader in = memory_reader(&memory, f.size);
        int result = safetensors_read(&out, &in, &why);
        assert_finding(result, why, "oversized-header", "loaders refuse");
        assert_int_equal(memory.read_bytes, 9);
    }
    fixture_release(&f);
}

static void tensors_cover_the_data_without_overlap_or_gap(void **state)
{
    (void)state;
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[7,15]}}",
          15, "overlap", "offset 7");
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}",
          8, "overlap", "offset 0");
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[9,17]}}",
          17, "gap", "offset 8");
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[1,9]}}", 9, "gap", "offset 0");
    /* Tensors of no elements have a place, too. */
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
          "\"e\":{\"dtype\":\"F16\",\"shape\":[4,0],\"data_offsets\":[8,8]}}",
          8, "none", "");
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
          "\"e\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[4,4]}}",
          8, "overlap", "offset 4");
}

static void type_and_shape_must_make_the_length(void **state)
{
    (void)state;
    check("{\"a\":{\"dtype\":\"F16\",\"shape\":[8],\"data_offsets\":[0,8]}}", 8, "bad-header", "tensor 'a'");
    check("{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[8,0]}}", 8, "bad-header",
          "before it begins");
    check("{\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}", 8, "none", "");
    /* Types of less than a byte. */
    check("{\"a\":{\"dtype\":\"F4\",\"shape\":[16],\"data_offsets\":[0,8]}}", 8, "none", "");
    check("{\"a\":{\"dtype\":\"F4\",\"shape\":[15],\"data_offsets\":[0,8]}}", 8, "bad-header", "60 bits");
    check("{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3, "none", "");
    check("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3, "none", "");
    check("{\"a\":{\"dtype\":\"F8_E5M2\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3, "none", "");
    /* 2^64 elements, and 2^62 of four bytes, would be 0 without a check. */
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
          "bad-header", "counted");
    check("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
          "bad-header", "counted");
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551616],\"data_offsets\":[0,0]}}", 0,
          "bad-header", "whole number");
    check("{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[18446744073709551608,"
          "18446744073709551615]}}",
          8, "bad-header", "bits");
}

static void types_that_are_not_known_are_counted_by_their_bytes(void **state)
{
    (void)state;
    static const char json[] = "{\"a\":{\"dtype\":\"F3_E1M1\",\"shape\":[8],\"data_offsets\":[0,3]},"
                               "\"b.qweight\":{\"dtype\":\"Q9\",\"shape\":[8],\"data_offsets\":[3,9]}}";
    struct safetensors out;
    struct finding why;
    struct fixture f = safetensors_fixture(json, 9);
    int result = read_fixture(&f, &out, &why);
    assert_finding(result, why, "not-checked", "type");
    assert_int_equal(out.mix.count, 1);
    assert_int_equal(out.mix.uses[0].bytes, 9);
    assert_int_equal(out.packed_elements, 0);
    fixture_release(&f);
    check(json, 8, "cut-file", "cut off");
}

static void members_of_a_wrong_kind_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"a\":1}",
        "{\"a\":[]}",
        "{\"a\":null}",
        "{\"a\":{}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}",
        "{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":1,\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":0,\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[[0]],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":{},\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1e0],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0.0],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[\"0\"],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"data_offsets\":[0,0]}}",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check(bad[i], 0, "bad-header", "tensor 'a'");
    /* What is not known is passed over. */
    check("{\"__metadata__\":{\"a\":\"{\\\"b\\\": 1}\"},\"a\":{\"x\":{\"y\":[[1],2.5]},\"dtype\":\"U8\","
          "\"shape\":[1],\"z\":null,\"data_offsets\":[0,1]}}",
          1, "none", "");
}

static void text_that_is_no_json_is_refused(void **state)
{
    (void)state;
    check("{\"a\":", 0, "bad-header", "not JSON");
    check("{\"a\":{\"dtype\"}}", 0, "bad-header", "not JSON");
    check("{}{}", 0, "bad-header", "not JSON");
    check("{}\xff", 0, "bad-header", "not JSON");
    check("{\"\xff\":{}}", 0, "bad-header", "not JSON");
    check("{nothing}", 0, "bad-header", "not JSON");
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    char json[4096] = "{\"__metadata__\":";
    memset(json + strlen(json), '[', 2000);
    check(json, 0, "bad-header", "nested too deeply");
}

static void control_characters_of_names_are_not_repeated(void **state)
{
    (void)state;
    check("{\"x\\u001b[31m\\n\":{}}", 0, "bad-header", "'x\\x1b[31m\\x0a'");
}

/* The reader makes the header up as it is read: `head`, then `piece` again and again, then `tail`. */
struct generator {
    const char *head, *piece, *tail;
    uint64_t pieces;
};

static uint64_t generator_length(const struct generator *g)
{
    return strlen(g->head) + g->pieces * strlen(g->piece) + strlen(g->tail);
}

static char generator_byte(const struct generator *g, uint64_t at)
{
    uint64_t head = strlen(g->head), middle = g->pieces * strlen(g->piece);
    if (at < head)
        return g->head[at];
    return at - head < middle ? g->piece[(at - head) % strlen(g->piece)] : g->tail[at - head - middle];
}

static ssize_t generator_read(void *context, void *buffer, size_t length, uint64_t offset)
{
    uint8_t start[8];
    put_le(start, generator_length(context), 8);
    for (size_t i = 0; i < length; i++)
        ((char *)buffer)[i] =
            offset + i < 8 ? (char)start[offset + i] : generator_byte(context, offset + i - 8);
    return (ssize_t)length;
}

static void check_generated(struct generator g, const char *kind, const char *word)
{
    struct safetensors out;
    struct finding why;
    struct model_reader in = {8 + generator_length(&g), generator_read, &g};
    int result = safetensors_read(&out, &in, &why);
    assert_finding(result, why, kind, word);
}

#define EMPTY_TENSOR "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}"

static void strings_and_lists_are_bounded(void **state)
{
    (void)state;
    check_generated((struct generator){"{\"__metadata__\":{\"x\":\"", "y", "\"}}", 3 << 20}, "none", "");
    check_generated((struct generator){"{\"__metadata__\":{\"x\":\"", "y", "\"}}", 5 << 20}, "bad-header",
                    "too long a string");
    check_generated((struct generator){"{\"__metadata__\":{\"x\":\"", " ", "\"}}", 10 << 20}, "bad-header",
                    "too long a string");
    check_generated((struct generator){"{", EMPTY_TENSOR ",", EMPTY_TENSOR "}", EXTENTS_MAX - 1}, "none", "");
    check_generated((struct generator){"{", EMPTY_TENSOR ",", EMPTY_TENSOR "}", EXTENTS_MAX}, "bad-header",
                    "more than 1048576 tensors");
}

static void packed_tensors_are_told_by_their_names(void **state)
{
    (void)state;
    struct safetensors out;
    struct finding why;
    struct fixture f =
        safetensors_fixture("{\"m.qweight\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                            "\"m.scales\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[16,20]},"
                            "\"e_blocks\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[20,24]},"
                            "\"l.weight\":{\"dtype\":\"U32\",\"shape\":[2],\"data_offsets\":[24,32]},"
                            "\"n.weight\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[32,35]}}",
                            35);
    assert_int_equal(read_fixture(&f, &out, &why), 0);
    assert_int_equal(out.packed_elements, 4 + 4 + 2);
    assert_int_equal(out.packed_bits, 4 * 32 + 4 * 8 + 2 * 32);
    assert_int_equal(out.auxiliary_elements, 2);
    fixture_release(&f);
}

static ssize_t failing_read(void *context, void *buffer, size_t length, uint64_t offset)
{
    (void)context, (void)buffer, (void)length, (void)offset;
    errno = EIO;
    return -1;
}

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    struct safetensors out;
    struct finding why;
    struct model_reader in = {100, failing_read, NULL};
    int result = safetensors_read(&out, &in, &why);
    assert_finding(result, why, "unreadable", "Input/output error");
    /* Shorter than it was said to be. */
    struct fixture f = safetensors_fixture(TWO, 0);
    struct memory memory = {f.bytes, 20, 0, 0};
    in = memory_reader(&memory, f.size + 56);
    result = safetensors_read(&out, &in, &why);
    assert_finding(result, why, "unreadable", "shorter");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_header_tells_types_parameters_and_bytes),
        cmocka_unit_test(a_file_that_is_shorter_or_longer_by_a_byte_is_found),
        cmocka_unit_test(a_file_that_ends_in_its_header_is_cut),
        cmocka_unit_test(other_files_of_that_name_are_not_judged),
        cmocka_unit_test(headers_beyond_the_limit_are_refused_unread),
        cmocka_unit_test(tensors_cover_the_data_without_overlap_or_gap),
        cmocka_unit_test(type_and_shape_must_make_the_length),
        cmocka_unit_test(types_that_are_not_known_are_counted_by_their_bytes),
        cmocka_unit_test(members_of_a_wrong_kind_are_refused),
        cmocka_unit_test(text_that_is_no_json_is_refused),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(control_characters_of_names_are_not_repeated),
        cmocka_unit_test(strings_and_lists_are_bounded),
        cmocka_unit_test(packed_tensors_are_told_by_their_names),
        cmocka_unit_test(what_cannot_be_read_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
