/* What is remembered of transfers: what counts, what is believed of a file, and what is predicted by it. */
#include "support.h"

#include "client/history.h"
#include "client/prediction.h"
#include "proto/limits.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>

#define MB UINT64_C(1000000)

static const struct hostport nas = {.host = "nas", .port = 7420};

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-9 * fabs(wanted);
}

static void add(struct history *history, uint64_t bytes, uint64_t ms)
{
    struct history_run run = {bytes, ms};
    assert_true(history_add(history, &run));
}

static double rate(const struct history *history)
{
    size_t runs;
    return history_rate(history, &runs);
}

/* -- pure -- */

static void without_runs_there_is_no_rate(void **state)
{
    (void)state;
    struct history history = {.count = 0};
    size_t runs = 7;
    assert_true(history_rate(&history, &runs) == 0);
    assert_int_equal(runs, 0);
}

static void the_rate_is_the_median_of_the_last_ten(void **state)
{
    (void)state;
    struct history history = {.count = 0};
    size_t runs;
    add(&history, 100 * MB, 1000);
    assert_true(is_near(rate(&history), 100e6));
    add(&history, 300 * MB, 1000);
    assert_true(is_near(rate(&history), 200e6));
    add(&history, 9000 * MB, 1000); /* an outlier counts for one */
    assert_true(is_near(rate(&history), 300e6));
    for (int i = 0; i < HISTORY_USED; i++)
        add(&history, 640 * MB, 2000);
    assert_true(is_near(history_rate(&history, &runs), 320e6));
    assert_int_equal(runs, HISTORY_USED);
}

static void the_oldest_run_makes_room(void **state)
{
    (void)state;
    struct history history = {.count = 0};
    for (uint64_t i = 0; i < HISTORY_RUNS + 5; i++)
        add(&history, 100 * MB + i, 1000);
    assert_int_equal(history.count, HISTORY_RUNS);
    assert_int_equal(history.runs[0].bytes, 100 * MB + 5);
    assert_int_equal(history.runs[HISTORY_RUNS - 1].bytes, 100 * MB + HISTORY_RUNS + 4);
}

static void runs_that_say_nothing_do_not_count(void **state)
{
    (void)state;
    static const struct history_run wrong[] = {
        {0, 1000},
        {HISTORY_MIN_BYTES - 1, 1000},
        {HISTORY_MIN_BYTES, 0},
        {HISTORY_MIN_BYTES, UINT64_MAX},
        {LIMIT_SIZE + 1, 1000},
        {UINT64_MAX, 1000},
    };
    struct history history = {.count = 0};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(history_add(&history, &wrong[i]));
    assert_int_equal(history.count, 0);
    add(&history, HISTORY_MIN_BYTES, 1);
    add(&history, LIMIT_SIZE, 1);
}

static void what_is_printed_is_parsed(void **state)
{
    (void)state;
    struct history history = {.count = 0}, again = {.count = 0};
    for (uint64_t i = 0; i < HISTORY_RUNS; i++)
        add(&history, LIMIT_SIZE - i, 1 + i * 1000);
    char *text = history_print(&history);
    assert_non_null(strstr(text, "{\"bytes\":9007199254740991,\"ms\":1}\n"));
    history_parse(&again, text, strlen(text));
    assert_int_equal(again.count, HISTORY_RUNS);
    assert_memory_equal(again.runs, history.runs, sizeof history.runs);
    free(text);
}

static void lines_that_are_no_runs_are_passed_over(void **state)
{
    (void)state;
    static const char text[] = "\n"
                               "rubbish\n"
                               "{\"bytes\":100000000,\"ms\":1000}\n"
                               "{\"bytes\":-100000000,\"ms\":1000}\n"
                               "{\"bytes\":100000000,\"ms\":-1}\n"
                               "{\"bytes\":100000000,\"ms\":0}\n"
                               "{\"bytes\":100000000}\n"
                               "{\"bytes\":\"100000000\",\"ms\":1000}\n"
                               "{\"bytes\":1e300,\"ms\":1000}\n"
                               "{\"bytes\":100000000.5,\"ms\":1000}\n"
                               "{\"bytes\":100000000,\"ms\":[[[[[[[[1]]]]]]]]}\n"
                               "[100000000,1000]\n"
                               "\xff\xfe\n"
                               "{\"bytes\":200000000,\"ms\":1000,\"later\":true}\n"
                               "{\"bytes\":300000000,\"ms\":1000}"; /* cut off before its newline */
    struct history history = {.count = 0};
    history_parse(&history, text, sizeof text - 1);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.runs[0].bytes, 100 * MB);
    assert_int_equal(history.runs[1].bytes, 200 * MB);
}

static void many_lines_leave_the_last(void **state)
{
    (void)state;
    struct history history = {.count = 0};
    for (uint64_t i = 0; i < 1000; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "{\"bytes\":100000000,\"ms\":%u}\n", (unsigned)i + 1);
        history_parse(&history, line, strlen(line));
    }
    assert_int_equal(history.count, HISTORY_RUNS);
    assert_int_equal(history.runs[HISTORY_RUNS - 1].ms, 1000);
}

static void the_outcome_says_how_far_off(void **state)
{
    (void)state;
    static const struct {
        double predicted, took;
        const char *text;
    } cases[] = {
        {130, 135, "predicted 2:10, 4 % too little"}, {130, 100, "predicted 2:10, 30 % too much"},
        {130, 130.2, "predicted 2:10, right to 1 %"}, {5, 50, "predicted 5.0 s, 90 % too little"},
        {50, 5, "predicted 50 s, 900 % too much"},    {5, 0, "predicted 5.0 s, right to 1 %"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[PREDICTION_TEXT_MAX];
        assert_string_equal(prediction_text(text, cases[i].predicted, cases[i].took), cases[i].text);
    }
}

/* -- files, in a state folder of the test's own -- */

static int state_setup(void **state)
{
    if (scratch_setup(state) < 0)
        return -1;
    struct scratch *scratch = *state;
    char *path = realpath(scratch->path, NULL);
    int result = path ? setenv("XDG_STATE_HOME", path, 1) : -1;
    free(path);
    return result;
}

#define state_test(function) cmocka_unit_test_setup_teardown(function, state_setup, scratch_teardown)

static void record(uint64_t bytes, uint64_t ms)
{
    struct history_run run = {bytes, ms};
    history_record(&nas, HISTORY_PUSH, &run);
}

static size_t load_count(const struct hostport *server, enum history_direction direction)
{
    struct history history;
    history_load(&history, server, direction);
    return history.count;
}

static int count_entries(int folder, const char *name)
{
    int count = 0, fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(stream);
    return count;
}

static void runs_are_kept_by_server_and_direction(void **state)
{
    struct scratch *scratch = *state;
    static const struct hostport others[] = {{.host = "nas", .port = 7421}, {.host = "nas2", .port = 7420}};
    int before = count_fds();
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 0);
    for (int i = 0; i < HISTORY_RUNS + 3; i++)
        record(100 * MB, 1000);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), HISTORY_RUNS);
    assert_int_equal(load_count(&nas, HISTORY_PULL), 0);
    assert_int_equal(load_count(&others[0], HISTORY_PUSH) + load_count(&others[1], HISTORY_PUSH), 0);
    assert_true(is_there(scratch->fd, "mstore/push-nas:7420"));
    assert_int_equal(count_entries(scratch->fd, "mstore"), 1);
    assert_int_equal(count_fds(), before);
}

static void small_runs_make_no_file(void **state)
{
    struct scratch *scratch = *state;
    record(HISTORY_MIN_BYTES - 1, 1000);
    assert_false(is_there(scratch->fd, "mstore"));
}

static void rubbish_is_ignored_and_replaced(void **state)
{
    struct scratch *scratch = *state;
    static char rubbish[3 << 20];
    memset(rubbish, '{', sizeof rubbish);
    record(100 * MB, 1000);
    write_file(scratch->fd, "mstore/push-nas:7420", rubbish, sizeof rubbish);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 0);
    record(100 * MB, 1000);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 1);
    static const char line[] = "{\"bytes\":100000000,\"ms\":1000}\n";
    assert_true(file_equals(scratch->fd, "mstore/push-nas:7420", line, sizeof line - 1));
}

static void a_fifo_a_link_and_a_folder_are_no_history(void **state)
{
    struct scratch *scratch = *state;
    static const char line[] = "{\"bytes\":100000000,\"ms\":1000}\n";
    int folder = make_dir(scratch->fd, "mstore");
    assert_int_equal(mkfifoat(folder, "push-nas:7420", 0600), 0);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 0);
    record(100 * MB, 1000);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 1);

    write_file(scratch->fd, "elsewhere", line, sizeof line - 1);
    assert_int_equal(unlinkat(folder, "push-nas:7420", 0), 0);
    assert_int_equal(symlinkat("../elsewhere", folder, "push-nas:7420"), 0);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 0);
    record(200 * MB, 1000);
    assert_true(file_equals(scratch->fd, "elsewhere", line, sizeof line - 1));
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 1);

    assert_int_equal(unlinkat(folder, "push-nas:7420", 0), 0);
    (void)close(make_dir(folder, "push-nas:7420"));
    record(100 * MB, 1000);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 0);
    assert_int_equal(count_entries(scratch->fd, "mstore"), 1); /* nothing is left of the attempt */
    (void)close(folder);
}

static void without_a_place_nothing_is_remembered(void **state)
{
    struct scratch *scratch = *state;
    char home[600];
    write_file(scratch->fd, "file", "x", 1);
    (void)snprintf(home, sizeof home, "%s/file", getenv("XDG_STATE_HOME"));
    assert_int_equal(setenv("XDG_STATE_HOME", home, 1), 0);
    record(100 * MB, 1000);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", home, 1), 0);
    record(100 * MB, 1000);
    assert_int_equal(unsetenv("HOME"), 0);
    record(100 * MB, 1000);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 0);
    assert_false(is_there(AT_FDCWD, "relative"));
}

static void without_the_variable_it_is_below_the_home(void **state)
{
    struct scratch *scratch = *state;
    assert_int_equal(setenv("HOME", getenv("XDG_STATE_HOME"), 1), 0);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    record(100 * MB, 1000);
    assert_true(is_there(scratch->fd, ".local/state/mstore/push-nas:7420"));
    assert_int_equal(load_count(&nas, HISTORY_PUSH), 1);
}

static void no_name_of_a_server_leaves_the_folder(void **state)
{
    struct scratch *scratch = *state;
    struct hostport server = {.host = "fe80::1%/../../x", .port = 1};
    struct history_run run = {100 * MB, 1000};
    history_record(&server, HISTORY_PULL, &run);
    assert_true(is_there(scratch->fd, "mstore/pull-[fe80::1%_.._.._x]:1"));
    assert_int_equal(load_count(&server, HISTORY_PULL), 1);
    memset(server.host, 'a', HOSTPORT_HOST_MAX - 1); /* a legal name, too long for a file */
    history_record(&server, HISTORY_PULL, &run);
    assert_int_equal(load_count(&server, HISTORY_PULL), 0);
    assert_int_equal(count_entries(scratch->fd, "mstore"), 1);
}

/* -- several at once -- */

static void *record_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        record(100 * MB, 1000);
    return NULL;
}

static void runs_that_end_at_once_leave_a_whole_file(void **state)
{
    struct scratch *scratch = *state;
    pthread_t threads[4];
    record(100 * MB, 1000);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_often, NULL), 0);
    for (int i = 0; i < 1000; i++)
        assert_true(load_count(&nas, HISTORY_PUSH) > 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(load_count(&nas, HISTORY_PUSH), HISTORY_RUNS);
    assert_int_equal(count_entries(scratch->fd, "mstore"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_runs_there_is_no_rate),
        cmocka_unit_test(the_rate_is_the_median_of_the_last_ten),
        cmocka_unit_test(the_oldest_run_makes_room),
        cmocka_unit_test(runs_that_say_nothing_do_not_count),
        cmocka_unit_test(what_is_printed_is_parsed),
        cmocka_unit_test(lines_that_are_no_runs_are_passed_over),
        cmocka_unit_test(many_lines_leave_the_last),
        cmocka_unit_test(the_outcome_says_how_far_off),
        state_test(runs_are_kept_by_server_and_direction),
        state_test(small_runs_make_no_file),
        state_test(rubbish_is_ignored_and_replaced),
        state_test(a_fifo_a_link_and_a_folder_are_no_history),
        state_test(without_a_place_nothing_is_remembered),
        state_test(without_the_variable_it_is_below_the_home),
        state_test(no_name_of_a_server_leaves_the_folder),
        state_test(runs_that_end_at_once_leave_a_whole_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
