/* Sizes and limits of the protocol; docs/protocol.md has them in words. */
#ifndef PROTO_LIMITS_H
#define PROTO_LIMITS_H

#include <stdint.h>

/* The unit of hashing, resume, repair and splitting, and the size of a copy buffer. Measured: receive cost
 * falls up to 8 MB a write with direct I/O and no further; 400 GB are 50 000 blocks, 800 KB of hashes. */
#define BLOCK_SIZE ((uint64_t)8 << 20)
#define HASH_SIZE  16

/* Nonces, keys and proofs: 256 bits. */
#define SECRET_SIZE 32

/* Names that others have for a file's bytes: SHA-256, and Git's id of a blob, a SHA-1. */
#define SHA256_SIZE   32
#define GIT_BLOB_SIZE 20

#define LIMIT_FRAME        ((uint32_t)1 << 20) /* bytes of JSON in one control frame */
#define LIMIT_JSON_DEPTH   8
#define LIMIT_TEXT         511  /* bytes of a text field */
#define LIMIT_ORIGIN       255  /* characters of a model's origin */
#define LIMIT_PATH         4095 /* bytes of a path; PATH_MAX without its NUL */
#define LIMIT_NAME         255  /* bytes of one part of a path; NAME_MAX */
#define LIMIT_PARTS        64   /* of a path; who walks a model holds a descriptor for each */
#define LIMIT_ID_PART      96   /* characters of a namespace or a model name; the Hub's rule */
#define LIMIT_ID           (2 * LIMIT_ID_PART + 1)
#define LIMIT_BATCH_FILES  4096                /* entries of one `files` message */
#define LIMIT_BATCH_BYTES  ((size_t)256 << 10) /* where a sender starts the next batch */
#define LIMIT_BATCH_HASHES 8192
#define LIMIT_FILES        ((uint64_t)1 << 18) /* files of one model */
#define LIMIT_PATHS        ((size_t)32 << 20)  /* bytes of all its paths: a listing takes 85 MB at most */
#define LIMIT_SIZE         (((uint64_t)1 << 53) - 1) /* whole numbers that JSON carries exactly */
#define LIMIT_STREAMS      64
#define LIMIT_SESSIONS     1024 /* that one `status` tells of */
/* Bytes that one request may measure a disk with. */
#define LIMIT_MEASURE (UINT64_C(1) << 40)
/* Bytes of `alive` that `host` may ask for: some packets of 9000 bytes, and soon made. */
#define LIMIT_PADDING   ((uint64_t)64 << 10)
#define LIMIT_FACTS     256 /* answers to `host` */
#define LIMIT_FACT_NAME 48  /* characters of its name */

#define HELLO_TIMEOUT_MS 10000
#define ALIVE_EVERY_MS   2000 /* the page says at least every 5 s */

/* A number that JSON carries, the largest where it is larger. */
static inline uint64_t limit_size(uint64_t number)
{
    return number < LIMIT_SIZE ? number : LIMIT_SIZE;
}

/* Number of blocks of a file: an empty file has one, of length 0. */
static inline uint64_t block_count(uint64_t size)
{
    return size == 0 ? 1 : (size - 1) / BLOCK_SIZE + 1;
}

/* Length of block `index` of a file of `size` bytes; `index` must be below block_count(size). */
static inline uint64_t block_length(uint64_t size, uint64_t index)
{
    uint64_t left = size - index * BLOCK_SIZE;
    return left < BLOCK_SIZE ? left : BLOCK_SIZE;
}

#endif
