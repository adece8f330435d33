/* Whatever becomes of the block, exactly its payload and trailer are read, so the next header is found where
 * it should be. */
#include "common/receiver.h"

#include "common/partfile.h"

#include <stdlib.h>
#include <string.h>

void receiver_init(struct receiver *receiver, struct wire *wire, struct staging *staging)
{
    atomic_store(&receiver->payload_bytes, 0);
    atomic_store(&receiver->hashed_bytes, 0);
    receiver->wire = wire;
    receiver->staging = staging;
    receiver->digest = digest_create();
    receiver->buffer = aligned_alloc(PARTFILE_ALIGN, BLOCK_SIZE);
    if (!receiver->buffer)
        abort();
}

void receiver_release(struct receiver *receiver)
{
    digest_destroy(&receiver->digest);
    free(receiver->buffer);
    receiver->buffer = NULL;
}

/* One block on its way: where its bytes go, and whether they still go anywhere. */
struct arrival {
    struct staging_claim claim;
    enum staging_answer claimed;
    struct error *trouble;
};

static void write_piece(struct receiver *r, struct arrival *a, const void *bytes, size_t length, uint64_t at)
{
    if (a->claimed == STAGING_CLAIMED)
        a->claimed = staging_write(r->staging, &a->claim, bytes, length, at, a->trouble);
}

/* Piece by piece: read, hash, write. */
static int receive_pieces(struct receiver *r, struct arrival *a, uint64_t length, struct error *err)
{
    for (uint64_t at = 0; at < length;) {
        size_t piece = length - at < RECEIVER_PIECE ? (size_t)(length - at) : RECEIVER_PIECE;
        if (wire_read(r->wire, r->buffer, piece, err) < 0)
            return -1;
        digest_update(r->digest, r->buffer, piece);
        write_piece(r, a, r->buffer, piece, at);
        at += piece;
    }
    return 0;
}

/* Read and hash piece by piece into one buffer; the caller writes it when it is proven. */
static int receive_whole(struct receiver *r, uint64_t length, struct error *err)
{
    for (uint64_t at = 0; at < length;) {
        size_t piece = length - at < RECEIVER_PIECE ? (size_t)(length - at) : RECEIVER_PIECE;
        if (wire_read(r->wire, r->buffer + at, piece, err) < 0)
            return -1;
        digest_update(r->digest, r->buffer + at, piece);
        at += piece;
    }
    return 0;
}

static enum receiver_answer judge(struct receiver *r, struct arrival *a, const uint8_t hash[HASH_SIZE],
                                  const uint8_t computed[HASH_SIZE], enum error_code status)
{
    if (a->claimed == STAGING_HAVE)
        return RECEIVER_STORED;
    if (a->claimed == STAGING_FAILED)
        return RECEIVER_FAILED;
    if (status != ERROR_NONE) {
        staging_abandon(r->staging, &a->claim);
        error_set(a->trouble, status, "the sender could not read it");
        return RECEIVER_VOID;
    }
    if (memcmp(hash, computed, HASH_SIZE) != 0) {
        staging_abandon(r->staging, &a->claim);
        return RECEIVER_BAD;
    }
    return staging_end(r->staging, &a->claim, hash, a->trouble) == STAGING_FAILED ? RECEIVER_FAILED
                                                                                  : RECEIVER_STORED;
}

static void count(struct receiver *r, uint64_t length)
{
    atomic_fetch_add_explicit(&r->payload_bytes, length, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->hashed_bytes, length, memory_order_relaxed);
}

int receiver_block(struct receiver *r, const struct chunk *chunk, enum receiver_answer *answer,
                   uint8_t hash[HASH_SIZE], struct error *trouble, struct error *err)
{
    uint8_t trailer[CHUNK_TRAILER_SIZE], computed[HASH_SIZE];
    enum error_code status = ERROR_NONE;
    struct arrival a = {.trouble = trouble};
    a.claimed = staging_begin(r->staging, chunk->file, chunk->offset / BLOCK_SIZE, &a.claim, trouble);
    bool whole = chunk->length <= RECEIVER_PIECE || staging_is_direct(r->staging, chunk->file);
    digest_begin(r->digest);
    int result = whole ? receive_whole(r, chunk->length, err) : receive_pieces(r, &a, chunk->length, err);
    if (result == 0)
        result = wire_read(r->wire, trailer, sizeof trailer, err);
    if (result == 0)
        result = chunk_trailer_decode(hash, &status, trailer, err);
    if (result < 0) {
        if (a.claimed == STAGING_CLAIMED)
            staging_abandon(r->staging, &a.claim);
        return -1;
    }
    count(r, chunk->length);
    digest_finish(r->digest, computed);
    bool good = status == ERROR_NONE && memcmp(hash, computed, HASH_SIZE) == 0;
    if (whole && good && chunk->length > 0)
        write_piece(r, &a, r->buffer, (size_t)chunk->length, 0);
    *answer = judge(r, &a, hash, computed, status);
    return 0;
}
