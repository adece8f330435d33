/* XXH3-128 over the files in the order of their paths: each path with its NUL, then size, seconds and
 * nanoseconds, little-endian. */
#include "common/fingerprint.h"

#include "common/digest.h"
#include "proto/bytes.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_SIZE 20

static void add_entry(struct digest *digest, const struct file_entry *entry)
{
    uint8_t bytes[ENTRY_SIZE];
    put_le(bytes, entry->size, 8);
    put_le(bytes + 8, (uint64_t)entry->mtime, 8);
    put_le(bytes + 16, entry->nsec, 4);
    digest_update(digest, entry->path, strlen(entry->path) + 1);
    digest_update(digest, bytes, sizeof bytes);
}

uint64_t fingerprint_of(const struct listing *listing)
{
    const char *clash;
    uint8_t hash[HASH_SIZE];
    uint32_t *index = listing_index(listing, &clash);
    if (!index)
        return 0;
    struct digest *digest = digest_create();
    digest_begin(digest);
    for (size_t i = 0; i < listing->count; i++)
        add_entry(digest, &listing->files[index[i]]);
    digest_finish(digest, hash);
    digest_destroy(&digest);
    free(index);
    uint64_t number = get_le(hash, 8) & LIMIT_SIZE;
    return number ? number : 1;
}
