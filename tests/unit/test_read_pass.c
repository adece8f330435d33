/* Which files are read, each once; and that a file that shrinks is an error in both modes, not a crash. */
#include "support.h"

#include "client/read_pass.h"
#include "common/page_cache.h"

#include <pthread.h>
#include <stdatomic.h>

#define SIZE      ((size_t)9 << 20) /* more than one buffer, and no multiple of it */
#define LONG_SIZE ((size_t)64 << 20)

static void add_path(struct optparse_list *paths, const struct scratch *scratch, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", scratch->path, name);
    optparse_list_add(paths, path);
}

/* Collects these names of the scratch folder, with a NULL behind them. */
static int collect(struct bench_files *files, const struct scratch *scratch, const char *const *names,
                   struct error *err)
{
    struct optparse_list paths = {0};
    for (; *names; names++)
        add_path(&paths, scratch, *names);
    int result = bench_files_collect(files, &paths, err);
    optparse_list_release(&paths);
    return result;
}

static void make_files(const struct scratch *scratch)
{
    assert_int_equal(mkdirat(scratch->fd, "m", 0777), 0);
    assert_int_equal(mkdirat(scratch->fd, "m/.git", 0777), 0);
    write_file(scratch->fd, "m/b", "bbb", 3);
    write_file(scratch->fd, "m/a", "aa", 2);
    write_file(scratch->fd, "m/.git/x", "junk", 4);
    assert_int_equal(symlinkat("b", scratch->fd, "m/link"), 0);
    assert_int_equal(mkfifoat(scratch->fd, "m/fifo", 0666), 0);
}

static void folders_give_their_files_sorted_and_each_once(void **state)
{
    const struct scratch *scratch = *state;
    struct bench_files files;
    struct error err;
    make_files(scratch);
    assert_int_equal(collect(&files, scratch, (const char *const[]){"m/b", "m/", NULL}, &err), 0);
    assert_int_equal(files.count, 2); /* neither the junk nor the FIFO, and b by three ways once */
    assert_int_equal(files.bytes, 5);
    assert_non_null(strstr(files.files[0].path, "/m/b"));
    assert_non_null(strstr(files.files[1].path, "/m/a"));
    bench_files_release(&files);
}

static void what_cannot_be_read_is_named(void **state)
{
    const struct scratch *scratch = *state;
    struct bench_files files;
    struct error err;
    make_files(scratch);
    assert_int_equal(collect(&files, scratch, (const char *const[]){"m", "none", NULL}, &err), -1);
    assert_int_equal(err.code, ERROR_FILE);
    assert_non_null(strstr(err.text, "/none'"));
    assert_int_equal(collect(&files, scratch, (const char *const[]){"m/fifo", NULL}, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_int_equal(symlinkat("nowhere", scratch->fd, "m/dangling"), 0);
    assert_int_equal(collect(&files, scratch, (const char *const[]){"m", NULL}, &err), -1);
    assert_int_equal(err.code, ERROR_FILE);
    assert_non_null(strstr(err.text, "/m/dangling'"));
    write_file(scratch->fd, "empty", "", 0);
    assert_int_equal(collect(&files, scratch, (const char *const[]){"empty", NULL}, &err), -1);
    assert_int_equal(err.code, ERROR_FAILED);
}

static void two_file_systems_are_not_one_figure(void **state)
{
    const struct scratch *scratch = *state;
    struct optparse_list paths = {0};
    struct bench_files files;
    struct error err;
    write_file(scratch->fd, "a", "a", 1);
    add_path(&paths, scratch, "a");
    optparse_list_add(&paths, "/proc/self/status");
    assert_int_equal(bench_files_collect(&files, &paths, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_non_null(strstr(err.text, "different file systems"));
    optparse_list_release(&paths);
}

/* Bytes in the cache after a pass over files that were dropped. */
static uint64_t cached_by(const struct bench_files *files, enum read_mode mode, void *buffer)
{
    struct error err = {0};
    bool known;
    uint64_t cached;
    assert_int_equal(bench_files_drop(files, &err), 0);
    if (read_pass(files, mode, buffer, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(bench_files_resident(files, &known, &cached, &err), 0);
    assert_true(known);
    return cached;
}

static void both_modes_bring_all_bytes(void **state)
{
    const struct scratch *scratch = *state;
    static const enum read_mode modes[] = {READ_MODE_READ, READ_MODE_MMAP};
    uint8_t *bytes = filled(SIZE, 1);
    void *buffer = read_pass_buffer();
    struct bench_files files;
    struct error err = {0};
    write_file(scratch->fd, "w", bytes, SIZE);
    write_file(scratch->fd, "empty", "", 0);
    assert_int_equal(collect(&files, scratch, (const char *const[]){"w", "empty", NULL}, &err), 0);
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        int attempts = 5; /* somebody may empty the machine's cache just then */
        while (cached_by(&files, modes[i], buffer) != SIZE)
            assert_true(--attempts > 0);
    }
    assert_memory_equal(buffer, bytes + READ_PASS_BUFFER, SIZE - READ_PASS_BUFFER); /* the last piece */
    bench_files_release(&files);
    free(buffer);
    free(bytes);
}

static void a_file_that_shrank_between_rounds_is_named(void **state)
{
    const struct scratch *scratch = *state;
    uint8_t *bytes = filled(SIZE, 1);
    void *buffer = read_pass_buffer();
    struct bench_files files;
    struct error err = {0};
    write_file(scratch->fd, "w", bytes, SIZE);
    assert_int_equal(collect(&files, scratch, (const char *const[]){"w", NULL}, &err), 0);
    assert_int_equal(truncate(files.files[0].path, 100), 0);
    assert_int_equal(read_pass(&files, READ_MODE_READ, buffer, &err), -1);
    assert_int_equal(err.code, ERROR_CHANGED);
    assert_non_null(strstr(err.text, "/w'"));
    bench_files_release(&files);
    free(buffer);
    free(bytes);
}

struct cutter {
    int fd;
    atomic_bool go;
};

/* Cuts the file off as soon as some of it has been read. */
static void *cutter_thread_main(void *argument)
{
    struct cutter *cutter = argument;
    uint64_t cached = 0;
    while (!atomic_load(&cutter->go))
        ;
    while (cached == 0)
        (void)page_cache_resident(cutter->fd, 0, LONG_SIZE, &cached);
    (void)ftruncate(cutter->fd, 100);
    return NULL;
}

/* True if the pass was under way when the file was cut. */
static bool cut_under_way(const struct scratch *scratch, const uint8_t *bytes, void *buffer,
                          enum read_mode mode)
{
    struct bench_files files;
    struct error err = {0};
    pthread_t thread;
    write_file(scratch->fd, "w", bytes, LONG_SIZE);
    struct cutter cutter = {.fd = openat(scratch->fd, "w", O_RDWR | O_CLOEXEC)};
    assert_int_equal(collect(&files, scratch, (const char *const[]){"w", NULL}, &err), 0);
    assert_int_equal(bench_files_drop(&files, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, cutter_thread_main, &cutter), 0);
    atomic_store(&cutter.go, true);
    assert_int_equal(read_pass(&files, mode, buffer, &err), -1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(err.code, ERROR_CHANGED);
    bench_files_release(&files);
    close(cutter.fd);
    return strstr(err.text, "the file shrank while it was read") != NULL;
}

static void a_file_cut_off_under_the_pass_is_named_in_both_modes(void **state)
{
    static const enum read_mode modes[] = {READ_MODE_READ, READ_MODE_MMAP};
    uint8_t *bytes = filled(LONG_SIZE, 1);
    void *buffer = read_pass_buffer();
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        int attempts = 50; /* the cut may come before the pass, or behind its last page */
        while (!cut_under_way(*state, bytes, buffer, modes[i]))
            assert_true(--attempts > 0);
    }
    free(buffer);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(folders_give_their_files_sorted_and_each_once),
        scratch_test(what_cannot_be_read_is_named),
        scratch_test(two_file_systems_are_not_one_figure),
        scratch_test(both_modes_bring_all_bytes),
        scratch_test(a_file_that_shrank_between_rounds_is_named),
        scratch_test(a_file_cut_off_under_the_pass_is_named_in_both_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
