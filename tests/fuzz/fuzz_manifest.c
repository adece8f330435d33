/* Manifests, the lines of `<generation>.json`. */
#include "target.h"

#include "proto/name.h"
#include "server/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct manifest manifest;
    struct error err;
    if (manifest_parse(&manifest, (const char *)bytes, length, &err) < 0)
        return 0;
    must_hold(manifest.summary.files == manifest.listing.count);
    must_hold(manifest.summary.bytes == listing_bytes(&manifest.listing));
    uint64_t blocks = 0;
    for (size_t i = 0; i < manifest.listing.count; i++) {
        const struct file_entry *file = &manifest.listing.files[i];
        must_hold(name_is_path(file->path) && file->size <= LIMIT_SIZE && file->nsec < 1000000000);
        must_hold(manifest.disk_nsec[i] < 1000000000);
        must_hold(file->has_hash == (manifest.first_block[i] != MANIFEST_NO_HASHES));
        if (file->has_hash) {
            must_hold(manifest.first_block[i] == blocks);
            blocks += block_count(file->size);
        }
    }
    must_hold(blocks == manifest.block_total);
    manifest_release(&manifest);
    return 0;
}
