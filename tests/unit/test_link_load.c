/* Blocks from memory over a socket pair, what does not belong there, and memory that cannot be had. */
#include "support.h"

#include "common/link_load.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

struct ends {
    int fds[2];
    struct wire wires[2];
};

static int setup(void **state)
{
    struct ends *ends = calloc(1, sizeof *ends);
    if (!ends || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->fds) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        wire_init(&ends->wires[i], ends->fds[i]);
    *state = ends;
    return 0;
}

static int teardown(void **state)
{
    struct ends *ends = *state;
    for (int i = 0; i < 2; i++) {
        wire_release(&ends->wires[i]);
        (void)close(ends->fds[i]);
    }
    free(ends);
    return 0;
}

static void *send_two(void *context)
{
    struct link_load load;
    struct error err = {0};
    bool good = link_load_init(&load, context, &err) == 0;
    for (int i = 0; good && i < 2; i++)
        good = link_load_send(&load, &err) == 0 && wire_flush(context, false, &err) == 0;
    good = good && load.bytes == 2 * BLOCK_SIZE;
    link_load_release(&load);
    return good ? context : NULL;
}

static void whole_blocks_arrive_and_are_counted(void **state)
{
    struct ends *ends = *state;
    struct link_load load;
    struct error err = {0};
    pthread_t thread;
    void *sent;
    assert_int_equal(pthread_create(&thread, NULL, send_two, &ends->wires[0]), 0);
    assert_int_equal(link_load_init(&load, &ends->wires[1], &err), 0);
    for (int i = 0; i < 2; i++) {
        struct chunk chunk;
        assert_int_equal(wire_read_chunk(&ends->wires[1], &chunk, &err), 0);
        assert_int_equal(chunk.length, BLOCK_SIZE);
        assert_int_equal(link_load_receive(&load, &chunk, &err), 0);
    }
    assert_int_equal(pthread_join(thread, &sent), 0);
    assert_non_null(sent);
    assert_int_equal(load.bytes, 2 * BLOCK_SIZE);
    link_load_release(&load);
}

static void other_headers_are_refused(void **state)
{
    struct ends *ends = *state;
    struct link_load load;
    struct error err = {0};
    static const struct chunk wrong[] = {
        {.type = CHUNK_WANT, .length = 1},
        {.type = CHUNK_DATA, .file = 1, .length = 1},
        {.type = CHUNK_DATA, .offset = BLOCK_SIZE, .length = 1},
        {.type = CHUNK_DATA, .length = BLOCK_SIZE + 1},
    };
    assert_int_equal(link_load_init(&load, &ends->wires[1], &err), 0);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(link_load_receive(&load, &wrong[i], &err), -1);
        assert_int_equal(err.code, ERROR_PROTOCOL);
    }
    link_load_release(&load);
}

static void a_peer_that_goes_is_a_lost_connection(void **state)
{
    struct ends *ends = *state;
    struct link_load load;
    struct error err = {0};
    struct chunk chunk = {.type = CHUNK_DATA, .length = 1000};
    assert_int_equal(link_load_init(&load, &ends->wires[1], &err), 0);
    assert_int_equal(shutdown(ends->fds[0], SHUT_RDWR), 0);
    assert_int_equal(link_load_receive(&load, &chunk, &err), -1);
    assert_int_equal(err.code, ERROR_LOST);
    link_load_release(&load);
}

/* One limit at a time: no descriptor is left, then no file may be that large. */
static void memory_that_cannot_be_had_is_an_error(void **state)
{
    struct ends *ends = *state;
    static const struct {
        int resource;
        rlim_t limit;
        int sys;
        enum error_code code;
    } cases[] = {{RLIMIT_NOFILE, 0, EMFILE, ERROR_FAILED},
                 {RLIMIT_FSIZE, BLOCK_SIZE / 2, EFBIG, ERROR_NO_SPACE}};
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct link_load load;
        struct error err = {0};
        struct rlimit old, low;
        assert_int_equal(getrlimit((__rlimit_resource_t)cases[i].resource, &old), 0);
        low = old;
        low.rlim_cur = cases[i].limit;
        assert_int_equal(setrlimit((__rlimit_resource_t)cases[i].resource, &low), 0);
        int result = link_load_init(&load, &ends->wires[0], &err);
        assert_int_equal(setrlimit((__rlimit_resource_t)cases[i].resource, &old), 0);
        assert_int_equal(result, -1);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.sys, cases[i].sys);
        assert_int_equal(load.memory, -1);
    }
}

#define with_ends(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_ends(whole_blocks_arrive_and_are_counted),
        with_ends(other_headers_are_refused),
        with_ends(a_peer_that_goes_is_a_lost_connection),
        with_ends(memory_that_cannot_be_had_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
