/* Whatever becomes of the block, exactly its payload and trailer are read, so the next header is found where
 * it should be. */
#include "common/receiver.h"

#include "common/clock.h"
#include "common/partfile.h"

#include <stdlib.h>
#include <string.h>

void receiver_init(struct receiver *receiver, struct wire *wire, struct staging *staging)
{
    atomic_store(&receiver->payload_bytes, 0);
    atomic_store(&receiver->hashed_bytes, 0);
    receiver->wire = wire;
    receiver->on_piece = NULL;
    receiver->pacer = NULL;
    receiver->piece = RECEIVER_PIECE;
    receiver->staging = staging;
    receiver->digest = digest_create();
    receiver->buffer = aligned_alloc(PARTFILE_ALIGN, BLOCK_SIZE);
    if (!receiver->buffer)
        abort();
}

void receiver_limit(struct receiver *receiver, struct pacer *pacer)
{
    receiver->pacer = pacer;
    receiver->piece = pacer_piece(pacer->bytes_per_s, RECEIVER_PIECE);
}

void receiver_release(struct receiver *receiver)
{
    digest_destroy(&receiver->digest);
    free(receiver->buffer);
    receiver->buffer = NULL;
}

/* One block on its way: where its bytes go, and whether they still go anywhere. */
struct arrival {
    const struct chunk *chunk;
    struct claim claim;
    enum staging_answer claimed;
    struct error *trouble;
};

static void write_bytes(struct receiver *r, struct arrival *a, const void *bytes, size_t length, uint64_t at)
{
    if (a->claimed == STAGING_CLAIMED && length > 0)
        a->claimed = staging_write(r->staging, &a->claim, bytes, length, at, a->trouble);
}

static void pause_for(struct receiver *r, size_t length)
{
    if (!r->pacer)
        return;
    uint64_t lap = clock_ns();
    pacer_take(r->pacer, length);
    r->wire->activity.paused_ns += clock_lap(&lap);
}

/* Piece by piece: read, hash, write. With `whole` the pieces are collected, and written when they are proven.
 */
static int receive(struct receiver *r, struct arrival *a, bool whole, struct error *err)
{
    uint64_t length = a->chunk->length;
    for (uint64_t at = 0; at < length;) {
        size_t piece = length - at < r->piece ? (size_t)(length - at) : r->piece;
        pause_for(r, piece);
        uint8_t *to = whole ? r->buffer + at : r->buffer;
        if (wire_read(r->wire, to, piece, err) < 0)
            return -1;
        digest_update(r->digest, to, piece);
        atomic_fetch_add_explicit(&r->payload_bytes, piece, memory_order_relaxed);
        atomic_fetch_add_explicit(&r->hashed_bytes, piece, memory_order_relaxed);
        uint64_t lap = clock_ns();
        if (!whole)
            write_bytes(r, a, to, piece, at);
        r->wire->activity.file_ns += clock_lap(&lap);
        at += piece;
        if (r->on_piece && at < length && r->on_piece(r, at, err) < 0)
            return -1;
    }
    return 0;
}

/* The block is whole and its bytes are proven: it ends up stored, by this stream or by another. */
static enum receiver_answer store(struct receiver *r, struct arrival *a, bool whole,
                                  const uint8_t hash[HASH_SIZE])
{
    uint64_t block = a->chunk->offset / BLOCK_SIZE, lap = clock_ns();
    if (whole) {
        a->claimed = staging_begin(r->staging, a->chunk->file, block, true, &a->claim, a->trouble);
        write_bytes(r, a, r->buffer, (size_t)a->chunk->length, 0);
    }
    if (a->claimed == STAGING_CLAIMED)
        a->claimed = staging_end(r->staging, &a->claim, hash, a->trouble);
    if (a->claimed == STAGING_TAKEN)
        a->claimed = staging_wait(r->staging, a->chunk->file, block, a->trouble);
    r->wire->activity.file_ns += clock_lap(&lap);
    return a->claimed == STAGING_FAILED ? RECEIVER_FAILED : RECEIVER_STORED;
}

static void abandon(struct receiver *r, const struct arrival *a)
{
    if (a->claimed == STAGING_CLAIMED)
        staging_abandon(r->staging, &a->claim);
}

static int read_trailer(struct receiver *r, uint8_t hash[HASH_SIZE], enum error_code *status,
                        struct error *err)
{
    uint8_t trailer[CHUNK_TRAILER_SIZE];
    if (wire_read(r->wire, trailer, sizeof trailer, err) < 0)
        return -1;
    return chunk_trailer_decode(hash, status, trailer, err);
}

int receiver_block(struct receiver *r, const struct chunk *chunk, enum receiver_answer *answer,
                   uint8_t hash[HASH_SIZE], struct error *trouble, struct error *err)
{
    uint8_t computed[HASH_SIZE];
    enum error_code status = ERROR_NONE;
    struct arrival a = {.chunk = chunk, .claimed = STAGING_TAKEN, .trouble = trouble};
    bool whole = chunk->length <= RECEIVER_PIECE || staging_is_direct(r->staging, chunk->file);
    uint64_t lap = clock_ns();
    if (!whole)
        a.claimed =
            staging_begin(r->staging, chunk->file, chunk->offset / BLOCK_SIZE, false, &a.claim, trouble);
    r->wire->activity.file_ns += clock_lap(&lap);
    whole = a.claimed == STAGING_TAKEN; /* another stream writes it: this copy waits in memory */
    digest_begin(r->digest);
    if (receive(r, &a, whole, err) < 0 || read_trailer(r, hash, &status, err) < 0) {
        abandon(r, &a);
        return -1;
    }
    digest_finish(r->digest, computed);
    if (a.claimed == STAGING_FAILED) {
        *answer = RECEIVER_FAILED;
    } else if (status != ERROR_NONE) {
        abandon(r, &a);
        error_set(trouble, status, "the sender could not read it");
        *answer = RECEIVER_VOID;
    } else if (memcmp(hash, computed, HASH_SIZE) != 0) {
        abandon(r, &a);
        *answer = RECEIVER_BAD;
    } else {
        *answer = store(r, &a, whole, hash);
    }
    return 0;
}
