/* The sender of files, given a file that is memory, and a receiver that keeps nothing. */
#include "common/link_load.h"

#include "common/fdio.h"
#include "common/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A block of memory that sendfile can read. Not written to: its pages have to exist, so they are allocated,
 * and hold zeros. A link that compresses is not what this is for. */
static int open_memory(struct link_load *load, struct error *err)
{
    struct stat st;
    load->memory = memfd_create("mstore-link", MFD_CLOEXEC);
    int result = load->memory < 0 ? errno : posix_fallocate(load->memory, 0, BLOCK_SIZE);
    if (result == 0 && fstat(load->memory, &st) < 0)
        result = errno;
    if (result != 0) {
        fdio_drop(&load->memory);
        return error_set_sys(err, ERROR_FAILED, result, "cannot get memory to send");
    }
    load->entry = (struct file_entry){.path = "memory",
                                      .size = BLOCK_SIZE,
                                      .mtime = st.st_mtim.tv_sec,
                                      .nsec = (uint32_t)st.st_mtim.tv_nsec};
    return 0;
}

int link_load_init(struct link_load *load, struct wire *wire, struct error *err)
{
    load->wire = wire;
    atomic_store(&load->bytes, 0);
    if (open_memory(load, err) < 0)
        return -1;
    sender_init(&load->sender, wire);
    load->buffer = malloc(RECEIVER_PIECE);
    if (!load->buffer)
        abort();
    return 0;
}

void link_load_release(struct link_load *load)
{
    fdio_drop(&load->memory);
    sender_release(&load->sender);
    free(load->buffer);
    load->buffer = NULL;
}

int link_load_send(struct link_load *load, struct error *err)
{
    static const uint8_t no_hash[HASH_SIZE];
    uint8_t hash[HASH_SIZE];
    struct error trouble = {0};
    if (sender_block(&load->sender, load->memory, &load->entry, 0, 0, no_hash, hash, &trouble, err) < 0)
        return -1;
    if (trouble.code != ERROR_NONE) {
        *err = trouble;
        return -1;
    }
    atomic_fetch_add_explicit(&load->bytes, BLOCK_SIZE, memory_order_relaxed);
    return 0;
}

int link_load_receive(struct link_load *load, const struct chunk *chunk, struct error *err)
{
    uint8_t trailer[CHUNK_TRAILER_SIZE];
    if (chunk->type != CHUNK_DATA || chunk->file != 0 || chunk->offset != 0 || chunk->length > BLOCK_SIZE)
        return error_set(err, ERROR_PROTOCOL,
                         "a header of type %d is out of place while the link is measured", chunk->type);
    for (uint64_t left = chunk->length; left > 0;) {
        size_t piece = left < RECEIVER_PIECE ? (size_t)left : RECEIVER_PIECE;
        if (wire_read(load->wire, load->buffer, piece, err) < 0)
            return -1;
        left -= piece;
        atomic_fetch_add_explicit(&load->bytes, piece, memory_order_relaxed);
    }
    return wire_read(load->wire, trailer, sizeof trailer, err);
}
