/* Indexes of sharded models: the distinct names of files, whatever the size of the map. */
#include "model_fixture.h"

#include "common/model_index.h"

#include <time.h>

static int read_text(const char *text, struct model_index *index, struct finding *why)
{
    struct memory memory = {(const uint8_t *)text, strlen(text), 0, 0};
    struct model_reader in = memory_reader(&memory, memory.length);
    return model_index_read(index, &in, why);
}

static void check(const char *text, const char *kind, const char *word)
{
    struct model_index index;
    struct finding why;
    int result = read_text(text, &index, &why);
    assert_finding(result, why, kind, word);
    model_index_release(&index);
}

static void every_file_is_named_once(void **state)
{
    (void)state;
    struct model_index index;
    struct finding why;
    assert_int_equal(
        read_text(
            "{\"metadata\":{\"total_size\":5,\"weight_map\":{\"x\":\"not\"}},"
            "\"weight_map\":{\"a\":\"m-2.bin\",\"b\":\"m-1.bin\",\"c\":\"m-2.bin\",\"d\":\"sub/m-3.bin\","
            "\"e\":\"m-1.bin\"},\"more\":[\"m-9.bin\"]}",
            &index, &why),
        0);
    assert_int_equal(index.count, 3);
    assert_string_equal(index.shards[0], "m-1.bin");
    assert_string_equal(index.shards[1], "m-2.bin");
    assert_string_equal(index.shards[2], "sub/m-3.bin");
    assert_int_equal(index.tensors, 5);
    model_index_release(&index);
}

static void an_index_may_name_nothing(void **state)
{
    (void)state;
    check("{}", "none", "");
    check("{\"weight_map\":{}}", "none", "");
    check("", "not-checked", "does not begin");
    check("[]", "not-checked", "does not begin");
    check("x", "not-checked", "does not begin");
}

static void damaged_indexes_are_found(void **state)
{
    (void)state;
    check("{\"weight_map\":{\"a\":\"m", "bad-header", "not JSON");
    check("{\"weight_map\":[\"m\"]}", "bad-header", "maps no names");
    check("{\"weight_map\":\"m\"}", "bad-header", "maps no names");
    check("{\"weight_map\":{\"a\":1}}", "bad-header", "maps no names");
    check("{\"weight_map\":{\"a\":{\"b\":\"m\"}}}", "bad-header", "maps no names");
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"../m", "/etc/passwd", "a/../../m", "", "a//b", "./a", "a\\u0000b"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "{\"weight_map\":{\"a\":\"%s\"}}", bad[i]);
        check(text, "bad-header", "no path");
    }
}

static void there_are_no_more_files_than_models_have(void **state)
{
    (void)state;
    struct fixture f = {0};
    fixture_bytes(&f, "{\"weight_map\":{", 15);
    for (int i = 0; i <= (int)MODEL_INDEX_SHARDS_MAX; i++) {
        char entry[64];
        fixture_bytes(&f, entry,
                      (size_t)snprintf(entry, sizeof entry, "%s\"t%d\":\"m-%d\"", i ? "," : "", i, i));
    }
    fixture_bytes(&f, "}}", 3);
    check((const char *)f.bytes, "bad-header", "more files");
    fixture_release(&f);
}

/* -- a real size -- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true /* slower, and with memory of its own */
#define ENTRIES      52000
#else
#define IS_SANITIZED false
#define ENTRIES      520000 /* of 116 bytes: 60 MB */
#endif
#define SHARDS 163

/* Peak memory of this process, in bytes. */
static uint64_t peak_memory(void)
{
    char line[256];
    unsigned long kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    assert_non_null(status);
    while (kib == 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    (void)fclose(status);
    assert_true(kib > 0);
    return (uint64_t)kib << 10;
}

static void write_index(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fprintf(file, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {\n");
    for (int i = 0; i < ENTRIES; i++)
        (void)fprintf(file,
                      "    \"model.layers.%06d.mlp.experts.%06d.gate_up_projection.weight_scale_inv\": "
                      "\"model-%05d-of-%06d.safetensors\"%s\n",
                      i / 100, i, i % SHARDS + 1, SHARDS, i + 1 < ENTRIES ? "," : "");
    (void)fprintf(file, "}}\n");
    assert_int_equal(fclose(file), 0);
}

static double cpu_seconds(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void an_index_of_60_mb_costs_little(void **state)
{
    struct scratch *scratch = *state;
    char path[512];
    struct stat st;
    struct model_index index;
    struct finding why;
    (void)snprintf(path, sizeof path, "%s/model.safetensors.index.json", scratch->path);
    write_index(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    assert_true(st.st_size > 115 * ENTRIES);
    struct model_reader in = model_reader_of_fd(fd, (uint64_t)st.st_size);
    double began = cpu_seconds();
    int result = model_index_read(&index, &in, &why);
    double took = cpu_seconds() - began;
    assert_finding(result, why, "none", "");
    assert_int_equal(index.count, SHARDS);
    assert_int_equal(index.tensors, ENTRIES);
    model_index_release(&index);
    (void)close(fd);
    if (!IS_SANITIZED && (took > 2.0 || peak_memory() > 50000000))
        fail_msg("%.2f s, %llu bytes", took, (unsigned long long)peak_memory());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_named_once),
        cmocka_unit_test(an_index_may_name_nothing),
        cmocka_unit_test(damaged_indexes_are_found),
        cmocka_unit_test(names_that_lead_elsewhere_are_refused),
        scratch_test(an_index_of_60_mb_costs_little),
        cmocka_unit_test(there_are_no_more_files_than_models_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
