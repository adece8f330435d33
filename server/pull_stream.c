/* A stream of a pull: blocks are asked for and sent. */
#include "server/transfer_stream.h"

#include "common/fdio.h"
#include "common/log.h"
#include "common/sender.h"

#include <errno.h>
#include <string.h>

struct pull_stream {
    struct transfer_stream *own;
    struct version *version;
    struct wire wire;
    struct sender sender;
    int fd; /* of `file` */
    uint32_t file;
};

static int open_wanted(struct pull_stream *p, uint32_t file, struct error *trouble)
{
    if (p->fd >= 0 && p->file == file)
        return 0;
    fdio_drop(&p->fd);
    p->file = file;
    p->fd = version_open_file(p->version, file);
    if (p->fd < 0)
        return error_set_sys(trouble, ERROR_FILE, errno, "cannot open '%s' on the server",
                             p->version->manifest.listing.files[file].path);
    return 0;
}

static int give_block(struct pull_stream *p, const struct chunk *want, struct error *err)
{
    const struct listing *files = &p->version->manifest.listing;
    struct error trouble = {0};
    uint8_t hash[HASH_SIZE];
    uint64_t block = want->offset / BLOCK_SIZE;
    if (want->file >= files->count || !chunk_is_block_of(want, files->files[want->file].size))
        return error_set(err, ERROR_PROTOCOL, "the client asked for a block that is not in the listing");
    if (open_wanted(p, want->file, &trouble) < 0)
        return transfer_stream_fail(&p->wire, want, &trouble, err);
    struct file_entry entry = version_disk_entry(p->version, want->file);
    const uint8_t *known = version_hash(p->version, want->file, block);
    if (sender_block(&p->sender, p->fd, &entry, want->file, block, known, hash, &trouble, err) < 0)
        return -1;
    if (trouble.code != ERROR_NONE)
        log_warn("%s: %s", p->version->id, trouble.text);
    else if (!known)
        version_learn(p->version, want->file, block, hash);
    return 0;
}

static int pull_stream_loop(struct pull_stream *p, struct error *err)
{
    struct chunk chunk;
    for (;;) {
        if (wire_buffered(&p->wire) < CHUNK_HEADER_SIZE && wire_flush(&p->wire, false, err) < 0)
            return -1;
        if (wire_read_chunk(&p->wire, &chunk, err) < 0)
            return -1;
        if (chunk.type == CHUNK_END)
            return transfer_stream_answer_end(&p->wire, p->sender.payload_bytes, p->sender.sendfile_bytes > 0,
                                              err);
        if (chunk.type != CHUNK_WANT)
            return error_set(err, ERROR_PROTOCOL, "the client sent a header of type %d in a pull",
                             chunk.type);
        if (give_block(p, &chunk, err) < 0)
            return -1;
        atomic_store_explicit(&p->own->payload_bytes, p->sender.payload_bytes, memory_order_relaxed);
        atomic_store_explicit(&p->own->hashed_bytes, p->sender.hashed_bytes, memory_order_relaxed);
    }
}

void pull_stream_run(struct stream *stream)
{
    struct pull_stream p = {.own = (struct transfer_stream *)stream, .fd = -1};
    p.version = p.own->job->version;
    transfer_stream_begin(p.own, &p.wire);
    sender_init(&p.sender, &p.wire);
    p.sender.disk = p.own->job->disk;
    (void)pull_stream_loop(&p, &stream->error);
    fdio_drop(&p.fd);
    sender_release(&p.sender);
    transfer_stream_end(p.own, &p.wire);
}
