/* Comparing, and hashing where comparing is not enough. */
#include "client/plan.h"

#include "client/interrupt.h"
#include "common/block_pass.h"
#include "common/digest.h"
#include "common/fdio.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool plan_is_same(const struct file_entry *a, const struct file_entry *b)
{
    int64_t apart = a->mtime > b->mtime ? a->mtime - b->mtime : b->mtime - a->mtime;
    bool coarse = a->nsec == 0 || b->nsec == 0;
    if (a->size != b->size)
        return false;
    return coarse ? apart <= PLAN_MTIME_TOLERANCE_S : apart == 0 && a->nsec == b->nsec;
}

struct reading {
    uint64_t size;
    _Atomic uint64_t *bytes_read;
    uint8_t *hashes;                  /* to fill, */
    const struct journal_file *offer; /* or to compare with */
};

static bool note_block(const struct reading *reading, uint64_t block)
{
    atomic_fetch_add(reading->bytes_read, block_length(reading->size, block));
    return !interrupt_is_set();
}

static bool collect_hash(void *context, uint64_t block, const uint8_t *hash)
{
    const struct reading *reading = context;
    if (hash)
        memcpy(reading->hashes + block * HASH_SIZE, hash, HASH_SIZE);
    return note_block(reading, block) && hash;
}

static bool has_size(int fd, uint64_t size)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

static int hash_open_file(int fd, uint64_t size, uint8_t hash[HASH_SIZE], _Atomic uint64_t *bytes_read)
{
    uint64_t blocks = block_count(size);
    if (interrupt_is_set() || !has_size(fd, size))
        return -1;
    uint8_t *hashes = malloc(blocks * HASH_SIZE);
    if (!hashes)
        abort();
    struct reading reading = {.size = size, .bytes_read = bytes_read, .hashes = hashes};
    bool whole = block_pass(fd, size, blocks, NULL, collect_hash, &reading);
    if (whole)
        digest_file(hashes, blocks, size, hash);
    free(hashes);
    return whole ? 0 : -1;
}

int plan_hash_file(int folder, const char *path, uint64_t size, uint8_t hash[HASH_SIZE],
                   _Atomic uint64_t *bytes_read, struct error *err)
{
    int fd = fdio_openat(folder, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    int result = fd < 0 ? -1 : hash_open_file(fd, size, hash, bytes_read);
    fdio_drop(&fd);
    if (result < 0 && interrupt_check(err) == 0)
        error_set(err, ERROR_FILE, "cannot read '%s' as it was listed", path);
    return result;
}

/* -- push -- */

const struct journal_file *plan_find_offer(const struct journal_state *offers, const struct file_entry *entry)
{
    const struct journal_file *offer = journal_state_find(offers, entry->path);
    bool same = offer && offer->entry.size == entry->size && offer->entry.mtime == entry->mtime &&
                offer->entry.nsec == entry->nsec;
    return same ? offer : NULL;
}

static bool matches_offer(void *context, uint64_t block, const uint8_t *hash)
{
    const struct reading *reading = context;
    return note_block(reading, block) && hash &&
           memcmp(hash, reading->offer->hashes + block * HASH_SIZE, HASH_SIZE) == 0;
}

/* Whether the offered blocks are those of the local file: it is the same untouched file, or its bytes say so.
 */
static bool holds(int folder, const struct file_entry *entry, const struct journal_file *offer,
                  _Atomic uint64_t *bytes_read)
{
    struct reading reading = {.size = entry->size, .bytes_read = bytes_read, .offer = offer};
    if (offer->entry.source == entry->source && entry->source != 0)
        return true;
    int fd = fdio_openat(folder, entry->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    bool same = fd >= 0 && has_size(fd, entry->size) &&
                block_pass(fd, entry->size, offer->blocks, offer->present, matches_offer, &reading);
    fdio_drop(&fd);
    return same;
}

static bool is_stored(int folder, const struct file_entry *entry, const struct file_entry *stored,
                      bool checksum, _Atomic uint64_t *bytes_read)
{
    uint8_t hash[HASH_SIZE];
    struct error ignored;
    if (!checksum && !plan_is_same(entry, stored))
        return false;
    if (!checksum && (!stored->has_hash || stored->source == entry->source))
        return true;
    return entry->size == stored->size && stored->has_hash &&
           plan_hash_file(folder, entry->path, entry->size, hash, bytes_read, &ignored) == 0 &&
           memcmp(hash, stored->hash, HASH_SIZE) == 0;
}

int plan_push(int folder, struct listing *local, const struct listing *stored,
              const struct journal_state *offers, bool checksum, _Atomic uint64_t *bytes_read,
              struct error *err)
{
    const char *clash;
    uint32_t *index = listing_index(stored, &clash);
    if (!index)
        return error_set(err, ERROR_PROTOCOL, "the server's listing names '%s' twice", clash);
    for (size_t i = 0; i < local->count && !interrupt_is_set(); i++) {
        struct file_entry *entry = &local->files[i];
        int64_t found = listing_find(stored, index, entry->path);
        entry->from = FROM_SEND;
        if (found >= 0 && is_stored(folder, entry, &stored->files[found], checksum, bytes_read)) {
            entry->from = FROM_LIVE;
            continue;
        }
        const struct journal_file *offer = plan_find_offer(offers, entry);
        if (offer && holds(folder, entry, offer, bytes_read))
            entry->from = FROM_STAGED;
    }
    free(index);
    return interrupt_check(err);
}

/* -- pull -- */

bool plan_has_local(int folder, const struct file_entry *entry, bool checksum, _Atomic uint64_t *bytes_read)
{
    struct stat st;
    uint8_t hash[HASH_SIZE];
    if (folder < 0 || path_stat(folder, entry->path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    struct file_entry local = {
        .size = (uint64_t)st.st_size, .mtime = st.st_mtim.tv_sec, .nsec = (uint32_t)st.st_mtim.tv_nsec};
    if (!checksum)
        return plan_is_same(entry, &local);
    if (local.size != entry->size || !entry->has_hash)
        return false;
    int fd = path_open(folder, entry->path, O_RDONLY | O_NONBLOCK, 0);
    bool same = fd >= 0 && hash_open_file(fd, entry->size, hash, bytes_read) == 0 &&
                memcmp(hash, entry->hash, HASH_SIZE) == 0;
    fdio_drop(&fd);
    return same;
}
