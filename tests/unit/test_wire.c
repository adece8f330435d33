/* One end of a data connection: nothing is lost, reordered or kept back, however the bytes arrive. */
#include "support.h"

#include <poll.h>
#include <pthread.h>

#include "common/clock.h"
#include "common/wire.h"

struct link {
    int ends[2];
    struct wire wire; /* over ends[0] */
    int fds;
};

static void begin(struct link *link, bool tcp)
{
    link->fds = count_fds();
    socket_pair(link->ends, tcp);
    wire_init(&link->wire, link->ends[0]);
}

static void end(struct link *link)
{
    wire_release(&link->wire);
    (void)close(link->ends[0]);
    if (link->ends[1] >= 0)
        (void)close(link->ends[1]);
    assert_int_equal(count_fds(), link->fds);
}

static void send_all(int fd, const void *bytes, size_t length, size_t step)
{
    for (size_t at = 0; at < length; at += step) {
        size_t n = length - at < step ? length - at : step;
        if (send(fd, (const char *)bytes + at, n, MSG_NOSIGNAL) != (ssize_t)n)
            return;
    }
}

struct feed {
    int fd;
    const uint8_t *bytes;
    size_t length, step;
};

static void *feed_thread_main(void *context)
{
    struct feed *feed = context;
    send_all(feed->fd, feed->bytes, feed->length, feed->step);
    return NULL;
}

static bool has_bytes(int fd, int wait_ms)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    return poll(&polled, 1, wait_ms) == 1;
}

static void reads_of_any_size_give_the_bytes_in_order(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        1,  32,      24, 7,     WIRE_IN_SIZE - 1, 32, WIRE_IN_SIZE, 32, WIRE_IN_SIZE + 1,
        24, 1 << 20, 3,  65535, 100000,           1,  2000000,      32};
    static const size_t steps[] = {1000000, 1447, 65536};
    size_t total = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        total += sizes[i];
    uint8_t *sent = filled(total, 3), *got = filled(total, 4);
    for (size_t s = 0; s < 2 * COUNT_OF(steps); s++) {
        struct link link;
        struct error err;
        pthread_t thread;
        begin(&link, s % 2 == 0);
        struct feed feed = {link.ends[1], sent, total, steps[s / 2]};
        assert_int_equal(pthread_create(&thread, NULL, feed_thread_main, &feed), 0);
        size_t at = 0;
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            assert_int_equal(wire_read(&link.wire, got + at, sizes[i], &err), 0);
            at += sizes[i];
        }
        pthread_join(thread, NULL);
        assert_memory_equal(got, sent, total);
        assert_int_equal(wire_buffered(&link.wire), 0);
        end(&link);
    }
    free(sent);
    free(got);
}

static void single_bytes_make_whole_headers(void **state)
{
    (void)state;
    struct link link;
    struct error err;
    pthread_t thread;
    uint8_t headers[10 * CHUNK_HEADER_SIZE];
    for (uint32_t i = 0; i < 10; i++)
        chunk_encode(&(struct chunk){CHUNK_WANT, 0, i, i * BLOCK_SIZE, 77}, headers + i * CHUNK_HEADER_SIZE);
    begin(&link, true);
    struct feed feed = {link.ends[1], headers, sizeof headers, 1};
    assert_int_equal(pthread_create(&thread, NULL, feed_thread_main, &feed), 0);
    for (uint32_t i = 0; i < 10; i++) {
        struct chunk chunk;
        assert_int_equal(wire_read_chunk(&link.wire, &chunk, &err), 0);
        assert_int_equal(chunk.file, i);
        assert_int_equal(chunk.offset, i * BLOCK_SIZE);
        assert_int_equal(chunk.length, 77);
    }
    pthread_join(thread, NULL);
    end(&link);
}

static void what_is_put_leaves_with_the_flush(void **state)
{
    (void)state;
    struct link link;
    struct error err;
    char got[64] = "";
    begin(&link, true);
    assert_int_equal(wire_put(&link.wire, "hello ", 6, &err), 0);
    assert_int_equal(wire_put(&link.wire, "world", 5, &err), 0);
    assert_false(has_bytes(link.ends[1], 20));
    assert_int_equal(wire_flush(&link.wire, false, &err), 0);
    assert_int_equal(recv(link.ends[1], got, 11, MSG_WAITALL), 11);
    assert_string_equal(got, "hello world");
    assert_int_equal(wire_flush(&link.wire, false, &err), 0); /* nothing is sent twice */
    assert_false(has_bytes(link.ends[1], 20));
    end(&link);
}

static void a_full_batch_leaves_by_itself_and_in_order(void **state)
{
    (void)state;
    struct link link;
    struct error err;
    const size_t total = 5 * WIRE_OUT_SIZE + 17;
    uint8_t *sent = filled(total, 9), *got = filled(total, 1);
    begin(&link, false);
    int big = 4 << 20;
    assert_int_equal(setsockopt(link.ends[0], SOL_SOCKET, SO_SNDBUF, &big, sizeof big), 0);
    struct wire other;
    wire_init(&other, link.ends[1]);
    size_t put = 0, read_so_far = 0, piece = 1;
    while (put < total) {
        piece = piece * 5 % 70001 + 1;
        size_t n = total - put < piece ? total - put : piece;
        assert_int_equal(wire_put(&link.wire, sent + put, n, &err), 0);
        put += n;
        ssize_t came = recv(link.ends[1], got + read_so_far, total - read_so_far, MSG_DONTWAIT);
        read_so_far += came > 0 ? (size_t)came : 0;
    }
    assert_int_equal(wire_flush(&link.wire, false, &err), 0);
    assert_int_equal(wire_read(&other, got + read_so_far, total - read_so_far, &err), 0);
    assert_memory_equal(got, sent, total);
    wire_release(&other);
    end(&link);
    free(sent);
    free(got);
}

static void room_takes_the_largest_payload_whatever_is_before_it(void **state)
{
    (void)state;
    struct link link;
    struct error err;
    char got[10];
    begin(&link, false);
    assert_int_equal(wire_put(&link.wire, "0123456789", 10, &err), 0);
    uint8_t *room = wire_room(&link.wire, WIRE_OUT_SIZE, &err);
    assert_non_null(room);
    memset(room, 'x', WIRE_OUT_SIZE);
    wire_took(&link.wire, WIRE_OUT_SIZE);
    assert_int_equal(recv(link.ends[1], got, sizeof got, MSG_DONTWAIT), 10); /* what was before it has left */
    assert_memory_equal(got, "0123456789", 10);
    end(&link);
}

static void readable_means_a_whole_header(void **state)
{
    (void)state;
    struct link link;
    struct error err;
    struct chunk chunk;
    uint8_t header[CHUNK_HEADER_SIZE];
    chunk_encode(&(struct chunk){.type = CHUNK_ACK, .offset = 3}, header);
    begin(&link, true);
    assert_int_equal(wire_is_readable(&link.wire, 0, &err), 0);
    uint64_t start = clock_ms();
    assert_int_equal(wire_is_readable(&link.wire, 40, &err), 0);
    assert_true(clock_ms() - start >= 39);
    send_all(link.ends[1], header, 20, 20);
    assert_true(has_bytes(link.ends[0], 5000));
    assert_int_equal(wire_is_readable(&link.wire, 0, &err), 0);
    assert_int_equal(wire_buffered(&link.wire), 20);
    send_all(link.ends[1], header + 20, 12, 12);
    assert_true(has_bytes(link.ends[0], 5000));
    assert_int_equal(wire_is_readable(&link.wire, 5000, &err), 1);
    assert_int_equal(wire_read_chunk(&link.wire, &chunk, &err), 0);
    assert_int_equal(chunk.offset, 3);
    assert_int_equal(wire_is_readable(&link.wire, 0, &err), 0);
    end(&link);
}

static void looking_never_loses_what_is_behind_the_header(void **state)
{
    (void)state;
    struct link link;
    struct error err;
    uint8_t *bytes = filled(200000, 8), *got = filled(200000, 1);
    pthread_t thread;
    begin(&link, true);
    struct feed feed = {link.ends[1], bytes, 200000, 3001};
    assert_int_equal(pthread_create(&thread, NULL, feed_thread_main, &feed), 0);
    size_t at = 0, piece = 1;
    while (at < 200000) {
        piece = piece * 7 % 9001 + 1;
        size_t n = 200000 - at < piece ? 200000 - at : piece;
        assert_true(wire_is_readable(&link.wire, (int)(at % 3), &err) >= 0);
        assert_int_equal(wire_read(&link.wire, got + at, n, &err), 0);
        at += n;
    }
    pthread_join(thread, NULL);
    assert_memory_equal(got, bytes, 200000);
    free(bytes);
    free(got);
    end(&link);
}

static void a_regular_end_is_told_as_such(void **state)
{
    (void)state;
    for (int part = 0; part < 3; part++) {
        struct link link;
        struct error err = {0};
        uint8_t got[100];
        begin(&link, true);
        send_all(link.ends[1], "0123456789", part == 0 ? 0 : 10, 10);
        (void)close(link.ends[1]);
        link.ends[1] = -1;
        assert_int_equal(
            part == 2 ? wire_is_readable(&link.wire, 1000, &err) : wire_read(&link.wire, got, 100, &err), -1);
        assert_int_equal(err.code, ERROR_LOST);
        assert_string_equal(err.text, "the connection was closed");
        end(&link);
    }
}

static void a_large_read_that_is_cut_is_lost_too(void **state)
{
    (void)state;
    struct link link;
    struct error err = {0};
    uint8_t *bytes = filled(300000, 2);
    begin(&link, true);
    pthread_t thread;
    struct feed feed = {link.ends[1], bytes, 100000, 100000};
    assert_int_equal(pthread_create(&thread, NULL, feed_thread_main, &feed), 0);
    pthread_join(thread, NULL);
    assert_int_equal(shutdown(link.ends[1], SHUT_WR), 0);
    assert_int_equal(wire_read(&link.wire, bytes, 300000, &err), -1);
    assert_int_equal(err.code, ERROR_LOST);
    free(bytes);
    end(&link);
}

static void *reading_thread_main(void *context)
{
    struct link *link = context;
    struct error err;
    uint8_t got[100];
    return (void *)(intptr_t)wire_read(&link->wire, got, sizeof got, &err);
}

static void shutdown_ends_a_blocked_read(void **state)
{
    (void)state;
    struct link link;
    pthread_t thread;
    void *result;
    begin(&link, true);
    assert_int_equal(pthread_create(&thread, NULL, reading_thread_main, &link), 0);
    (void)usleep(20000);
    assert_int_equal(shutdown(link.ends[0], SHUT_RDWR), 0);
    pthread_join(thread, &result);
    assert_int_equal((intptr_t)result, -1);
    end(&link);
}

static void writing_to_a_dead_peer_is_an_error_and_no_signal(void **state)
{
    (void)state;
    struct link link;
    struct error err = {0};
    uint8_t *bytes = filled(WIRE_OUT_SIZE, 1);
    begin(&link, true);
    (void)close(link.ends[1]);
    link.ends[1] = -1;
    int result = 0;
    for (int i = 0; i < 100 && result == 0; i++)
        if ((result = wire_put(&link.wire, bytes, WIRE_OUT_SIZE, &err)) == 0)
            result = wire_flush(&link.wire, false, &err);
    assert_int_equal(result, -1);
    assert_int_equal(err.code, ERROR_LOST);
    free(bytes);
    end(&link);
}

static void a_damaged_header_is_a_violation(void **state)
{
    (void)state;
    struct link link;
    struct error err = {0};
    struct chunk chunk;
    uint8_t header[CHUNK_HEADER_SIZE];
    chunk_encode(&(struct chunk){.type = CHUNK_ACK, .offset = 3}, header);
    header[9] ^= 4;
    begin(&link, true);
    send_all(link.ends[1], header, sizeof header, sizeof header);
    assert_int_equal(wire_read_chunk(&link.wire, &chunk, &err), -1);
    assert_int_equal(err.code, ERROR_PROTOCOL);
    end(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_of_any_size_give_the_bytes_in_order),
        cmocka_unit_test(single_bytes_make_whole_headers),
        cmocka_unit_test(what_is_put_leaves_with_the_flush),
        cmocka_unit_test(a_full_batch_leaves_by_itself_and_in_order),
        cmocka_unit_test(room_takes_the_largest_payload_whatever_is_before_it),
        cmocka_unit_test(readable_means_a_whole_header),
        cmocka_unit_test(looking_never_loses_what_is_behind_the_header),
        cmocka_unit_test(a_regular_end_is_told_as_such),
        cmocka_unit_test(a_large_read_that_is_cut_is_lost_too),
        cmocka_unit_test(shutdown_ends_a_blocked_read),
        cmocka_unit_test(writing_to_a_dead_peer_is_an_error_and_no_signal),
        cmocka_unit_test(a_damaged_header_is_a_violation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
