/* Journals. The check values of the records are made right first, so that their contents are reached; then
 * the bytes are tried as they are. */
#include "target.h"

#include "common/journal.h"
#include "proto/bytes.h"
#include "proto/name.h"

#define MAGIC 16

static void try_journal(const uint8_t *bytes, size_t length)
{
    struct journal_state state;
    journal_parse(&state, bytes, length);
    for (size_t i = 0; i < state.count; i++) {
        const struct journal_file *file = &state.files[i];
        must_hold(name_is_path(file->entry.path) && (!file->temporary || name_is_path(file->temporary)));
        must_hold(file->entry.size <= LIMIT_SIZE && file->blocks <= block_count(file->entry.size));
        for (uint64_t b = 0; b < file->blocks; b++)
            must_hold(file->present[b] <= 1);
        must_hold(!file->complete || file->blocks == block_count(file->entry.size));
    }
    journal_state_release(&state);
}

static void mend(uint8_t *bytes, size_t length)
{
    size_t at = MAGIC;
    memcpy(bytes, "mstore-journal-1", MAGIC);
    while (length - at >= 16) {
        size_t body = (size_t)get_le(bytes + at, 4);
        if (body > length - at - 16)
            return;
        put_le(bytes + at + 8 + body, fnv1a_64(bytes + at, 8 + body), 8);
        at += 16 + body;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    try_journal(bytes, length);
    if (length < MAGIC)
        return 0;
    uint8_t *copy = malloc(length);
    must_hold(copy);
    memcpy(copy, bytes, length);
    mend(copy, length);
    try_journal(copy, length);
    free(copy);
    return 0;
}
