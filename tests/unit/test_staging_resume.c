/* What a restart finds again of a model on its way in, and what it must not believe. */
#include "staging_model.h"

static void a_restart_goes_on_where_it_was(void **state)
{
    static struct model m;
    struct journal_state found;
    model_begin(&m, *state);
    model_add(&m, "sub/part.bin", 3 * BLOCK_SIZE + 1000);
    model_add(&m, "whole.bin", BLOCK_SIZE + 1);
    model_add(&m, "empty", 0);
    model_add(&m, "untouched", 5);
    create(&m);
    put(&m, 0, 0);
    put(&m, 0, 3);
    put(&m, 1, 0);
    put(&m, 1, 1);
    put(&m, 2, 0);
    staging_destroy(&m.staging);

    inspect(&m, &found);
    assert_int_equal(found.count, 3);
    for (size_t i = 0; i < found.count; i++) {
        const struct journal_file *f = &found.files[i];
        bool partial = strcmp(f->entry.path, "sub/part.bin") == 0;
        assert_int_equal(f->complete, !partial);
        assert_int_equal(f->entry.source, 7);
        assert_int_equal(f->entry.mtime, 1700000000);
        if (partial)
            assert_memory_equal(f->present, "\1\0\0\1", 4);
    }
    journal_state_release(&found);

    for (size_t i = 0; i < 3; i++)
        m.plan.files[i].from = FROM_STAGED;
    create(&m);
    assert_true(staging_has(m.staging, 0, 0));
    assert_false(staging_has(m.staging, 0, 1));
    assert_false(staging_has(m.staging, 0, 2));
    assert_true(staging_has(m.staging, 0, 3));
    assert_true(staging_has(m.staging, 1, 1));
    assert_true(staging_has(m.staging, 2, 0));
    assert_false(staging_has(m.staging, 3, 0));
    put(&m, 0, 2);
    staging_destroy(&m.staging); /* and once more */

    create(&m);
    assert_true(staging_has(m.staging, 0, 0));
    assert_true(staging_has(m.staging, 0, 2));
    assert_true(staging_has(m.staging, 0, 3));
    assert_false(staging_has(m.staging, 0, 1));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void the_order_of_the_plan_may_change_between_runs(void **state)
{
    static struct model m;
    model_begin(&m, *state);
    model_add(&m, "a", 10);
    model_add(&m, "b", 20);
    model_add(&m, "c", BLOCK_SIZE + 3);
    create(&m);
    put(&m, 2, 1);
    put(&m, 1, 0);
    put(&m, 0, 0);
    staging_destroy(&m.staging);
    struct file_entry entry = m.plan.files[0];
    uint8_t *bytes = m.bytes[0];
    m.plan.files[0] = m.plan.files[2];
    m.bytes[0] = m.bytes[2];
    m.plan.files[2] = entry;
    m.bytes[2] = bytes;
    set_from(&m, FROM_STAGED);
    create(&m);
    assert_true(staging_has(m.staging, 0, 1));
    assert_false(staging_has(m.staging, 0, 0));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void what_the_plan_does_not_take_over_is_removed(void **state)
{
    static struct model m;
    model_begin(&m, *state);
    model_add(&m, "sub/a", BLOCK_SIZE + 10);
    model_add(&m, "gone/deep/b", 20);
    create(&m);
    put(&m, 0, 0);
    put(&m, 1, 0);
    write_file(tree_of(&m), "stray", "x", 1);
    assert_int_equal(symlinkat("/etc", tree_of(&m), "link"), 0);
    assert_int_equal(mkdirat(tree_of(&m), "hollow", 0777), 0);
    staging_destroy(&m.staging);
    m.plan.files[0].from = FROM_STAGED;
    m.plan.files[1].from = FROM_SEND;
    create(&m);
    assert_true(staging_has(m.staging, 0, 0));
    assert_false(staging_has(m.staging, 1, 0));
    assert_int_equal(count_names(&m), 1); /* the temporary file of sub/a */
    assert_false(is_there(tree_of(&m), "gone"));
    assert_false(is_there(tree_of(&m), "hollow"));
    assert_true(access("/etc", F_OK) == 0);
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static void staged_without_an_offer_is_a_violation(void **state)
{
    static struct model m;
    struct error err = {0};
    model_begin(&m, *state);
    model_add(&m, "a", 10);
    create(&m);
    put(&m, 0, 0);
    staging_destroy(&m.staging);
    set_from(&m, FROM_STAGED);
    m.plan.files[0].size = 11;
    assert_int_equal(try_create(&m, IO_AUTO, &err), -1);
    assert_int_equal(err.code, ERROR_PROTOCOL);
    m.plan.files[0].size = 10;
    char *path = m.plan.files[0].path;
    m.plan.files[0].path = (char *)"b";
    assert_int_equal(try_create(&m, IO_AUTO, &err), -1);
    assert_int_equal(err.code, ERROR_PROTOCOL);
    m.plan.files[0].path = path;
    create(&m); /* and what was offered survives both */
    finish(&m);
    model_end(&m);
}

/* -- what a restart must not believe -- */

/* Puts all blocks but the second of a file of three and restarts. Returns the path of its temporary file. */
static char *leave_partial(struct model *m, struct scratch *scratch)
{
    struct journal_state found;
    model_begin(m, scratch);
    model_add(m, "part.bin", 2 * BLOCK_SIZE + 1000);
    create(m);
    put(m, 0, 0);
    put(m, 0, 2);
    staging_destroy(&m->staging);
    inspect(m, &found);
    assert_int_equal(found.count, 1);
    assert_memory_equal(found.files[0].present, "\1\0\1", 3);
    char *path = NULL;
    assert_true(asprintf(&path, "s/tree/%s", found.files[0].temporary) > 0);
    journal_state_release(&found);
    return path;
}

static void complete_after_restart(struct model *m)
{
    set_from(m, FROM_STAGED);
    create(m);
    put_missing(m);
    finish(m);
}

static void a_damaged_byte_costs_its_block_only(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    char *path = leave_partial(&m, scratch);
    int fd = openat(scratch->fd, path, O_RDWR);
    uint8_t byte = (uint8_t)(m.bytes[0][1000] ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, 1000), 1);
    (void)close(fd);
    inspect(&m, &found);
    assert_int_equal(found.count, 1);
    assert_memory_equal(found.files[0].present, "\0\0\1", 3);
    journal_state_release(&found);
    complete_after_restart(&m);
    free(path);
    model_end(&m);
}

static void a_temporary_file_cut_short_costs_its_tail(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    char *path = leave_partial(&m, scratch);
    int fd = openat(scratch->fd, path, O_RDWR);
    assert_int_equal(ftruncate(fd, (off_t)(2 * BLOCK_SIZE + 999)), 0);
    (void)close(fd);
    inspect(&m, &found);
    assert_memory_equal(found.files[0].present, "\1\0\0", 3);
    journal_state_release(&found);
    complete_after_restart(&m);
    free(path);
    model_end(&m);
}

static void a_temporary_file_that_is_too_long_is_cut_to_size(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    char *path = leave_partial(&m, scratch);
    int fd = openat(scratch->fd, path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    (void)close(fd);
    complete_after_restart(&m);
    free(path);
    model_end(&m);
}

static void a_temporary_file_that_is_gone_or_a_link_is_forgotten(void **state)
{
    for (int link = 0; link < 2; link++) {
        static struct model m;
        struct journal_state found;
        void *own = NULL;
        (void)state;
        assert_int_equal(scratch_setup(&own), 0);
        struct scratch *scratch = own;
        char *path = leave_partial(&m, scratch);
        if (link) {
            assert_int_equal(renameat(scratch->fd, path, scratch->fd, "elsewhere"), 0);
            assert_int_equal(symlinkat("../../elsewhere", scratch->fd, path), 0);
        } else {
            assert_int_equal(unlinkat(scratch->fd, path, 0), 0);
        }
        inspect(&m, &found);
        assert_int_equal(found.count, 0);
        journal_state_release(&found);
        create(&m);
        assert_false(staging_has(m.staging, 0, 0));
        put_missing(&m);
        finish(&m);
        assert_int_equal(is_there(scratch->fd, "elsewhere"), link);
        free(path);
        model_end(&m);
        assert_int_equal(scratch_teardown(&own), 0);
    }
}

static void a_complete_file_that_was_touched_is_forgotten(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    model_begin(&m, scratch);
    model_add(&m, "mtime", 10);
    model_add(&m, "size", 20);
    model_add(&m, "gone", 30);
    model_add(&m, "good", 40);
    create(&m);
    put_missing(&m);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1700000000, .tv_nsec = 1}};
    assert_int_equal(utimensat(tree_of(&m), "mtime", times, 0), 0);
    assert_int_equal(unlinkat(tree_of(&m), "gone", 0), 0);
    write_file(tree_of(&m), "size", "longer than it was before", 25);
    times[1].tv_nsec = 123456789;
    assert_int_equal(utimensat(tree_of(&m), "size", times, 0), 0);
    staging_destroy(&m.staging);
    inspect(&m, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.files[0].entry.path, "good");
    journal_state_release(&found);
    m.plan.files[3].from = FROM_STAGED;
    create(&m);
    assert_false(staging_has(m.staging, 0, 0));
    assert_false(staging_has(m.staging, 1, 0));
    assert_false(staging_has(m.staging, 2, 0));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

static bool stop_inspection(void *context, uint64_t bytes)
{
    *(uint64_t *)context += bytes;
    return false;
}

static void an_inspection_can_be_stopped(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal_state found;
    struct error err;
    uint64_t bytes = 0;
    char *path = leave_partial(&m, scratch);
    int folder = open_folder(&m);
    assert_int_equal(staging_tree_inspect(folder, &found, stop_inspection, &bytes, &err), -1);
    assert_int_equal(err.code, ERROR_INTERRUPTED);
    assert_int_equal(found.count, 0);
    assert_int_equal(bytes, BLOCK_SIZE);
    (void)close(folder);
    free(path);
    model_end(&m);
}

/* Between the last rename and its record: the file has its name, and the journal knows only of blocks. */
static void a_crash_after_the_name_and_before_its_record_loses_nothing(void **state)
{
    struct scratch *scratch = *state;
    static struct model m;
    struct journal *journal = NULL;
    struct error err;
    uint8_t hashes[3 * HASH_SIZE];
    model_begin(&m, scratch);
    model_add(&m, "sub/full", 2 * BLOCK_SIZE + 5);
    create(&m);
    put_missing(&m);
    staging_destroy(&m.staging);
    for (uint64_t b = 0; b < 3; b++)
        digest_block(block_at(&m, 0, b), length_of(&m, 0, b), hashes + b * HASH_SIZE);
    int folder = open_folder(&m);
    assert_int_equal(journal_create(&journal, folder, &err), 0);
    assert_int_equal(journal_file(journal, 0, &m.plan.files[0], "sub/.full.0123456789abcdef", &err), 0);
    assert_int_equal(journal_blocks(journal, 0, 0, hashes, 3, &err), 0);
    assert_int_equal(journal_commit(journal, &err), 0);
    journal_destroy(&journal);
    (void)close(folder);
    set_from(&m, FROM_STAGED);
    create(&m);
    finish(&m); /* nothing had to be put again */
    model_end(&m);
}

/* The death of the process: no destroy, no last record. The parent finds what was recorded before. */
static void what_was_recorded_before_a_kill_is_there(void **state)
{
    static struct model m;
    struct journal_state found;
    struct scratch *scratch = *state;
    model_begin(&m, scratch);
    model_add(&m, "part", 2 * BLOCK_SIZE + 5);
    model_add(&m, "small", 5);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct claim claim;
        struct error err;
        struct stat st;
        struct staging_options options = {.io = IO_BUFFERED};
        struct journal_state none = {0};
        int folder = open_folder(&m);
        if (staging_create(&m.staging, folder, &m.plan, &none, &options, &err) < 0 ||
            staging_start(m.staging, &err) < 0)
            _exit(1);
        if (staging_begin(m.staging, 0, 1, false, &claim, &err) != STAGING_CLAIMED ||
            put_piece(&m, &claim, &err) < 0 || end_claim(&m, &claim, &err) < 0 ||
            staging_begin(m.staging, 1, 0, false, &claim, &err) != STAGING_CLAIMED ||
            put_piece(&m, &claim, &err) < 0 || end_claim(&m, &claim, &err) < 0)
            _exit(2);
        for (int i = 0; i < 3000; i++) { /* until the journal has grown beyond its magic bytes */
            if (fstatat(folder, JOURNAL_NAME, &st, 0) == 0 && st.st_size > 180)
                break;
            (void)usleep(10000);
        }
        if (staging_begin(m.staging, 0, 0, false, &claim, &err) != STAGING_CLAIMED ||
            put_piece(&m, &claim, &err) < 0)
            _exit(3);
        _exit(0); /* in the middle of a block */
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    inspect(&m, &found);
    assert_int_equal(found.count, 2);
    journal_state_release(&found);
    set_from(&m, FROM_STAGED);
    create(&m);
    assert_false(staging_has(m.staging, 0, 0));
    assert_true(staging_has(m.staging, 0, 1));
    assert_true(staging_has(m.staging, 1, 0));
    put_missing(&m);
    finish(&m);
    model_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(a_restart_goes_on_where_it_was),
        scratch_test(the_order_of_the_plan_may_change_between_runs),
        scratch_test(what_the_plan_does_not_take_over_is_removed),
        scratch_test(staged_without_an_offer_is_a_violation),
        scratch_test(a_damaged_byte_costs_its_block_only),
        scratch_test(a_temporary_file_cut_short_costs_its_tail),
        scratch_test(a_temporary_file_that_is_too_long_is_cut_to_size),
        cmocka_unit_test(a_temporary_file_that_is_gone_or_a_link_is_forgotten),
        scratch_test(a_complete_file_that_was_touched_is_forgotten),
        scratch_test(an_inspection_can_be_stopped),
        scratch_test(a_crash_after_the_name_and_before_its_record_loses_nothing),
        scratch_test(what_was_recorded_before_a_kill_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
