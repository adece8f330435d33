/* The journal: what is written comes back; what is torn or damaged comes back as a former state, never as
 * another one. */
#include "support.h"

#include "common/journal.h"
#include "proto/bytes.h"

#define FILES 3

static const char odd_name[] = "sub/\xff\xfe name";

/* Three files: one complete, one with a hole, one that is empty of blocks; and an empty one. */
static void write_sample(int folder)
{
    struct journal *journal = NULL;
    struct error err = {0};
    uint8_t *hashes = filled(10 * HASH_SIZE, 1);
    struct file_entry whole = {
        .path = (char *)"a/whole.bin", .size = 2 * BLOCK_SIZE + 5, .mtime = -7, .nsec = 999999999};
    struct file_entry holes = {
        .path = (char *)odd_name, .size = 9 * BLOCK_SIZE, .mtime = 1700000000, .source = 1};
    struct file_entry empty = {.path = (char *)"empty", .size = 0};
    whole.source = LIMIT_SIZE;
    assert_int_equal(journal_create(&journal, folder, &err), 0);
    assert_int_equal(journal_file(journal, 0, &whole, "a/.whole.bin.0011", &err), 0);
    assert_int_equal(journal_blocks(journal, 0, 1, hashes + HASH_SIZE, 2, &err), 0);
    assert_int_equal(journal_file(journal, 1, &holes, "sub/.tmp", &err), 0);
    assert_int_equal(journal_blocks(journal, 1, 7, hashes + 7 * HASH_SIZE, 1, &err), 0);
    assert_int_equal(journal_blocks(journal, 0, 0, hashes, 1, &err), 0);
    assert_int_equal(journal_done(journal, 0, &err), 0);
    assert_int_equal(journal_blocks(journal, 1, 2, hashes + 2 * HASH_SIZE, 3, &err), 0);
    assert_int_equal(journal_file(journal, 2, &empty, NULL, &err), 0);
    assert_int_equal(journal_blocks(journal, 2, 0, hashes + 9 * HASH_SIZE, 1, &err), 0);
    assert_int_equal(journal_done(journal, 2, &err), 0);
    assert_int_equal(journal_commit(journal, &err), 0);
    journal_destroy(&journal);
    assert_null(journal);
    free(hashes);
}

static void what_is_written_comes_back(void **state)
{
    struct scratch *scratch = *state;
    struct journal_state got;
    uint8_t *hashes = filled(10 * HASH_SIZE, 1);
    int before = count_fds();
    write_sample(scratch->fd);
    journal_load(&got, scratch->fd);
    assert_int_equal(count_fds(), before);
    assert_int_equal(got.count, FILES);
    assert_string_equal(got.files[0].entry.path, "a/whole.bin");
    assert_string_equal(got.files[0].temporary, "a/.whole.bin.0011");
    assert_int_equal(got.files[0].entry.size, 2 * BLOCK_SIZE + 5);
    assert_int_equal(got.files[0].entry.mtime, -7);
    assert_int_equal(got.files[0].entry.nsec, 999999999);
    assert_int_equal(got.files[0].entry.source, LIMIT_SIZE);
    assert_true(got.files[0].complete);
    assert_int_equal(got.files[0].blocks, 3);
    assert_memory_equal(got.files[0].hashes, hashes, 3 * HASH_SIZE);
    assert_memory_equal(got.files[0].present, "\1\1\1", 3);
    assert_string_equal(got.files[1].entry.path, odd_name);
    assert_false(got.files[1].complete);
    assert_int_equal(got.files[1].blocks, 8);
    assert_memory_equal(got.files[1].present, "\0\0\1\1\1\0\0\1", 8);
    assert_memory_equal(got.files[1].hashes + 2 * HASH_SIZE, hashes + 2 * HASH_SIZE, 3 * HASH_SIZE);
    assert_memory_equal(got.files[1].hashes + 7 * HASH_SIZE, hashes + 7 * HASH_SIZE, HASH_SIZE);
    assert_null(got.files[2].temporary);
    assert_true(got.files[2].complete);
    assert_int_equal(got.files[2].blocks, 1);
    journal_state_release(&got);
    assert_int_equal(got.count, 0);
    free(hashes);
}

static bool same_file(const struct journal_file *a, const struct journal_file *b)
{
    return strcmp(a->entry.path, b->entry.path) == 0 && a->entry.size == b->entry.size &&
           a->entry.mtime == b->entry.mtime && a->entry.nsec == b->entry.nsec &&
           a->entry.source == b->entry.source && (!a->temporary) == (!b->temporary) &&
           (!a->temporary || strcmp(a->temporary, b->temporary) == 0);
}

/* Whether everything that `part` says is also said by `whole`. */
static bool is_contained(const struct journal_state *part, const struct journal_state *whole)
{
    if (part->count > whole->count)
        return false;
    for (size_t i = 0; i < part->count; i++) {
        const struct journal_file *p = &part->files[i], *w = &whole->files[i];
        if (!same_file(p, w) || (p->complete && !w->complete) || p->blocks > w->blocks)
            return false;
        for (uint64_t b = 0; b < p->blocks; b++)
            if (p->present[b] && (!w->present[b] || memcmp(p->hashes + b * HASH_SIZE,
                                                           w->hashes + b * HASH_SIZE, HASH_SIZE) != 0))
                return false;
    }
    return true;
}

static size_t count_said(const struct journal_state *state)
{
    size_t said = state->count;
    for (size_t i = 0; i < state->count; i++) {
        said += state->files[i].complete;
        for (uint64_t b = 0; b < state->files[i].blocks; b++)
            said += state->files[i].present[b];
    }
    return said;
}

/* The ends of the records, from the format's description. */
static size_t record_ends(const uint8_t *bytes, size_t length, size_t ends[32])
{
    size_t count = 0, at = 16;
    ends[count++] = at;
    while (at < length) {
        at += 8 + get_le(bytes + at, 4) + 8;
        ends[count++] = at;
    }
    assert_int_equal(at, length);
    return count;
}

static void a_torn_tail_at_any_byte_gives_the_state_before_the_torn_record(void **state)
{
    struct scratch *scratch = *state;
    struct journal_state whole, torn, before;
    size_t length, ends[32];
    write_sample(scratch->fd);
    uint8_t *bytes = read_whole(scratch->fd, JOURNAL_NAME, &length);
    assert_non_null(bytes);
    size_t records = record_ends(bytes, length, ends), said = 0;
    assert_int_equal(records, 11);
    journal_parse(&whole, bytes, length);
    for (size_t cut = 0; cut <= length; cut++) {
        size_t last = 0;
        for (size_t i = 0; i < records; i++)
            if (ends[i] <= cut)
                last = ends[i];
        /* A copy of exact length, so that a sanitizer sees a byte read too many. */
        uint8_t *copy = malloc(cut + !cut);
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        journal_parse(&torn, copy, cut);
        journal_parse(&before, bytes, last);
        assert_true(is_contained(&torn, &before) && is_contained(&before, &torn));
        assert_true(is_contained(&torn, &whole));
        assert_true(count_said(&torn) >= said); /* and it grows with what is there */
        said = count_said(&torn);
        journal_state_release(&torn);
        journal_state_release(&before);
        free(copy);
    }
    assert_int_equal(said, count_said(&whole));
    journal_state_release(&whole);
    free(bytes);
}

static void a_flipped_byte_anywhere_ends_what_is_read_there(void **state)
{
    struct scratch *scratch = *state;
    struct journal_state whole, got;
    size_t length, ends[32];
    write_sample(scratch->fd);
    uint8_t *bytes = read_whole(scratch->fd, JOURNAL_NAME, &length);
    assert_non_null(bytes);
    size_t records = record_ends(bytes, length, ends);
    journal_parse(&whole, bytes, length);
    static const uint8_t masks[] = {0x01, 0x80, 0xff};
    for (size_t at = 0; at < length; at++)
        for (size_t m = 0; m < COUNT_OF(masks); m++) {
            struct journal_state before = {0};
            size_t last = 0;
            for (size_t i = 0; i < records; i++)
                if (ends[i] <= at)
                    last = ends[i];
            bytes[at] ^= masks[m];
            journal_parse(&got, bytes, length);
            bytes[at] ^= masks[m];
            journal_parse(&before, bytes, last);
            assert_true(is_contained(&got, &before) && is_contained(&before, &got));
            journal_state_release(&got);
            journal_state_release(&before);
        }
    journal_state_release(&whole);
    free(bytes);
}

static void a_missing_or_foreign_or_empty_journal_is_an_empty_state(void **state)
{
    struct scratch *scratch = *state;
    struct journal_state got;
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 0);
    write_file(scratch->fd, JOURNAL_NAME, "", 0);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 0);
    write_file(scratch->fd, JOURNAL_NAME, "mstore-journal-2 and more", 25);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 0);
    assert_int_equal(unlinkat(scratch->fd, JOURNAL_NAME, 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", scratch->fd, JOURNAL_NAME), 0);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 0);
    assert_int_equal(unlinkat(scratch->fd, JOURNAL_NAME, 0), 0);
    assert_int_equal(mkdirat(scratch->fd, JOURNAL_NAME, 0777), 0);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 0);
}

/* -- records that are sound on the outside and wrong inside -- */

struct forged {
    uint8_t bytes[1 << 16];
    size_t length;
};

static void forge_begin(struct forged *f)
{
    memcpy(f->bytes, "mstore-journal-1", 16);
    f->length = 16;
}

static void forge(struct forged *f, uint32_t type, const uint8_t *body, size_t length)
{
    uint8_t *record = f->bytes + f->length;
    put_le(record, length, 4);
    put_le(record + 4, type, 4);
    memcpy(record + 8, body, length);
    put_le(record + 8 + length, fnv1a_64(record, 8 + length), 8);
    f->length += 16 + length;
}

static void forge_file(struct forged *f, uint32_t number, uint64_t size, uint32_t nsec, const char *path,
                       const char *temporary)
{
    uint8_t body[1024];
    size_t a = strlen(path), b = strlen(temporary);
    memset(body, 0, sizeof body);
    put_le(body, number, 4);
    put_le(body + 4, size, 8);
    put_le(body + 20, nsec, 4);
    put_le(body + 32, a, 2);
    memcpy(body + 34, path, a);
    put_le(body + 34 + a, b, 2);
    memcpy(body + 36 + a, temporary, b);
    forge(f, 1, body, 36 + a + b);
}

static void forge_blocks(struct forged *f, uint32_t number, uint64_t first, size_t count)
{
    uint8_t body[12 + 64 * HASH_SIZE] = {0};
    put_le(body, number, 4);
    put_le(body + 4, first, 8);
    forge(f, 2, body, 12 + count * HASH_SIZE);
}

static void forge_done(struct forged *f, uint32_t number)
{
    uint8_t body[4];
    put_le(body, number, 4);
    forge(f, 3, body, sizeof body);
}

/* The number of files and blocks that are believed. */
static void expect_forged(const struct forged *f, size_t files, size_t said)
{
    struct journal_state got;
    journal_parse(&got, f->bytes, f->length);
    assert_int_equal(got.count, files);
    assert_int_equal(count_said(&got), said);
    journal_state_release(&got);
}

static void a_file_record_is_held_against_its_limits(void **state)
{
    (void)state;
    static const struct {
        uint32_t number;
        uint64_t size;
        uint32_t nsec;
        const char *path, *temporary;
    } wrong[] = {
        {1, 5, 0, "a", ""},
        {UINT32_MAX, 5, 0, "a", ""},
        {0, LIMIT_SIZE + 1, 0, "a", ""},
        {0, UINT64_MAX, 0, "a", ""},
        {0, (uint64_t)1 << 63, 0, "a", ""},
        {0, 5, 1000000000, "a", ""},
        {0, 5, UINT32_MAX, "a", ""},
        {0, 5, 0, "", ""},
        {0, 5, 0, "../a", ""},
        {0, 5, 0, "/a", ""},
        {0, 5, 0, ".mstore/x", ""},
        {0, 5, 0, "a", "../../etc/passwd"},
        {0, 5, 0, "a", "a/../b"},
        {0, 5, 0, "a", "/tmp/x"},
    };
    static struct forged f;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        forge_begin(&f);
        forge_file(&f, wrong[i].number, wrong[i].size, wrong[i].nsec, wrong[i].path, wrong[i].temporary);
        forge_file(&f, 0, 5, 0, "good", "t"); /* what follows counts as never written */
        expect_forged(&f, 0, 0);
    }
    forge_begin(&f);
    forge_file(&f, 0, LIMIT_SIZE, 999999999, "a", "t");
    expect_forged(&f, 1, 1);
    f.bytes[16 + 8 + 34] = 0; /* a NUL in the path, with a check value that fits */
    put_le(f.bytes + f.length - 8, fnv1a_64(f.bytes + 16, f.length - 16 - 8), 8);
    expect_forged(&f, 0, 0);
}

static void lengths_of_a_file_record_are_held_against_the_record(void **state)
{
    (void)state;
    static struct forged f;
    static const uint16_t lengths[] = {0, 2, 3, 0x7fff, 0xffff};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (size_t field = 0; field < 2; field++) {
            forge_begin(&f);
            forge_file(&f, 0, 5, 0, "a", "t");
            put_le(f.bytes + 16 + 8 + (field ? 35 : 32), lengths[i], 2);
            put_le(f.bytes + f.length - 8, fnv1a_64(f.bytes + 16, f.length - 16 - 8), 8);
            expect_forged(&f, 0, 0);
        }
    for (size_t length = 0; length < 36; length++) {
        uint8_t body[36] = {0};
        forge_begin(&f);
        forge(&f, 1, body, length);
        expect_forged(&f, 0, 0);
    }
}

static void a_blocks_record_is_held_against_its_file(void **state)
{
    (void)state;
    static const struct {
        uint32_t number;
        uint64_t first;
        size_t count;
    } wrong[] = {
        {1, 0, 1},
        {UINT32_MAX, 0, 1},
        {0, 4, 1},
        {0, 3, 2},
        {0, 0, 5},
        {0, 0, 0},
        {0, (uint64_t)1 << 31, 1},
        {0, UINT32_MAX, 1},
        {0, (uint64_t)1 << 63, 1},
        {0, UINT64_MAX, 1},
        {0, UINT64_MAX - 1, 3},
        {0, UINT64_MAX / HASH_SIZE, 2},
    };
    static struct forged f;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        forge_begin(&f);
        forge_file(&f, 0, 4 * BLOCK_SIZE, 0, "a", "t");
        forge_blocks(&f, wrong[i].number, wrong[i].first, wrong[i].count);
        forge_blocks(&f, 0, 0, 1);
        expect_forged(&f, 1, 1);
    }
    forge_begin(&f);
    forge_file(&f, 0, 4 * BLOCK_SIZE, 0, "a", "t");
    forge_blocks(&f, 0, 2, 2);
    forge_blocks(&f, 0, 3, 1); /* twice is no harm */
    expect_forged(&f, 1, 3);
    uint8_t body[12 + HASH_SIZE + 1] = {0};
    forge(&f, 2, body, sizeof body); /* no whole number of hashes */
    forge_blocks(&f, 0, 0, 1);
    expect_forged(&f, 1, 3);
}

static void the_memory_for_a_huge_file_is_bounded(void **state)
{
    (void)state;
    static struct forged f;
    forge_begin(&f);
    forge_file(&f, 0, LIMIT_SIZE, 0, "a", "t");
    forge_blocks(&f, 0, JOURNAL_MAX_BLOCKS, 1);
    expect_forged(&f, 1, 1);
    forge_begin(&f);
    forge_file(&f, 0, LIMIT_SIZE, 0, "a", "t");
    forge_blocks(&f, 0, (LIMIT_SIZE - 1) / BLOCK_SIZE, 1);
    expect_forged(&f, 1, 1);
}

static void done_counts_only_when_every_block_is_there(void **state)
{
    (void)state;
    static struct forged f;
    forge_begin(&f);
    forge_file(&f, 0, 3 * BLOCK_SIZE, 0, "a", "t");
    forge_done(&f, 0);
    forge_blocks(&f, 0, 0, 1);
    expect_forged(&f, 1, 1);
    forge_begin(&f);
    forge_file(&f, 0, 3 * BLOCK_SIZE, 0, "a", "t");
    forge_blocks(&f, 0, 0, 1);
    forge_blocks(&f, 0, 2, 1);
    forge_done(&f, 0);
    forge_blocks(&f, 0, 1, 1);
    expect_forged(&f, 1, 3);
    forge_begin(&f);
    forge_file(&f, 0, 3 * BLOCK_SIZE, 0, "a", "t");
    forge_blocks(&f, 0, 0, 3);
    forge_done(&f, 1);
    forge_done(&f, 0);
    expect_forged(&f, 1, 4);
}

static void an_unknown_type_and_a_length_without_end_stop_the_reading(void **state)
{
    (void)state;
    static struct forged f;
    static const uint32_t types[] = {0, 4, 255, 0x101, 0x80000001};
    static const uint32_t lengths[] = {0x7fffffff, 0x80000000, 0xffffffff, 1 << 20};
    uint8_t body[4] = {0};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        forge_begin(&f);
        forge(&f, types[i], body, sizeof body);
        forge_file(&f, 0, 5, 0, "a", "t");
        expect_forged(&f, 0, 0);
    }
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        forge_begin(&f);
        forge_file(&f, 0, 5, 0, "a", "t");
        put_le(f.bytes + 16, lengths[i], 4);
        expect_forged(&f, 0, 0);
    }
}

static void runs_longer_than_a_record_are_split(void **state)
{
    struct scratch *scratch = *state;
    struct journal *journal = NULL;
    struct journal_state got;
    struct error err;
    const size_t blocks = 2 * LIMIT_BATCH_HASHES + 3;
    uint8_t *hashes = filled(blocks * HASH_SIZE, 5);
    struct file_entry entry = {.path = (char *)"big", .size = blocks * BLOCK_SIZE};
    assert_int_equal(journal_create(&journal, scratch->fd, &err), 0);
    assert_int_equal(journal_file(journal, 0, &entry, "t", &err), 0);
    for (int i = 0; i < 20; i++) /* more than is collected at once */
        assert_int_equal(journal_blocks(journal, 0, 0, hashes, blocks, &err), 0);
    assert_int_equal(journal_done(journal, 0, &err), 0);
    assert_int_equal(journal_commit(journal, &err), 0);
    journal_destroy(&journal);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 1);
    assert_true(got.files[0].complete);
    assert_int_equal(got.files[0].blocks, blocks);
    assert_memory_equal(got.files[0].hashes, hashes, blocks * HASH_SIZE);
    journal_state_release(&got);
    free(hashes);
}

static void the_longest_names_fit(void **state)
{
    struct scratch *scratch = *state;
    struct journal *journal = NULL;
    struct journal_state got;
    struct error err;
    char path[LIMIT_PATH + 1], temporary[LIMIT_PATH + 1];
    memset(path, 'a', LIMIT_PATH);
    for (size_t i = 200; i < LIMIT_PATH; i += 201)
        path[i] = '/';
    path[LIMIT_PATH] = '\0';
    memcpy(temporary, path, sizeof path);
    temporary[0] = 't';
    struct file_entry entry = {.path = path, .size = 1};
    assert_int_equal(journal_create(&journal, scratch->fd, &err), 0);
    for (uint32_t i = 0; i < 600; i++) /* beyond what is collected at once */
        assert_int_equal(journal_file(journal, i, &entry, temporary, &err), 0);
    assert_int_equal(journal_commit(journal, &err), 0);
    journal_destroy(&journal);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 600);
    assert_string_equal(got.files[599].entry.path, path);
    assert_string_equal(got.files[599].temporary, temporary);
    journal_state_release(&got);
}

static void the_former_journal_stands_until_the_commit(void **state)
{
    struct scratch *scratch = *state;
    struct journal *journal = NULL;
    struct journal_state got;
    struct error err;
    write_sample(scratch->fd);
    assert_int_equal(journal_create(&journal, scratch->fd, &err), 0);
    assert_int_equal(journal_flush(journal, &err), 0);
    journal_destroy(&journal);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, FILES);
    journal_state_release(&got);
    assert_int_equal(journal_create(&journal, scratch->fd, &err),
                     0); /* over the leftover of the one before */
    assert_int_equal(journal_commit(journal, &err), 0);
    journal_destroy(&journal);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 0);
}

static void what_follows_the_commit_is_appended(void **state)
{
    struct scratch *scratch = *state;
    struct journal *journal = NULL;
    struct journal_state got;
    struct error err;
    uint8_t hash[HASH_SIZE] = {1};
    struct file_entry entry = {.path = (char *)"f", .size = 1};
    assert_int_equal(journal_create(&journal, scratch->fd, &err), 0);
    assert_int_equal(journal_commit(journal, &err), 0);
    assert_int_equal(journal_file(journal, 0, &entry, "t", &err), 0);
    assert_int_equal(journal_blocks(journal, 0, 0, hash, 1, &err), 0);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 0); /* only collected so far */
    assert_int_equal(journal_flush(journal, &err), 0);
    journal_load(&got, scratch->fd);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.files[0].present[0], 1);
    journal_state_release(&got);
    journal_destroy(&journal);
}

static void a_folder_that_is_gone_is_an_error(void **state)
{
    struct scratch *scratch = *state;
    struct journal *journal = NULL;
    struct error err = {0};
    int before = count_fds();
    int folder = make_dir(scratch->fd, "gone");
    assert_int_equal(unlinkat(scratch->fd, "gone", AT_REMOVEDIR), 0);
    assert_int_equal(journal_create(&journal, folder, &err), -1);
    assert_int_equal(err.sys, ENOENT);
    assert_int_equal(journal_create(&journal, -1, &err), -1);
    (void)close(folder);
    assert_int_equal(count_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(what_is_written_comes_back),
        scratch_test(a_torn_tail_at_any_byte_gives_the_state_before_the_torn_record),
        scratch_test(a_flipped_byte_anywhere_ends_what_is_read_there),
        scratch_test(a_missing_or_foreign_or_empty_journal_is_an_empty_state),
        cmocka_unit_test(a_file_record_is_held_against_its_limits),
        cmocka_unit_test(lengths_of_a_file_record_are_held_against_the_record),
        cmocka_unit_test(a_blocks_record_is_held_against_its_file),
        cmocka_unit_test(the_memory_for_a_huge_file_is_bounded),
        cmocka_unit_test(done_counts_only_when_every_block_is_there),
        cmocka_unit_test(an_unknown_type_and_a_length_without_end_stop_the_reading),
        scratch_test(runs_longer_than_a_record_are_split),
        scratch_test(the_longest_names_fit),
        scratch_test(the_former_journal_stands_until_the_commit),
        scratch_test(what_follows_the_commit_is_appended),
        scratch_test(a_folder_that_is_gone_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
