/* Reads in pieces that stay in the processor's cache, until the size that was listed. */
#include "client/sha256_pass.h"

#include "client/interrupt.h"
#include "common/fdio.h"
#include "common/sender.h"
#include "common/sha256.h"

#include <fcntl.h>
#include <stdlib.h>

#define PIECE ((size_t)256 << 10)

static bool hash_bytes(int fd, uint64_t size, uint8_t *piece, uint8_t out[SHA256_SIZE],
                       _Atomic uint64_t *bytes_read)
{
    struct sha256 hash;
    sha256_begin(&hash);
    for (uint64_t at = 0; at < size;) {
        size_t length = size - at < PIECE ? (size_t)(size - at) : PIECE;
        if (interrupt_is_set() || fdio_pread(fd, piece, length, at) != (ssize_t)length)
            return false;
        sha256_update(&hash, piece, length);
        at += length;
        atomic_fetch_add(bytes_read, length);
    }
    sha256_finish(&hash, out);
    return true;
}

bool sha256_file(int folder, const char *path, uint64_t size, uint8_t out[SHA256_SIZE],
                 _Atomic uint64_t *bytes_read)
{
    int fd = fdio_openat(folder, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    uint8_t *piece = malloc(PIECE);
    if (!piece)
        abort();
    sender_advise(fd, size);
    bool hashed = hash_bytes(fd, size, piece, out, bytes_read);
    free(piece);
    fdio_drop(&fd);
    return hashed;
}

int sha256_pass(int folder, struct listing *local, const struct listing *stored, _Atomic uint64_t *bytes_read,
                struct error *err)
{
    const char *clash;
    uint32_t *index = listing_index(stored, &clash); /* plan_push() has refused one that clashes */
    for (size_t i = 0; index && i < local->count && !interrupt_is_set(); i++) {
        struct file_entry *entry = &local->files[i];
        int64_t found = entry->from == FROM_LIVE ? listing_find(stored, index, entry->path) : -1;
        if (!entry->has_sha256 && (found < 0 || !stored->files[found].has_sha256))
            entry->has_sha256 = sha256_file(folder, entry->path, entry->size, entry->sha256, bytes_read);
    }
    free(index);
    return interrupt_check(err);
}
