/* What arrives for a block: stored only when its hash has matched, and whatever it was, the next header is
 * found where it should be. */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "common/receiver.h"
#include "common/sender.h"
#include "common/staging_tree.h"

/* -- a disk that fills up -- */

static atomic_int pwrite_calls, pwrite_fails_from, pwrite_errno;
static atomic_size_t pwrite_most;

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    int call = ++pwrite_calls;
    if (pwrite_fails_from && call >= pwrite_fails_from) {
        errno = pwrite_errno;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, pwrite_most && pwrite_most < length ? pwrite_most : length,
                   offset);
}

static void disk_is_well(void)
{
    pwrite_calls = pwrite_fails_from = pwrite_errno = 0;
    pwrite_most = 0;
}

/* -- a staging, a receiver, and a thread that feeds it bytes -- */

#define FILES 10

static const uint64_t sizes[FILES] = {
    0, 1, 65535, 65536, 65537, 1 << 20, (1 << 20) + 1, (8 << 20) - 1, 8 << 20, 2 * (8 << 20) + 333,
};

struct bench {
    int ends[2], fds;
    struct wire wire;
    struct receiver receiver;
    struct listing plan;
    struct staging *staging;
    uint8_t *bytes[FILES];
    pthread_t feeder;
    uint8_t *fed;
    size_t fed_length, fed_capacity, step;
};

static void begin(struct bench *b, struct scratch *scratch, enum io_mode io, bool tcp)
{
    static const char *const names[FILES] = {"a", "b", "c", "d", "e", "sub/f", "sub/g", "h", "i", "j"};
    struct journal_state none = {0};
    struct error err = {0};
    struct staging_options options = {.io = io};
    memset(b, 0, sizeof *b);
    disk_is_well();
    b->fds = count_fds();
    for (uint32_t i = 0; i < FILES; i++) {
        plan_add(&b->plan, names[i], sizes[i], FROM_SEND);
        b->bytes[i] = filled((size_t)sizes[i], i + 100);
    }
    (void)path_remove_tree(scratch->fd, "s");
    int folder = make_dir(scratch->fd, "s");
    if (staging_create(&b->staging, folder, &b->plan, &none, &options, &err) < 0 ||
        staging_start(b->staging, &err) < 0)
        fail_msg("%s", err.text);
    socket_pair(b->ends, tcp);
    wire_init(&b->wire, b->ends[0]);
    receiver_init(&b->receiver, &b->wire, b->staging);
    b->step = 1 << 20;
}

static void end(struct bench *b)
{
    disk_is_well();
    receiver_release(&b->receiver);
    wire_release(&b->wire);
    staging_destroy(&b->staging);
    (void)close(b->ends[0]);
    (void)close(b->ends[1]);
    for (size_t i = 0; i < FILES; i++)
        free(b->bytes[i]);
    free(b->fed);
    listing_release(&b->plan);
    assert_int_equal(count_fds(), b->fds);
}

static void add(struct bench *b, const void *bytes, size_t length)
{
    if (b->fed_length + length > b->fed_capacity) {
        b->fed_capacity = 2 * (b->fed_length + length);
        b->fed = realloc(b->fed, b->fed_capacity);
        assert_non_null(b->fed);
    }
    memcpy(b->fed + b->fed_length, bytes, length);
    b->fed_length += length;
}

static uint8_t *payload_of(struct bench *b, uint32_t file, uint64_t block, size_t *length)
{
    *length = (size_t)block_length(sizes[file], block);
    return b->bytes[file] + block * BLOCK_SIZE;
}

static void add_header(struct bench *b, uint32_t file, uint64_t block)
{
    uint8_t header[CHUNK_HEADER_SIZE];
    struct chunk chunk = {.type = CHUNK_DATA,
                          .file = file,
                          .offset = block * BLOCK_SIZE,
                          .length = block_length(sizes[file], block)};
    chunk_encode(&chunk, header);
    add(b, header, sizeof header);
}

/* A block as the protocol has it; with `spoil`, a byte of the payload (or of the hash of an empty one) is
 * wrong. */
static void add_block(struct bench *b, uint32_t file, uint64_t block, enum error_code status, bool spoil)
{
    size_t length;
    uint8_t *payload = payload_of(b, file, block, &length), hash[HASH_SIZE], trailer[CHUNK_TRAILER_SIZE];
    digest_block(payload, length, hash);
    add_header(b, file, block);
    add(b, payload, length);
    if (spoil && length > 0)
        b->fed[b->fed_length - 1 - length / 2] ^= 0x10;
    else if (spoil)
        hash[0] ^= 1;
    chunk_trailer_encode(hash, status, trailer);
    add(b, trailer, sizeof trailer);
}

static void *feeder_thread_main(void *context)
{
    struct bench *b = context;
    for (size_t at = 0, n; at < b->fed_length; at += n) {
        n = b->fed_length - at < b->step ? b->fed_length - at : b->step;
        ssize_t sent = send(b->ends[1], b->fed + at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return NULL;
        n = (size_t)sent;
    }
    return NULL;
}

static void feed(struct bench *b)
{
    assert_int_equal(pthread_create(&b->feeder, NULL, feeder_thread_main, b), 0);
}

static void fed(struct bench *b)
{
    pthread_join(b->feeder, NULL);
    b->fed_length = 0;
}

static int receive_one(struct bench *b, enum receiver_answer *answer, struct error *trouble,
                       struct error *err)
{
    struct chunk chunk;
    uint8_t hash[HASH_SIZE];
    memset(trouble, 0, sizeof *trouble);
    if (wire_read_chunk(&b->wire, &chunk, err) < 0)
        return -1;
    assert_true(chunk_is_block_of(&chunk, sizes[chunk.file]));
    return receiver_block(&b->receiver, &chunk, answer, hash, trouble, err);
}

struct answering {
    struct bench *b;
    enum receiver_answer answer;
    int result;
};

static void *answering_thread_main(void *context)
{
    struct answering *answering = context;
    struct error trouble, err;
    answering->result = receive_one(answering->b, &answering->answer, &trouble, &err);
    return NULL;
}

static void expect(struct bench *b, enum receiver_answer wanted)
{
    enum receiver_answer answer;
    struct error trouble, err = {0};
    if (receive_one(b, &answer, &trouble, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(answer, wanted);
}

static void expect_trouble(struct bench *b, enum receiver_answer wanted, enum error_code code)
{
    enum receiver_answer answer;
    struct error trouble, err = {0};
    if (receive_one(b, &answer, &trouble, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(answer, wanted);
    assert_int_equal(trouble.code, code);
}

static void expect_file(struct bench *b, uint32_t file)
{
    assert_true(
        file_equals(staging_tree(b->staging), b->plan.files[file].path, b->bytes[file], (size_t)sizes[file]));
}

static void blocks_of_every_size_are_stored(void **state)
{
    for (int io = IO_AUTO; io <= IO_DIRECT; io++)
        for (int tcp = io == IO_AUTO; tcp < 2; tcp++) {
            static struct bench b;
            struct error err;
            uint64_t total = 0;
            begin(&b, *state, (enum io_mode)io, tcp != 0);
            for (uint32_t f = FILES; f-- > 0;)
                for (uint64_t n = block_count(sizes[f]); n-- > 0;)
                    add_block(&b, f, n, ERROR_NONE, false);
            feed(&b);
            for (uint32_t f = FILES; f-- > 0;)
                for (uint64_t n = block_count(sizes[f]); n-- > 0;) {
                    expect(&b, RECEIVER_STORED);
                    assert_true(staging_has(b.staging, f, n));
                    total += block_length(sizes[f], n);
                }
            fed(&b);
            assert_true(staging_is_complete(b.staging));
            assert_int_equal(staging_finish(b.staging, &err), 0);
            for (uint32_t f = 0; f < FILES; f++)
                expect_file(&b, f);
            assert_int_equal(b.receiver.payload_bytes, total);
            assert_int_equal(b.receiver.hashed_bytes, total);
            end(&b);
        }
}

static void a_block_that_does_not_match_is_refused_and_the_next_one_taken(void **state)
{
    for (int io = IO_BUFFERED; io <= IO_DIRECT; io++) {
        static struct bench b;
        begin(&b, *state, (enum io_mode)io, true);
        for (uint32_t f = 0; f < FILES; f++) {
            add_block(&b, f, 0, ERROR_NONE, true);
            add_block(&b, f, 0, ERROR_NONE, true);
            add_block(&b, f, 0, ERROR_NONE, false);
        }
        feed(&b);
        for (uint32_t f = 0; f < FILES; f++) {
            expect(&b, RECEIVER_BAD);
            assert_false(staging_has(b.staging, f, 0));
            expect(&b, RECEIVER_BAD);
            assert_false(is_there(staging_tree(b.staging), b.plan.files[f].path));
            expect(&b, RECEIVER_STORED);
            if (block_count(sizes[f]) == 1)
                expect_file(&b, f);
        }
        fed(&b);
        end(&b);
    }
}

static void a_void_block_is_discarded(void **state)
{
    static struct bench b;
    begin(&b, *state, IO_AUTO, true);
    for (uint32_t f = 0; f < FILES; f++) {
        add_block(&b, f, 0, ERROR_CHANGED, false); /* with a hash that fits */
        add_block(&b, f, 0, ERROR_FILE, true);
        add_block(&b, f, 0, (enum error_code)4711, false);
        add_block(&b, f, 0, ERROR_NONE, false);
    }
    feed(&b);
    for (uint32_t f = 0; f < FILES; f++) {
        expect_trouble(&b, RECEIVER_VOID, ERROR_CHANGED);
        assert_false(staging_has(b.staging, f, 0));
        expect_trouble(&b, RECEIVER_VOID, ERROR_FILE);
        expect_trouble(&b, RECEIVER_VOID, ERROR_FAILED);
        assert_false(staging_has(b.staging, f, 0));
        expect(&b, RECEIVER_STORED);
    }
    fed(&b);
    end(&b);
}

static void further_copies_are_discarded(void **state)
{
    static struct bench b;
    begin(&b, *state, IO_AUTO, true);
    for (uint32_t f = 0; f < FILES - 1; f++) {
        add_block(&b, f, 0, ERROR_NONE, false);
        add_block(&b, f, 0, ERROR_NONE, false);
        add_block(&b, f, 0, ERROR_NONE, true);
        add_block(&b, f, 0, ERROR_CHANGED, true);
    }
    feed(&b);
    for (uint32_t f = 0; f < FILES - 1; f++) {
        expect(&b, RECEIVER_STORED);
        expect(&b, RECEIVER_STORED);
        expect(&b, RECEIVER_BAD); /* it is told so, and the first good copy counts */
        expect(&b, RECEIVER_VOID);
        expect_file(&b, f);
    }
    fed(&b);
    end(&b);
}

static void a_trailer_that_breaks_the_protocol_ends_the_connection_and_frees_the_block(void **state)
{
    static struct bench b;
    enum receiver_answer answer;
    struct error trouble, err = {0};
    begin(&b, *state, IO_AUTO, true);
    add_block(&b, 4, 0, ERROR_NONE, false);
    b.fed[b.fed_length - 1] = 1;
    add_block(&b, 4, 0, ERROR_NONE, false);
    feed(&b);
    assert_int_equal(receive_one(&b, &answer, &trouble, &err), -1);
    assert_int_equal(err.code, ERROR_PROTOCOL);
    assert_false(staging_has(b.staging, 4, 0));
    expect(&b, RECEIVER_STORED);
    fed(&b);
    expect_file(&b, 4);
    end(&b);
}

static void a_connection_cut_anywhere_frees_the_block_for_another(void **state)
{
    static const size_t cuts[] = {
        0, 1, 31, 32, 33, 1000, 65535 + 32, 65537 + 32, 65537 + 32 + 1, 65537 + 32 + 23};
    static struct bench b;
    begin(&b, *state, IO_AUTO, true);
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        enum receiver_answer answer;
        struct error trouble, err = {0};
        struct bench other = b;
        socket_pair(other.ends, true);
        wire_init(&other.wire, other.ends[0]);
        other.fed = NULL;
        other.fed_capacity = other.fed_length = 0;
        receiver_init(&other.receiver, &other.wire, b.staging);
        add_block(&other, 4, 0, ERROR_NONE, false);
        other.fed_length = cuts[i];
        feed(&other);
        fed(&other);
        assert_int_equal(shutdown(other.ends[1], SHUT_WR), 0);
        assert_int_equal(receive_one(&other, &answer, &trouble, &err), -1);
        assert_int_equal(err.code, ERROR_LOST);
        assert_false(staging_has(b.staging, 4, 0));
        receiver_release(&other.receiver);
        wire_release(&other.wire);
        (void)close(other.ends[0]);
        (void)close(other.ends[1]);
        free(other.fed);
    }
    add_block(&b, 4, 0, ERROR_NONE, false);
    feed(&b);
    expect(&b, RECEIVER_STORED);
    fed(&b);
    expect_file(&b, 4);
    end(&b);
}

/* A stream stalls in the middle of a block, and another moves it once more. */
static void who_is_through_first_stores_the_block_and_the_other_is_answered_truly(void **state)
{
    static const bool spoilt[] = {false, true};
    for (size_t i = 0; i < COUNT_OF(spoilt); i++)
        for (int io = IO_BUFFERED; io <= IO_DIRECT; io++) {
            static struct bench b, other;
            pthread_t stalled;
            const size_t part = 3 << 20;
            begin(&b, *state, (enum io_mode)io, true);
            other = b;
            socket_pair(other.ends, true);
            wire_init(&other.wire, other.ends[0]);
            receiver_init(&other.receiver, &other.wire, b.staging);
            add_block(&b, 8, 0, ERROR_NONE, spoilt[i]);
            add_block(&other, 8, 0, ERROR_NONE, false);
            size_t whole = b.fed_length;
            b.fed_length = part;
            struct answering answering = {.b = &b};
            feed(&b);
            assert_int_equal(pthread_create(&stalled, NULL, answering_thread_main, &answering), 0);
            pthread_join(b.feeder, NULL);
            while (b.receiver.payload_bytes < (2 << 20))
                (void)usleep(1000); /* now it is inside, and has claimed the block where it writes at once */
            feed(&other);
            expect(&other, RECEIVER_STORED);
            fed(&other);
            expect_file(&b, 8);
            memmove(b.fed, b.fed + part, whole - part);
            b.fed_length = whole - part;
            feed(&b);
            fed(&b);
            pthread_join(stalled, NULL);
            assert_int_equal(answering.result, 0);
            assert_int_equal(answering.answer, spoilt[i] ? RECEIVER_BAD : RECEIVER_STORED);
            expect_file(&b, 8);
            receiver_release(&other.receiver);
            wire_release(&other.wire);
            (void)close(other.ends[0]);
            (void)close(other.ends[1]);
            free(other.fed);
            end(&b);
        }
}

static void single_bytes_make_a_block(void **state)
{
    static struct bench b;
    begin(&b, *state, IO_AUTO, true);
    add_block(&b, 0, 0, ERROR_NONE, false);
    add_block(&b, 1, 0, ERROR_NONE, false);
    add_block(&b, 4, 0, ERROR_NONE, false);
    b.step = 1;
    feed(&b);
    expect(&b, RECEIVER_STORED);
    expect(&b, RECEIVER_STORED);
    expect(&b, RECEIVER_STORED);
    fed(&b);
    expect_file(&b, 0);
    expect_file(&b, 1);
    expect_file(&b, 4);
    end(&b);
}

static void a_full_disk_fails_the_block_and_keeps_the_stream_in_step(void **state)
{
    for (int io = IO_BUFFERED; io <= IO_DIRECT; io++)
        for (int from = 1; from < 4; from++) {
            static struct bench b;
            begin(&b, *state, (enum io_mode)io, true);
            add_block(&b, 7, 0, ERROR_NONE, false);
            add_block(&b, 2, 0, ERROR_NONE, false);
            pwrite_fails_from = io == IO_DIRECT ? 1 : from;
            pwrite_errno = ENOSPC;
            feed(&b);
            expect_trouble(&b, RECEIVER_FAILED, ERROR_NO_SPACE);
            assert_false(staging_has(b.staging, 7, 0));
            disk_is_well();
            expect(&b, RECEIVER_STORED);
            fed(&b);
            expect_file(&b, 2);
            end(&b);
        }
}

static void short_writes_change_nothing(void **state)
{
    for (int io = IO_BUFFERED; io <= IO_DIRECT; io++) {
        static struct bench b;
        begin(&b, *state, (enum io_mode)io, true);
        pwrite_most = 4096 * 3;
        add_block(&b, 6, 0, ERROR_NONE, false);
        feed(&b);
        expect(&b, RECEIVER_STORED);
        fed(&b);
        expect_file(&b, 6);
        end(&b);
    }
}

static void a_file_that_cannot_be_made_is_read_past(void **state)
{
    static struct bench b;
    begin(&b, *state, IO_AUTO, true);
    write_file(staging_tree(b.staging), "sub", "in the way", 10);
    add_block(&b, 5, 0, ERROR_NONE, false);
    add_block(&b, 6, 0, ERROR_NONE, true);
    add_block(&b, 3, 0, ERROR_NONE, false);
    feed(&b);
    expect_trouble(&b, RECEIVER_FAILED, ERROR_FILE);
    expect_trouble(&b, RECEIVER_FAILED, ERROR_FILE);
    expect(&b, RECEIVER_STORED);
    fed(&b);
    expect_file(&b, 3);
    end(&b);
}

/* -- both ends -- */

struct pushing {
    struct bench *b;
    int sources; /* folder */
    atomic_int wrong;
};

static void *pushing_thread_main(void *context)
{
    struct pushing *p = context;
    struct wire wire;
    struct sender sender;
    struct error err;
    wire_init(&wire, p->b->ends[1]);
    sender_init(&sender, &wire);
    for (uint32_t f = 0; f < FILES; f++) {
        char name[8];
        struct stat st;
        (void)snprintf(name, sizeof name, "%u", f);
        int fd = openat(p->sources, name, O_RDONLY | O_CLOEXEC);
        struct file_entry entry = p->b->plan.files[f];
        if (fstat(fd, &st) < 0)
            p->wrong++;
        entry.mtime = st.st_mtim.tv_sec;
        entry.nsec = (uint32_t)st.st_mtim.tv_nsec;
        for (uint64_t n = 0; n < block_count(entry.size); n++) {
            struct error trouble = {0};
            uint8_t hash[HASH_SIZE];
            if (sender_block(&sender, fd, &entry, f, n, NULL, hash, &trouble, &err) < 0)
                p->wrong++;
            if (trouble.code != (f == 6 ? ERROR_CHANGED : ERROR_NONE))
                p->wrong++;
        }
        (void)close(fd);
    }
    if (wire_flush(&wire, false, &err) < 0)
        p->wrong++;
    sender_release(&sender);
    wire_release(&wire);
    return NULL;
}

static void what_a_sender_sends_a_receiver_takes(void **state)
{
    struct scratch *scratch = *state;
    for (int tcp = 0; tcp < 2; tcp++) {
        static struct bench b;
        static struct pushing p;
        pthread_t thread;
        begin(&b, scratch, IO_AUTO, tcp != 0);
        p = (struct pushing){.b = &b, .sources = make_dir(scratch->fd, tcp ? "sources1" : "sources0")};
        for (uint32_t f = 0; f < FILES; f++) {
            char name[8];
            (void)snprintf(name, sizeof name, "%u", f);
            write_file(p.sources, name, b.bytes[f],
                       (size_t)sizes[f] - (f == 6)); /* one is a byte too short */
        }
        assert_int_equal(pthread_create(&thread, NULL, pushing_thread_main, &p), 0);
        for (uint32_t f = 0; f < FILES; f++)
            for (uint64_t n = 0; n < block_count(sizes[f]); n++)
                expect(&b, f == 6 ? RECEIVER_VOID : RECEIVER_STORED);
        pthread_join(thread, NULL);
        assert_int_equal(p.wrong, 0);
        for (uint32_t f = 0; f < FILES; f++)
            if (f != 6)
                expect_file(&b, f);
        assert_false(is_there(staging_tree(b.staging), "sub/g"));
        assert_false(staging_is_complete(b.staging));
        (void)close(p.sources);
        end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(blocks_of_every_size_are_stored),
        scratch_test(a_block_that_does_not_match_is_refused_and_the_next_one_taken),
        scratch_test(a_void_block_is_discarded),
        scratch_test(further_copies_are_discarded),
        scratch_test(a_trailer_that_breaks_the_protocol_ends_the_connection_and_frees_the_block),
        scratch_test(a_connection_cut_anywhere_frees_the_block_for_another),
        scratch_test(who_is_through_first_stores_the_block_and_the_other_is_answered_truly),
        scratch_test(single_bytes_make_a_block),
        scratch_test(a_full_disk_fails_the_block_and_keeps_the_stream_in_step),
        scratch_test(short_writes_change_nothing),
        scratch_test(a_file_that_cannot_be_made_is_read_past),
        scratch_test(what_a_sender_sends_a_receiver_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
