/* What leaves for a block: exactly the announced bytes and a trailer that is true, whatever happens to the
 * file. */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>

#include "common/sender.h"
#include "common/wire.h"

/* -- sendfile with moods -- */

static atomic_int sendfile_calls, sendfile_fails_from, sendfile_errno;
static atomic_size_t sendfile_most;
static atomic_int sendfile_interrupted; /* every n-th call */

ssize_t sendfile(int to, int from, off_t *offset, size_t count)
{
    int call = ++sendfile_calls;
    if (sendfile_interrupted && call % sendfile_interrupted == 0) {
        errno = EINTR;
        return -1;
    }
    if (sendfile_fails_from && call >= sendfile_fails_from) {
        errno = sendfile_errno;
        return sendfile_errno ? -1 : 0;
    }
    size_t most = sendfile_most ? sendfile_most : count;
    return syscall(SYS_sendfile, to, from, offset, count < most ? count : most);
}

static void sendfile_is_well(void)
{
    sendfile_calls = sendfile_fails_from = sendfile_errno = sendfile_interrupted = 0;
    sendfile_most = 0;
}

/* -- a source file, a sender, and a thread that reads all that comes -- */

struct bench {
    struct scratch *scratch;
    int ends[2], fd, fds;
    struct wire wire;
    struct sender sender;
    struct file_entry entry;
    uint8_t *bytes;
    pthread_t reader;
    uint8_t *got;
    size_t got_length;
    bool reading;
};

static void *reader_thread_main(void *context)
{
    struct bench *b = context;
    size_t capacity = 0;
    for (;;) {
        if (capacity - b->got_length < (1 << 20)) {
            capacity += 8 << 20;
            b->got = realloc(b->got, capacity);
            if (!b->got)
                abort();
        }
        ssize_t n = recv(b->ends[1], b->got + b->got_length, 1 << 20, 0);
        if (n <= 0)
            return NULL;
        b->got_length += (size_t)n;
    }
}

static void start_reading(struct bench *b)
{
    b->reading = true;
    assert_int_equal(pthread_create(&b->reader, NULL, reader_thread_main, b), 0);
}

static void describe_file(struct bench *b)
{
    struct stat st;
    assert_int_equal(fstat(b->fd, &st), 0);
    b->entry = (struct file_entry){.path = (char *)"source.bin",
                                   .size = (uint64_t)st.st_size,
                                   .mtime = st.st_mtim.tv_sec,
                                   .nsec = (uint32_t)st.st_mtim.tv_nsec};
}

static void begin(struct bench *b, struct scratch *scratch, size_t size, bool tcp)
{
    memset(b, 0, sizeof *b);
    sendfile_is_well();
    b->fds = count_fds();
    b->scratch = scratch;
    b->bytes = filled(size, (uint32_t)size);
    write_file(scratch->fd, "source.bin", b->bytes, size);
    b->fd = openat(scratch->fd, "source.bin", O_RDWR | O_CLOEXEC);
    describe_file(b);
    socket_pair(b->ends, tcp);
    wire_init(&b->wire, b->ends[0]);
    sender_init(&b->sender, &b->wire);
}

/* Flushes, closes and waits until the reader has everything. */
static void stop_sending(struct bench *b)
{
    struct error err;
    assert_int_equal(wire_flush(&b->wire, false, &err), 0);
    assert_int_equal(shutdown(b->ends[0], SHUT_WR), 0);
    pthread_join(b->reader, NULL);
    b->reading = false;
}

static void end(struct bench *b)
{
    sendfile_is_well();
    if (b->reading)
        stop_sending(b);
    sender_release(&b->sender);
    wire_release(&b->wire);
    (void)close(b->ends[0]);
    if (b->ends[1] >= 0)
        (void)close(b->ends[1]);
    (void)close(b->fd);
    free(b->bytes);
    free(b->got);
    assert_int_equal(count_fds(), b->fds);
}

/* Sends one block and returns the code of the trouble with it. */
static enum error_code send_block(struct bench *b, uint64_t block, const uint8_t *known)
{
    uint8_t hash[HASH_SIZE];
    struct error trouble = {0}, err = {0};
    if (sender_block(&b->sender, b->fd, &b->entry, 5, block, known, hash, &trouble, &err) < 0)
        fail_msg("%s", err.text);
    if (trouble.code != ERROR_NONE)
        assert_non_null(strstr(trouble.text, "'source.bin'"));
    return trouble.code;
}

/* Checks header, length and trailer of a block at *at of what came; `payload` NULL: any bytes. */
static void expect_block(struct bench *b, size_t *at, uint64_t block, const uint8_t *payload,
                         enum error_code status)
{
    struct chunk chunk;
    struct error err;
    uint8_t hash[HASH_SIZE], computed[HASH_SIZE];
    enum error_code said;
    size_t length = (size_t)block_length(b->entry.size, block);
    assert_true(b->got_length - *at >= CHUNK_HEADER_SIZE + length + CHUNK_TRAILER_SIZE);
    assert_int_equal(chunk_decode(&chunk, b->got + *at, &err), 0);
    assert_int_equal(chunk.type, CHUNK_DATA);
    assert_int_equal(chunk.file, 5);
    assert_int_equal(chunk.offset, block * BLOCK_SIZE);
    assert_int_equal(chunk.length, length);
    *at += CHUNK_HEADER_SIZE;
    digest_block(b->got + *at, length, computed);
    if (payload)
        assert_true(memcmp(b->got + *at, payload, length) == 0);
    *at += length;
    assert_int_equal(chunk_trailer_decode(hash, &said, b->got + *at, &err), 0);
    assert_int_equal(said, status);
    if (status == ERROR_NONE)
        assert_memory_equal(hash, computed, HASH_SIZE);
    *at += CHUNK_TRAILER_SIZE;
}

static const size_t sizes[] = {0,      1, 65535, 65536, 65537, 1 << 20, (1 << 20) + 1, 3000000, (8 << 20) - 1,
                               8 << 20};

static void blocks_of_every_size_arrive_as_they_are(void **state)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (int known = 0; known < 2; known++) {
            struct bench b;
            uint8_t hash[HASH_SIZE];
            size_t at = 0;
            begin(&b, *state, sizes[i], (i + (size_t)known) % 2 == 0);
            digest_block(b.bytes, sizes[i], hash);
            start_reading(&b);
            assert_int_equal(send_block(&b, 0, known ? hash : NULL), ERROR_NONE);
            assert_int_equal(send_block(&b, 0, known ? NULL : hash),
                             ERROR_NONE); /* and the next starts where it should */
            stop_sending(&b);
            expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
            expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
            assert_int_equal(at, b.got_length);
            assert_int_equal(b.sender.payload_bytes, 2 * sizes[i]);
            assert_int_equal(b.sender.hashed_bytes, sizes[i]);
            assert_int_equal(b.sender.sendfile_bytes, sizes[i] > SENDER_COPY_MAX ? 2 * sizes[i] : 0);
            end(&b);
        }
}

static void any_block_of_a_file_can_be_sent(void **state)
{
    struct bench b;
    size_t at = 0;
    begin(&b, *state, 2 * BLOCK_SIZE + 70000, true);
    start_reading(&b);
    assert_int_equal(send_block(&b, 2, NULL), ERROR_NONE);
    assert_int_equal(send_block(&b, 0, NULL), ERROR_NONE);
    assert_int_equal(send_block(&b, 1, NULL), ERROR_NONE);
    stop_sending(&b);
    expect_block(&b, &at, 2, b.bytes + 2 * BLOCK_SIZE, ERROR_NONE);
    expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
    expect_block(&b, &at, 1, b.bytes + BLOCK_SIZE, ERROR_NONE);
    assert_int_equal(at, b.got_length);
    end(&b);
}

static void a_file_without_sendfile_is_read(void **state)
{
    static const int refusals[] = {EINVAL, ENOSYS, EOPNOTSUPP, EPERM};
    for (size_t r = 0; r < COUNT_OF(refusals); r++)
        for (int from = 1; from <= 3; from += 2) { /* from the first call, and after data went out */
            struct bench b;
            size_t at = 0;
            begin(&b, *state, 3000000, r % 2 == 0);
            sendfile_most = 200001;
            sendfile_fails_from = from;
            sendfile_errno = refusals[r];
            start_reading(&b);
            assert_int_equal(send_block(&b, 0, NULL), ERROR_NONE);
            int calls = sendfile_calls;
            assert_int_equal(calls, from);
            assert_int_equal(send_block(&b, 0, NULL), ERROR_NONE);
            assert_int_equal(sendfile_calls, calls); /* it is not asked again */
            stop_sending(&b);
            expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
            expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
            assert_int_equal(at, b.got_length);
            assert_int_equal(b.sender.payload_bytes, 6000000);
            assert_int_equal(b.sender.sendfile_bytes, (unsigned)(from - 1) * 200001);
            assert_int_equal(b.sender.hashed_bytes, 6000000);
            end(&b);
        }
}

static void short_and_interrupted_calls_change_nothing(void **state)
{
    static const size_t most[] = {65536, 4095, 311};
    for (size_t i = 0; i < COUNT_OF(most); i++) {
        struct bench b;
        size_t at = 0;
        begin(&b, *state, 500000, true);
        sendfile_most = most[i];
        sendfile_interrupted = 3;
        start_reading(&b);
        assert_int_equal(send_block(&b, 0, NULL), ERROR_NONE);
        stop_sending(&b);
        expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
        assert_int_equal(b.sender.payload_bytes, 500000);
        assert_int_equal(b.sender.sendfile_bytes, 500000);
        end(&b);
    }
}

/* Before each of these, the first block of the file is sent void; the second is still good. */
enum change { SHRUNK, EMPTIED, GROWN, TOUCHED, CHANGE_COUNT };

static void change_file(struct bench *b, enum change change)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1, .tv_nsec = 0}};
    switch (change) {
    case SHRUNK:
        assert_int_equal(ftruncate(b->fd, (off_t)b->entry.size / 2), 0);
        break;
    case EMPTIED:
        assert_int_equal(ftruncate(b->fd, 0), 0);
        break;
    case GROWN:
        assert_int_equal(ftruncate(b->fd, (off_t)b->entry.size + 1000), 0);
        break;
    case TOUCHED:
        assert_int_equal(futimens(b->fd, times), 0);
        break;
    case CHANGE_COUNT:
        break;
    }
}

static void a_file_that_changed_is_void_and_keeps_the_stream_in_step(void **state)
{
    static const size_t some[] = {1000, 65536, 300000, 3000000};
    for (int change = 0; change < CHANGE_COUNT; change++)
        for (size_t i = 0; i < COUNT_OF(some); i++) {
            struct bench b;
            size_t at = 0;
            begin(&b, *state, some[i], true);
            start_reading(&b);
            change_file(&b, (enum change)change);
            assert_int_equal(send_block(&b, 0, NULL), ERROR_CHANGED);
            struct file_entry before = b.entry;
            describe_file(&b);
            struct file_entry after = b.entry;
            size_t length;
            uint8_t *now = read_whole(b.scratch->fd, "source.bin", &length);
            assert_int_equal(send_block(&b, 0, NULL), ERROR_NONE);
            stop_sending(&b);
            b.entry = before;
            expect_block(&b, &at, 0, NULL, ERROR_CHANGED);
            b.entry = after;
            expect_block(&b, &at, 0, now, ERROR_NONE);
            assert_int_equal(at, b.got_length);
            free(now);
            end(&b);
        }
}

struct sending {
    struct bench *b;
    enum error_code code;
    int result;
};

static void *sending_thread_main(void *context)
{
    struct sending *sending = context;
    uint8_t hash[HASH_SIZE];
    struct error trouble = {0}, err = {0};
    sending->result = sender_block(&sending->b->sender, sending->b->fd, &sending->b->entry, 5, 0, NULL, hash,
                                   &trouble, &err);
    sending->code = trouble.code;
    return NULL;
}

static void a_file_that_shrinks_or_grows_under_way_is_void_too(void **state)
{
    for (int change = 0; change < CHANGE_COUNT; change++) {
        struct bench b;
        struct sending sending = {.b = &b};
        pthread_t thread;
        size_t at = 0;
        begin(&b, *state, 8 << 20, false);
        b.got = malloc(16 << 20);
        assert_non_null(b.got);
        assert_int_equal(pthread_create(&thread, NULL, sending_thread_main, &sending), 0);
        assert_int_equal(recv(b.ends[1], b.got, 100000, MSG_WAITALL), 100000);
        change_file(&b, (enum change)change); /* the sender stands before a full socket */
        const size_t rest = CHUNK_HEADER_SIZE + (8 << 20) - 100000;
        assert_int_equal(recv(b.ends[1], b.got + 100000, rest, MSG_WAITALL), (int)rest);
        pthread_join(thread, NULL);
        assert_int_equal(sending.result, 0);
        assert_int_equal(sending.code, ERROR_CHANGED);
        struct error err;
        assert_int_equal(wire_flush(&b.wire, false, &err), 0);
        assert_int_equal(recv(b.ends[1], b.got + 100000 + rest, 100, 0), CHUNK_TRAILER_SIZE);
        b.got_length = 100000 + rest + CHUNK_TRAILER_SIZE;
        expect_block(&b, &at, 0, NULL, ERROR_CHANGED);
        assert_int_equal(at, b.got_length);
        end(&b);
    }
}

static void bytes_that_change_under_a_kept_hash_do_not_match_it(void **state)
{
    struct bench b;
    uint8_t known[HASH_SIZE], computed[HASH_SIZE];
    begin(&b, *state, 100000, true);
    digest_block(b.bytes, 100000, known);
    assert_int_equal(pwrite(b.fd, "changed", 7, 50000), 7);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = b.entry.mtime, .tv_nsec = (long)b.entry.nsec}};
    assert_int_equal(futimens(b.fd, times), 0);
    start_reading(&b);
    assert_int_equal(send_block(&b, 0, known), ERROR_NONE);
    stop_sending(&b);
    digest_block(b.got + CHUNK_HEADER_SIZE, 100000, computed);
    assert_memory_equal(b.got + CHUNK_HEADER_SIZE + 100000, known, HASH_SIZE); /* so the receiver sees it */
    assert_memory_not_equal(computed, known, HASH_SIZE);
    end(&b);
}

static void a_file_that_cannot_be_read_is_void(void **state)
{
    static const size_t some[] = {0, 1000, 300000};
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        struct bench b;
        size_t at = 0;
        begin(&b, *state, some[i], true);
        start_reading(&b);
        int good = b.fd;
        b.fd = openat(b.scratch->fd, "source.bin", O_WRONLY);
        assert_int_equal(send_block(&b, 0, NULL), some[i] ? ERROR_FILE : ERROR_NONE);
        (void)close(b.fd);
        b.fd = good;
        assert_int_equal(send_block(&b, 0, NULL), ERROR_NONE);
        stop_sending(&b);
        expect_block(&b, &at, 0, NULL, some[i] ? ERROR_FILE : ERROR_NONE);
        expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
        assert_int_equal(at, b.got_length);
        end(&b);
    }
}

static void an_error_of_the_disk_in_the_middle_is_void(void **state)
{
    static const int errors[] = {EIO, 0};
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        struct bench b;
        size_t at = 0;
        begin(&b, *state, 3000000, true);
        sendfile_most = 500000;
        sendfile_fails_from = 4;
        sendfile_errno = errors[i];
        start_reading(&b);
        assert_int_equal(send_block(&b, 0, NULL), errors[i] ? ERROR_FILE : ERROR_CHANGED);
        sendfile_is_well();
        assert_int_equal(send_block(&b, 0, NULL), ERROR_NONE);
        assert_int_equal(b.sender.payload_bytes, 6000000);
        stop_sending(&b);
        expect_block(&b, &at, 0, NULL, errors[i] ? ERROR_FILE : ERROR_CHANGED);
        expect_block(&b, &at, 0, b.bytes, ERROR_NONE);
        end(&b);
    }
}

static void a_file_that_could_not_be_opened_is_void_with_its_reason(void **state)
{
    static const size_t some[] = {0, 1000, 300000};
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        struct bench b;
        size_t at = 0;
        uint8_t hash[HASH_SIZE];
        struct error trouble, err;
        begin(&b, *state, some[i], true);
        start_reading(&b);
        error_set(&trouble, ERROR_NO_SPACE, "the reason");
        assert_int_equal(sender_block(&b.sender, -1, &b.entry, 5, 0, NULL, hash, &trouble, &err), 0);
        assert_string_equal(trouble.text, "the reason");
        stop_sending(&b);
        expect_block(&b, &at, 0, NULL, ERROR_NO_SPACE);
        assert_int_equal(at, b.got_length);
        end(&b);
    }
}

static void a_dead_connection_is_lost(void **state)
{
    static const size_t some[] = {1000, 300000};
    for (size_t i = 0; i < COUNT_OF(some); i++)
        for (int refuses = 0; refuses < 2; refuses++) {
            struct bench b;
            uint8_t hash[HASH_SIZE];
            struct error trouble = {0}, err = {0};
            begin(&b, *state, some[i], true);
            if (refuses) {
                sendfile_fails_from = 1;
                sendfile_errno = EINVAL;
            }
            (void)close(b.ends[1]);
            b.ends[1] = -1;
            int result = 0;
            for (int n = 0; n < 1000 && result == 0; n++)
                result = sender_block(&b.sender, b.fd, &b.entry, 5, 0, NULL, hash, &trouble, &err);
            assert_int_equal(result, -1);
            assert_int_equal(err.code, ERROR_LOST);
            assert_int_equal(trouble.code, ERROR_NONE); /* the file is not to blame */
            end(&b);
        }
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* sendfile takes no MSG_NOSIGNAL; both programs do this */
    const struct CMUnitTest tests[] = {
        scratch_test(blocks_of_every_size_arrive_as_they_are),
        scratch_test(any_block_of_a_file_can_be_sent),
        scratch_test(a_file_without_sendfile_is_read),
        scratch_test(short_and_interrupted_calls_change_nothing),
        scratch_test(a_file_that_changed_is_void_and_keeps_the_stream_in_step),
        scratch_test(a_file_that_shrinks_or_grows_under_way_is_void_too),
        scratch_test(bytes_that_change_under_a_kept_hash_do_not_match_it),
        scratch_test(a_file_that_cannot_be_read_is_void),
        scratch_test(an_error_of_the_disk_in_the_middle_is_void),
        scratch_test(a_file_that_could_not_be_opened_is_void_with_its_reason),
        scratch_test(a_dead_connection_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
