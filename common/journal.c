/* An append-only file of self-checking records. The reader believes nothing: lengths, numbers, order and
 * names are held against limits, and the first doubt ends the reading. */
#include "common/journal.h"

#include "common/fdio.h"
#include "common/path.h"
#include "proto/bytes.h"
#include "proto/name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_FILE = 1, RECORD_BLOCKS = 2, RECORD_DONE = 3 };

#define RECORD_HEADER 8
#define RECORD_CHECK  8
#define FILE_FIXED    36 /* number, size, mtime, nsec, source, and the two lengths are 4+8+8+4+8+2+2 */
#define BODY_MAX      (FILE_FIXED + 2 * (LIMIT_PATH + 1) + (size_t)LIMIT_BATCH_HASHES * HASH_SIZE)
#define NEW_NAME      ".journal.new"
/* Where collected records are written without being asked. */
#define COLLECT_MAX ((size_t)1 << 20)

static const uint8_t magic[16] = "mstore-journal-1";

struct journal {
    int folder, fd;
    uint8_t *pending;
    size_t used, capacity;
    bool broken;
};

/* -- reading -- */

/* A path of `length` bytes at `bytes`, or NULL. */
static char *read_path(const uint8_t *bytes, size_t length)
{
    char *path = strndup((const char *)bytes, length);
    if (!path)
        abort();
    if (strlen(path) == length && name_is_path(path))
        return path;
    free(path);
    return NULL;
}

static bool read_file_record(struct journal_state *state, const uint8_t *body, size_t length)
{
    if (length < FILE_FIXED || get_le(body, 4) != state->count || state->count >= LIMIT_FILES)
        return false;
    struct journal_file file = {0};
    size_t path_length = get_le(body + 32, 2);
    if (length < FILE_FIXED + path_length)
        return false;
    size_t temporary_length = get_le(body + 34 + path_length, 2);
    if (length != FILE_FIXED + path_length + temporary_length)
        return false;
    file.entry.size = get_le(body + 4, 8);
    file.entry.mtime = (int64_t)get_le(body + 12, 8);
    file.entry.nsec = (uint32_t)get_le(body + 20, 4);
    file.entry.source = get_le(body + 24, 8);
    file.entry.path = read_path(body + 34, path_length);
    if (temporary_length > 0)
        file.temporary = read_path(body + 36 + path_length, temporary_length);
    if ((state->count & (state->count - 1)) == 0) { /* full at each power of two */
        state->files = realloc(state->files, (state->count ? 2 * state->count : 1) * sizeof *state->files);
        if (!state->files)
            abort();
    }
    state->files[state->count++] = file;
    return file.entry.path && file.entry.size <= LIMIT_SIZE && file.entry.nsec < 1000000000 &&
           (temporary_length == 0 || file.temporary);
}

static bool make_room(struct journal_file *file, uint64_t blocks)
{
    if (blocks <= file->blocks)
        return true;
    uint8_t *hashes = realloc(file->hashes, blocks * HASH_SIZE);
    if (hashes)
        file->hashes = hashes;
    uint8_t *present = realloc(file->present, blocks);
    if (present)
        file->present = present;
    if (!hashes || !present)
        return false;
    memset(file->present + file->blocks, 0, blocks - file->blocks);
    file->blocks = blocks;
    return true;
}

static bool read_blocks_record(struct journal_state *state, const uint8_t *body, size_t length)
{
    if (length < 12 + HASH_SIZE || (length - 12) % HASH_SIZE != 0 || get_le(body, 4) >= state->count)
        return false;
    struct journal_file *file = &state->files[get_le(body, 4)];
    uint64_t first = get_le(body + 4, 8), count = (length - 12) / HASH_SIZE;
    if (first >= JOURNAL_MAX_BLOCKS || first + count > block_count(file->entry.size) ||
        !make_room(file, first + count))
        return false;
    memcpy(file->hashes + first * HASH_SIZE, body + 12, count * HASH_SIZE);
    memset(file->present + first, 1, count);
    return true;
}

static bool read_done_record(struct journal_state *state, const uint8_t *body, size_t length)
{
    if (length != 4 || get_le(body, 4) >= state->count)
        return false;
    struct journal_file *file = &state->files[get_le(body, 4)];
    if (file->blocks != block_count(file->entry.size) || memchr(file->present, 0, file->blocks))
        return false;
    file->complete = true;
    return true;
}

static bool read_record(struct journal_state *state, uint8_t type, const uint8_t *body, size_t length)
{
    switch (type) {
    case RECORD_FILE:
        return read_file_record(state, body, length);
    case RECORD_BLOCKS:
        return read_blocks_record(state, body, length);
    case RECORD_DONE:
        return read_done_record(state, body, length);
    default:
        return false;
    }
}

void journal_file_release(struct journal_file *file)
{
    free(file->entry.path);
    free(file->temporary);
    free(file->hashes);
    free(file->present);
}

void journal_state_release(struct journal_state *state)
{
    for (size_t i = 0; i < state->count; i++)
        journal_file_release(&state->files[i]);
    free(state->files);
    memset(state, 0, sizeof *state);
}

void journal_parse(struct journal_state *state, const uint8_t *bytes, size_t length)
{
    memset(state, 0, sizeof *state);
    if (length < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
        return;
    size_t at = sizeof magic;
    while (length - at >= RECORD_HEADER + RECORD_CHECK) {
        size_t body = get_le(bytes + at, 4);
        if (body > BODY_MAX || length - at - RECORD_HEADER - RECORD_CHECK < body)
            return;
        const uint8_t *record = bytes + at;
        if (get_le(record + RECORD_HEADER + body, 8) != fnv1a_64(record, RECORD_HEADER + body) ||
            !is_zero(record + 5, 3))
            return;
        size_t files = state->count;
        if (!read_record(state, record[4], record + RECORD_HEADER, body)) {
            if (state->count > files) /* a file whose record is sound but whose names are not */
                journal_file_release(&state->files[--state->count]);
            return;
        }
        at += RECORD_HEADER + body + RECORD_CHECK;
    }
}

void journal_load(struct journal_state *state, int folder)
{
    struct stat st;
    memset(state, 0, sizeof *state);
    int fd = fdio_openat(folder, JOURNAL_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    uint8_t *bytes = fstat(fd, &st) == 0 && st.st_size > 0 ? malloc((size_t)st.st_size) : NULL;
    ssize_t length = bytes ? fdio_read(fd, bytes, (size_t)st.st_size) : 0;
    if (length > 0)
        journal_parse(state, bytes, (size_t)length);
    free(bytes);
    fdio_drop(&fd);
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct journal_file *)a)->entry.path, ((const struct journal_file *)b)->entry.path);
}

void journal_state_sort(struct journal_state *state)
{
    if (state->count > 0)
        qsort(state->files, state->count, sizeof *state->files, compare_files);
}

const struct journal_file *journal_state_find(const struct journal_state *state, const char *path)
{
    struct journal_file wanted = {.entry = {.path = (char *)path}};
    return state->count > 0 ? bsearch(&wanted, state->files, state->count, sizeof wanted, compare_files)
                            : NULL;
}

/* -- writing -- */

static int broken(struct journal *journal, struct error *err)
{
    journal->broken = true;
    return error_set_sys(err, ERROR_FAILED, errno, "cannot write the journal of the transfer");
}

static int write_pending(struct journal *journal, struct error *err)
{
    if (journal->broken) {
        errno = EIO;
        return broken(journal, err);
    }
    if (journal->used > 0 && fdio_write(journal->fd, journal->pending, journal->used) < 0)
        return broken(journal, err);
    journal->used = 0;
    return 0;
}

int journal_create(struct journal **out, int folder, struct error *err)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        abort();
    journal->folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    journal->capacity = COLLECT_MAX + RECORD_HEADER + BODY_MAX + RECORD_CHECK;
    journal->pending = malloc(journal->capacity);
    if (!journal->pending)
        abort();
    if (journal->folder >= 0 && path_remove_tree(folder, NEW_NAME) < 0)
        fdio_drop(&journal->folder);
    journal->fd = journal->folder < 0
                      ? -1
                      : fdio_openat(folder, NEW_NAME,
                                    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (journal->fd < 0) {
        broken(journal, err);
        journal_destroy(&journal);
        return -1;
    }
    memcpy(journal->pending, magic, sizeof magic);
    journal->used = sizeof magic;
    *out = journal;
    return 0;
}

int journal_commit(struct journal *journal, struct error *err)
{
    if (journal_flush(journal, err) < 0)
        return -1;
    int named = renameat(journal->folder, NEW_NAME, journal->folder, JOURNAL_NAME);
    if (named < 0 && errno == EISDIR && path_remove_tree(journal->folder, JOURNAL_NAME) == 0)
        named = renameat(journal->folder, NEW_NAME, journal->folder, JOURNAL_NAME);
    return named < 0 || fdio_fsync(journal->folder) < 0 ? broken(journal, err) : 0;
}

void journal_destroy(struct journal **journal)
{
    struct journal *j = *journal;
    *journal = NULL;
    if (!j)
        return;
    fdio_drop(&j->fd);
    fdio_drop(&j->folder);
    free(j->pending);
    free(j);
}

/* Room for a record with a body of `length` bytes; returns where the body goes. */
static uint8_t *begin_record(struct journal *journal, uint8_t type, size_t length, struct error *err)
{
    if (journal->used >= COLLECT_MAX && write_pending(journal, err) < 0)
        return NULL;
    uint8_t *record = journal->pending + journal->used;
    put_le(record, length, 4);
    put_le(record + 4, type, 4);
    return record + RECORD_HEADER;
}

static void end_record(struct journal *journal, uint8_t *body, size_t length)
{
    uint8_t *record = body - RECORD_HEADER;
    put_le(body + length, fnv1a_64(record, RECORD_HEADER + length), 8);
    journal->used += RECORD_HEADER + length + RECORD_CHECK;
}

int journal_file(struct journal *journal, uint32_t number, const struct file_entry *entry,
                 const char *temporary, struct error *err)
{
    size_t path = strlen(entry->path), temp = temporary ? strlen(temporary) : 0;
    uint8_t *body = begin_record(journal, RECORD_FILE, FILE_FIXED + path + temp, err);
    if (!body)
        return -1;
    put_le(body, number, 4);
    put_le(body + 4, entry->size, 8);
    put_le(body + 12, (uint64_t)entry->mtime, 8);
    put_le(body + 20, entry->nsec, 4);
    put_le(body + 24, entry->source, 8);
    put_le(body + 32, path, 2);
    memcpy(body + 34, entry->path, path);
    put_le(body + 34 + path, temp, 2);
    if (temp > 0)
        memcpy(body + 36 + path, temporary, temp);
    end_record(journal, body, FILE_FIXED + path + temp);
    return 0;
}

int journal_blocks(struct journal *journal, uint32_t number, uint64_t first, const uint8_t *hashes,
                   size_t count, struct error *err)
{
    while (count > 0) {
        size_t batch = count < LIMIT_BATCH_HASHES ? count : LIMIT_BATCH_HASHES;
        uint8_t *body = begin_record(journal, RECORD_BLOCKS, 12 + batch * HASH_SIZE, err);
        if (!body)
            return -1;
        put_le(body, number, 4);
        put_le(body + 4, first, 8);
        memcpy(body + 12, hashes, batch * HASH_SIZE);
        end_record(journal, body, 12 + batch * HASH_SIZE);
        first += batch;
        hashes += batch * HASH_SIZE;
        count -= batch;
    }
    return 0;
}

int journal_done(struct journal *journal, uint32_t number, struct error *err)
{
    uint8_t *body = begin_record(journal, RECORD_DONE, 4, err);
    if (!body)
        return -1;
    put_le(body, number, 4);
    end_record(journal, body, 4);
    return 0;
}

int journal_flush(struct journal *journal, struct error *err)
{
    if (write_pending(journal, err) < 0)
        return -1;
    return fdio_fdatasync(journal->fd) < 0 ? broken(journal, err) : 0;
}
