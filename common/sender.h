/* Sends blocks of files over a wire as DATA (docs/protocol.md, section 6): the pusher's streams on the
 * client, the pullers' streams on the server.
 *
 * Large payloads go by sendfile; where the file system or kernel refuses it, by read and send from the same
 * offset, from then on for the whole connection. Payloads up to SENDER_COPY_MAX are read into the wire's
 * batch. If the caller knows the block's hash, the bytes are not touched; else the hash is computed, after
 * sendfile from the pages that it has just made hot. A hash of bytes that changed in between does not match
 * on the other side, so nothing wrong can pass.
 *
 * One thread uses a sender. */
#ifndef COMMON_SENDER_H
#define COMMON_SENDER_H

#include "common/digest.h"
#include "common/disk.h"
#include "common/pacer.h"
#include "common/wire.h"
#include "proto/listing.h"

#include <stdatomic.h>

/* Below this a read and a copy cost less than sendfile's page references and a second read for the hash. */
#define SENDER_COPY_MAX ((uint64_t)64 << 10)
/* A piece that is sent, and then hashed while its pages are hot. */
#define SENDER_PIECE ((size_t)1 << 20)
/* The steps in which a piece is read again and hashed: the buffer stays in the processor's second cache
 * (measured: client CPU 0.20 s/GB instead of 0.23 with 1 MB, a push of one file over loopback). */
#define SENDER_STEP ((size_t)512 << 10)

struct sender {
    struct wire *wire;   /* borrowed */
    struct pacer *pacer; /* borrowed; NULL after sender_init(): no limit */
    size_t piece;        /* SENDER_PIECE, or less under a low limit */
    struct disk *disk;   /* borrowed; NULL after sender_init(): blocks are read as they are sent */
    struct digest *digest;
    uint8_t *buffer; /* SENDER_STEP */
    bool refuses_sendfile;
    /* For others to read while it works: */
    _Atomic uint64_t payload_bytes, hashed_bytes, sendfile_bytes;
};

void sender_init(struct sender *sender, struct wire *wire);
/* From now on what it sends counts against the pacer's rate, together with what others send. */
void sender_limit(struct sender *sender, struct pacer *pacer);

void sender_release(struct sender *sender);

/* Sends block `block` of file number `file`, described by `entry`, read from `fd` (which may be -1: then the
 * block is sent as void with *trouble as it stands). `known` is its hash, or NULL; `hash` gets what was sent
 * in the trailer.
 *
 * 0: the block was sent; *trouble says ERROR_NONE, or why the block is void: it could not be read
 * (ERROR_FILE), or the file is no longer of the size and mtime of `entry` (ERROR_CHANGED). -1: the connection
 * is gone. */
int sender_block(struct sender *sender, int fd, const struct file_entry *entry, uint32_t file, uint64_t block,
                 const uint8_t *known, uint8_t hash[HASH_SIZE], struct error *trouble, struct error *err);

/* Tells the kernel that the file will be read front to back. posix_fadvise() returns its error; none matters.
 */
void sender_advise(int fd, uint64_t size);

#endif
