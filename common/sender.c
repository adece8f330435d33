/* The bytes of a block never pass through this process unless they have to: for the hash, for a small
 * payload, or for a file system without sendfile. Whatever happens to the file, exactly the announced number
 * of bytes leaves. */
#include "common/sender.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* What is on its way while one block is sent. */
struct passage {
    int fd;
    const struct file_entry *entry;
    uint64_t offset, length;
    bool hashing;
    struct error *trouble;
};

void sender_init(struct sender *sender, struct wire *wire)
{
    sender->refuses_sendfile = false;
    atomic_store(&sender->payload_bytes, 0);
    atomic_store(&sender->hashed_bytes, 0);
    atomic_store(&sender->sendfile_bytes, 0);
    sender->wire = wire;
    sender->pacer = NULL;
    sender->disk = NULL;
    sender->piece = SENDER_PIECE;
    sender->digest = digest_create();
    sender->buffer = malloc(SENDER_STEP);
    if (!sender->buffer)
        abort();
}

void sender_limit(struct sender *sender, struct pacer *pacer)
{
    sender->pacer = pacer;
    sender->piece = pacer_piece(pacer->bytes_per_s, SENDER_PIECE);
}

void sender_release(struct sender *sender)
{
    digest_destroy(&sender->digest);
    free(sender->buffer);
    sender->buffer = NULL;
}

void sender_advise(int fd, uint64_t size)
{
    if (size >= BLOCK_SIZE)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

static void note_trouble(const struct passage *passage, ssize_t result)
{
    if (passage->trouble->code != ERROR_NONE)
        return;
    if (result < 0)
        error_set_sys(passage->trouble, ERROR_FILE, errno, "cannot read '%s'", passage->entry->path);
    else
        error_set(passage->trouble, ERROR_CHANGED, "'%s' changed while it was read", passage->entry->path);
}

static bool is_refusal(int sys)
{
    return sys == EINVAL || sys == ENOSYS || sys == EOPNOTSUPP || sys == ENOTSUP || sys == EPERM;
}

/* Reads a piece into the buffer; what cannot be read becomes filling, and trouble is noted. */
static void read_piece(struct sender *sender, struct passage *passage, uint8_t *buffer, uint64_t at,
                       size_t length)
{
    uint64_t lap = clock_ns();
    ssize_t n = passage->trouble->code == ERROR_NONE
                    ? fdio_pread(passage->fd, buffer, length, passage->offset + at)
                    : 0;
    sender->wire->activity.file_ns += clock_lap(&lap);
    if (n == (ssize_t)length)
        return;
    note_trouble(passage, n);
    size_t got = n > 0 ? (size_t)n : 0;
    memset(buffer + got, 0, length - got);
}

static int send_copied(struct sender *sender, const void *bytes, size_t length, struct error *err)
{
    if (wire_send(sender->wire, bytes, length, true, err) < 0)
        return -1;
    atomic_fetch_add_explicit(&sender->payload_bytes, length, memory_order_relaxed);
    return 0;
}

/* One piece by sendfile. Returns the bytes that left, fewer than asked where sendfile is refused or the file
 * ended. */
static int sendfile_piece(struct sender *sender, struct passage *passage, uint64_t at, size_t length,
                          size_t *sent, struct error *err)
{
    *sent = 0;
    while (*sent < length && !sender->refuses_sendfile && passage->trouble->code == ERROR_NONE) {
        off_t from = (off_t)(passage->offset + at + *sent);
        uint64_t lap = clock_ns();
        ssize_t n = sendfile(sender->wire->fd, passage->fd, &from, length - *sent);
        sender->wire->activity.socket_ns += clock_lap(&lap);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN || errno == ETIMEDOUT))
            return error_set_sys(err, ERROR_LOST, errno, "the connection was lost");
        if (n < 0 && is_refusal(errno)) {
            sender->refuses_sendfile = true;
        } else if (n <= 0) {
            note_trouble(passage, n);
        } else {
            *sent += (size_t)n;
            atomic_fetch_add_explicit(&sender->payload_bytes, (uint64_t)n, memory_order_relaxed);
            atomic_fetch_add_explicit(&sender->sendfile_bytes, (uint64_t)n, memory_order_relaxed);
        }
    }
    return 0;
}

static void pause_for(struct sender *sender, size_t length)
{
    if (!sender->pacer)
        return;
    uint64_t lap = clock_ns();
    pacer_take(sender->pacer, length);
    sender->wire->activity.paused_ns += clock_lap(&lap);
}

static void hash_piece(struct sender *sender, const struct passage *passage, const void *bytes, size_t length)
{
    if (!passage->hashing)
        return;
    digest_update(sender->digest, bytes, length);
    atomic_fetch_add_explicit(&sender->hashed_bytes, length, memory_order_relaxed);
}

/* What sendfile has not sent is read and sent; what is hashed is read anyway. Step by step, so that the bytes
 * are still in the processor's cache when they are hashed. */
static int send_piece(struct sender *sender, struct passage *passage, uint64_t at, size_t length,
                      struct error *err)
{
    size_t sent;
    if (sendfile_piece(sender, passage, at, length, &sent, err) < 0)
        return -1;
    for (size_t done = passage->hashing ? 0 : sent; done < length; done += SENDER_STEP) {
        size_t step = length - done < SENDER_STEP ? length - done : SENDER_STEP;
        size_t skip = sent > done ? (sent - done < step ? sent - done : step) : 0;
        read_piece(sender, passage, sender->buffer, at + done, step);
        hash_piece(sender, passage, sender->buffer, step);
        if (skip < step && send_copied(sender, sender->buffer + skip, step - skip, err) < 0)
            return -1;
    }
    return 0;
}

/* One question a block; of a file of somebody else's the kernel does not tell. */
static void note_cached(struct sender *sender, const struct passage *passage)
{
    uint64_t cached;
    if (passage->fd < 0 || page_cache_resident(passage->fd, passage->offset, passage->length, &cached) < 0)
        return;
    sender->wire->activity.source_bytes += passage->length;
    sender->wire->activity.cached_bytes += cached;
}

static int send_large(struct sender *sender, struct passage *passage, struct error *err)
{
    if (wire_flush(sender->wire, true, err) < 0)
        return -1;
    note_cached(sender, passage);
    uint64_t lap = clock_ns();
    if (sender->disk)
        disk_fetch(sender->disk, passage->fd, passage->offset, passage->length);
    sender->wire->activity.file_ns += clock_lap(&lap);
    for (uint64_t at = 0; at < passage->length; at += sender->piece) {
        uint64_t left = passage->length - at;
        size_t length = left < sender->piece ? (size_t)left : sender->piece;
        pause_for(sender, length);
        if (send_piece(sender, passage, at, length, err) < 0)
            return -1;
    }
    return 0;
}

static int send_small(struct sender *sender, struct passage *passage, struct error *err)
{
    size_t length = (size_t)passage->length;
    pause_for(sender, length);
    uint8_t *room = wire_room(sender->wire, length, err);
    if (!room)
        return -1;
    if (length > 0)
        read_piece(sender, passage, room, 0, length);
    hash_piece(sender, passage, room, length);
    wire_took(sender->wire, length);
    atomic_fetch_add_explicit(&sender->payload_bytes, length, memory_order_relaxed);
    return 0;
}

/* Whether the file still is what was listed. Looked at after reading, so that it covers what was read. */
static void check_unchanged(struct passage *passage)
{
    struct stat st;
    if (passage->trouble->code != ERROR_NONE)
        return;
    if (fstat(passage->fd, &st) < 0)
        note_trouble(passage, -1);
    else if ((uint64_t)st.st_size != passage->entry->size || st.st_mtim.tv_sec != passage->entry->mtime ||
             (uint32_t)st.st_mtim.tv_nsec != passage->entry->nsec)
        note_trouble(passage, 0);
}

int sender_block(struct sender *sender, int fd, const struct file_entry *entry, uint32_t file, uint64_t block,
                 const uint8_t *known, uint8_t hash[HASH_SIZE], struct error *trouble, struct error *err)
{
    struct passage passage = {.fd = fd,
                              .entry = entry,
                              .offset = block * BLOCK_SIZE,
                              .length = block_length(entry->size, block),
                              .hashing = known == NULL,
                              .trouble = trouble};
    struct chunk header = {
        .type = CHUNK_DATA, .file = file, .offset = passage.offset, .length = passage.length};
    uint8_t trailer[CHUNK_TRAILER_SIZE];
    if (wire_put_chunk(sender->wire, &header, err) < 0)
        return -1;
    digest_begin(sender->digest);
    bool small = passage.length <= SENDER_COPY_MAX;
    if ((small ? send_small(sender, &passage, err) : send_large(sender, &passage, err)) < 0)
        return -1;
    check_unchanged(&passage);
    if (known)
        memcpy(hash, known, HASH_SIZE);
    else
        digest_finish(sender->digest, hash);
    chunk_trailer_encode(hash, trouble->code, trailer);
    return wire_put(sender->wire, trailer, sizeof trailer, err);
}
