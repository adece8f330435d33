/* A block that cannot be read is a bad one: only the caller knows whether that is an error. */
#include "server/check.h"

#include "common/digest.h"
#include "common/fdio.h"

#include <stdlib.h>
#include <string.h>

void check_init(struct check *check, struct version *version, const atomic_bool *cancelled,
                _Atomic uint64_t *bytes)
{
    check->version = version;
    check->cancelled = cancelled;
    check->bytes = bytes;
    check->buffer = malloc(BLOCK_SIZE);
    if (!check->buffer)
        abort();
}

void check_release(struct check *check)
{
    free(check->buffer);
    check->buffer = NULL;
}

static bool check_block(struct check *check, uint32_t file, int fd, uint64_t block, size_t length)
{
    const uint8_t *known = version_hash(check->version, file, block);
    uint8_t hash[HASH_SIZE];
    if (fd < 0 || fdio_pread(fd, check->buffer, length, block * BLOCK_SIZE) != (ssize_t)length)
        return false;
    digest_block(check->buffer, length, hash);
    if (known)
        return memcmp(known, hash, HASH_SIZE) == 0;
    version_learn(check->version, file, block, hash);
    return true;
}

bool check_file(struct check *check, uint32_t file, struct size_list *bad)
{
    uint64_t size = check->version->manifest.listing.files[file].size;
    int fd = version_open_file(check->version, file);
    for (uint64_t b = 0; b < block_count(size) && !atomic_load(check->cancelled); b++) {
        size_t length = (size_t)block_length(size, b);
        if (!check_block(check, file, fd, b, length) && bad->count < LIMIT_BATCH_HASHES)
            size_list_add(bad, b);
        atomic_fetch_add(check->bytes, length);
    }
    fdio_drop(&fd);
    return bad->count == 0;
}

void check_listing(struct check *check)
{
    struct listing *listing = &check->version->manifest.listing;
    for (uint32_t i = 0; i < listing->count && !atomic_load(check->cancelled); i++) {
        struct size_list bad = {0};
        if (listing->files[i].has_hash)
            listing->files[i].has_hash = check_file(check, i, &bad);
        free(bad.values);
    }
}
