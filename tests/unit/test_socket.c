/* The rule for buffers, connecting and listening on the loopback, and giving up in time. */
#include "support.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>

#include "common/clock.h"
#include "common/socket.h"

static void buffers_are_set_only_where_that_gives_more(void **state)
{
    (void)state;
    static const struct {
        uint64_t wish, limit;
        bool may_force;
        enum socket_buffer wanted;
    } cases[] = {
        {8 << 20, 212992, false, SOCKET_BUFFER_AUTO}, /* a stock NAS: asking would give 208 KB for ever */
        {8 << 20, (8 << 20) - 1, false, SOCKET_BUFFER_AUTO},
        {8 << 20, 8 << 20, false, SOCKET_BUFFER_SET},
        {8 << 20, 64 << 20, false, SOCKET_BUFFER_SET},
        {8 << 20, 0, false, SOCKET_BUFFER_AUTO}, /* the limit could not be read */
        {8 << 20, 212992, true, SOCKET_BUFFER_FORCE},
        {8 << 20, 64 << 20, true, SOCKET_BUFFER_FORCE},
        {8 << 20, 0, true, SOCKET_BUFFER_FORCE},
        {0, 0, false, SOCKET_BUFFER_SET},
        {UINT64_MAX, UINT64_MAX - 1, false, SOCKET_BUFFER_AUTO},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(socket_buffer_rule(cases[i].wish, cases[i].limit, cases[i].may_force),
                         cases[i].wanted);
}

static void asking_for_buffers_never_gives_less(void **state)
{
    (void)state;
    uint64_t before[2], after[2];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socket_granted(fd, &before[0], &before[1]);
    assert_true(before[0] > 0 && before[1] > 0);
    bool all = socket_set_buffers(fd);
    socket_granted(fd, &after[0], &after[1]);
    assert_true(after[0] >= before[0]);
    assert_true(after[1] >= before[1]);
    if (all) {
        assert_true(after[0] >= SOCKET_BUFFER_WISH);
        assert_true(after[1] >= SOCKET_BUFFER_WISH);
    }
    (void)close(fd);
}

static int listen_on(const char *host, struct hostport *bound)
{
    struct error err = {0};
    struct hostport at;
    assert_int_equal(hostport_parse(&at, host, 0, &err), 0);
    int fd = socket_listen(&at, bound, &err);
    if (fd < 0)
        fail_msg("%s", err.text);
    return fd;
}

static void a_connection_is_blocking_tuned_and_named(void **state)
{
    (void)state;
    struct hostport bound;
    struct error err = {0};
    char peer[SOCKET_NAME_MAX], wanted[SOCKET_NAME_MAX];
    int fds = count_fds();
    for (int data = 0; data < 2; data++) {
        int listening = listen_on("127.0.0.1:0", &bound), on = 0;
        socklen_t length = sizeof on;
        assert_true(bound.port > 0);
        assert_true(fcntl(listening, F_GETFL) & O_NONBLOCK);
        int fd = socket_connect(&bound, 5, data ? SOCKET_DATA : SOCKET_CONTROL, -1, &err);
        if (fd < 0)
            fail_msg("%s", err.text);
        assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &length), 0);
        assert_true(on);
        (void)snprintf(wanted, sizeof wanted, "127.0.0.1:%u", bound.port);
        assert_string_equal(socket_peer(fd, peer), wanted);
        (void)close(fd);
        (void)close(listening);
    }
    assert_string_equal(socket_peer(-1, peer), "?");
    assert_int_equal(count_fds(), fds);
}

static void a_second_listener_is_refused_with_the_address(void **state)
{
    (void)state;
    struct hostport bound, again;
    struct error err = {0};
    char name[HOSTPORT_TEXT_MAX];
    int fds = count_fds();
    int listening = listen_on("127.0.0.1:0", &bound);
    assert_int_equal(socket_listen(&bound, &again, &err), -1);
    assert_non_null(strstr(err.text, hostport_format(name, &bound)));
    (void)close(listening);
    listening = socket_listen(&bound, &again, &err); /* and may come back at once */
    assert_true(listening >= 0);
    (void)close(listening);
    assert_int_equal(socket_connect(&bound, 5, SOCKET_DATA, -1, &err), -1); /* nobody is there */
    assert_int_equal(err.code, ERROR_CONNECT);
    assert_int_equal(err.sys, ECONNREFUSED);
    assert_non_null(strstr(err.text, name));
    assert_int_equal(count_fds(), fds);
}

static void an_unknown_host_is_named(void **state)
{
    (void)state;
    struct hostport to;
    struct error err = {0};
    assert_int_equal(hostport_parse(&to, "no-such-host.invalid", 1, &err), 0);
    assert_int_equal(socket_connect(&to, 2, SOCKET_CONTROL, -1, &err), -1);
    assert_int_equal(err.code, ERROR_CONNECT);
    assert_non_null(strstr(err.text, "'no-such-host.invalid'"));
}

/* A listener with a full queue does not answer any more. */
static int full_listener(struct hostport *bound, int waiting[8])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct error err;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(hostport_parse(bound, "127.0.0.1", 1, &err), 0);
    bound->port = ntohs(address.sin_port);
    for (int i = 0; i < 8; i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(waiting[i], (struct sockaddr *)&address, length);
    }
    return fd;
}

static void connecting_gives_up_in_time_and_at_once_when_told(void **state)
{
    (void)state;
    struct hostport bound;
    struct error err = {0};
    int waiting[8], pipe_ends[2];
    int listening = full_listener(&bound, waiting);
    uint64_t start = clock_ms();
    assert_int_equal(socket_connect(&bound, 1, SOCKET_CONTROL, -1, &err), -1);
    assert_int_equal(err.code, ERROR_CONNECT);
    assert_int_equal(err.sys, ETIMEDOUT);
    assert_in_range(clock_ms() - start, 900, 20000);
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(write(pipe_ends[1], "x", 1), 1);
    start = clock_ms();
    assert_int_equal(socket_connect(&bound, 30, SOCKET_CONTROL, pipe_ends[0], &err), -1);
    assert_int_equal(err.code, ERROR_INTERRUPTED);
    assert_true(clock_ms() - start < 10000);
    for (int i = 0; i < 8; i++)
        (void)close(waiting[i]);
    (void)close(listening);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
}

static void waiting_tells_ready_from_late_and_cancelled(void **state)
{
    (void)state;
    int ends[2], cancel[2];
    socket_pair(ends, false);
    assert_int_equal(pipe(cancel), 0);
    uint64_t start = clock_ms();
    assert_int_equal(socket_wait(ends[0], POLLIN, cancel[0], 50), 0);
    assert_true(clock_ms() - start >= 49);
    assert_int_equal(socket_wait(ends[0], POLLIN, -1, 0), 0);
    assert_int_equal(socket_wait(ends[0], POLLOUT, cancel[0], -1), 1);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(socket_wait(ends[0], POLLIN, cancel[0], -1), 1);
    assert_int_equal(write(cancel[1], "x", 1), 1);
    assert_int_equal(socket_wait(ends[0], POLLIN, cancel[0], -1), 0);
    for (int i = 0; i < 2; i++) {
        (void)close(ends[i]);
        (void)close(cancel[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_set_only_where_that_gives_more),
        cmocka_unit_test(asking_for_buffers_never_gives_less),
        cmocka_unit_test(a_connection_is_blocking_tuned_and_named),
        cmocka_unit_test(a_second_listener_is_refused_with_the_address),
        cmocka_unit_test(an_unknown_host_is_named),
        cmocka_unit_test(connecting_gives_up_in_time_and_at_once_when_told),
        cmocka_unit_test(waiting_tells_ready_from_late_and_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
