/* Takes the payloads of DATA from a wire into a staging: the server's streams in a push, the client's in a
 * pull.
 *
 * The payload is read in pieces into one reused buffer, hashed while it is in the cache, and written; for
 * files written with O_DIRECT whole blocks are collected first. A block counts only when its hash has
 * matched. The caller reads the chunk header and has held it against the plan. One thread uses a receiver. */
#ifndef COMMON_RECEIVER_H
#define COMMON_RECEIVER_H

#include "common/digest.h"
#include "common/pacer.h"
#include "common/staging.h"
#include "common/wire.h"

#include <stdatomic.h>

/* A piece that fits the processor's cache: received, hashed and written before the next (design: 0.20 s/GB; 8
 * MB pieces of four streams left the cache and cost 0.37). */
#define RECEIVER_PIECE ((size_t)1 << 20)

struct receiver {
    struct wire *wire;       /* borrowed */
    struct staging *staging; /* borrowed */
    struct pacer *pacer;     /* borrowed; NULL after receiver_init(): no limit */
    size_t piece;            /* RECEIVER_PIECE, or less under a low limit */
    struct digest *digest;
    uint8_t *buffer; /* BLOCK_SIZE, aligned for O_DIRECT; the buffered path uses its first piece */
    _Atomic uint64_t payload_bytes, hashed_bytes; /* for others to read while it works */
    /* Unless NULL: called by receiver_block() when `arrived` bytes of the block have come and more are to
     * come; -1 if the connection is gone. */
    int (*on_piece)(struct receiver *receiver, uint64_t arrived, struct error *err);
};

enum receiver_answer {
    RECEIVER_STORED, /* or it was there already */
    RECEIVER_BAD,    /* the hash did not match */
    RECEIVER_VOID,   /* the sender could not read it; *trouble says so */
    RECEIVER_FAILED, /* it cannot be stored; *trouble says why */
};

void receiver_init(struct receiver *receiver, struct wire *wire, struct staging *staging);
/* From now on what it reads counts against the pacer's rate, together with what others read. */
void receiver_limit(struct receiver *receiver, struct pacer *pacer);

void receiver_release(struct receiver *receiver);

/* Reads payload and trailer of `chunk`. 0 with *answer set, and *hash with what the sender said; -1 when the
 * connection is gone. */
int receiver_block(struct receiver *receiver, const struct chunk *chunk, enum receiver_answer *answer,
                   uint8_t hash[HASH_SIZE], struct error *trouble, struct error *err);

#endif
