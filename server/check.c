/* A block that cannot be read is a bad one: only the caller knows whether that is an error. */
#include "server/check.h"

#include "common/block_pass.h"
#include "common/fdio.h"

#include <stdlib.h>
#include <string.h>

struct file_check {
    const struct check *check;
    uint32_t file;
    uint64_t size;
    struct size_list *bad;
};

static bool check_block(void *context, uint64_t block, const uint8_t *hash)
{
    struct file_check *f = context;
    struct version *version = f->check->version;
    const uint8_t *known = version_hash(version, f->file, block);
    bool good = hash && (!known || memcmp(known, hash, HASH_SIZE) == 0);
    if (hash && !known)
        version_learn(version, f->file, block, hash);
    if (!good && f->bad->count < LIMIT_BATCH_HASHES)
        size_list_add(f->bad, block);
    atomic_fetch_add(f->check->bytes, block_length(f->size, block));
    return !atomic_load(f->check->cancelled);
}

bool check_file(const struct check *check, uint32_t file, struct size_list *bad)
{
    uint64_t size = check->version->manifest.listing.files[file].size;
    struct file_check f = {check, file, size, bad};
    int fd = version_open_file(check->version, file);
    (void)block_pass(fd, size, block_count(size), NULL, check_block, &f);
    fdio_drop(&fd);
    return bad->count == 0;
}

void check_listing(const struct check *check)
{
    struct listing *listing = &check->version->manifest.listing;
    for (uint32_t i = 0; i < listing->count && !atomic_load(check->cancelled); i++) {
        struct size_list bad = {0};
        if (listing->files[i].has_hash)
            listing->files[i].has_hash = check_file(check, i, &bad);
        free(bad.values);
    }
}
