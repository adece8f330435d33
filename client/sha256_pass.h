/* The SHA-256 of whole files. For control_work(): it reads them. */
#ifndef CLIENT_SHA256_PASS_H
#define CLIENT_SHA256_PASS_H

#include "proto/error.h"
#include "proto/listing.h"

#include <stdatomic.h>

/* Of the first `size` bytes of folder/path. False where it has fewer, cannot be read, or after a signal.
 * *bytes_read grows by what is read, for others to look at. */
bool sha256_file(int folder, const char *path, uint64_t size, uint8_t out[SHA256_SIZE],
                 _Atomic uint64_t *bytes_read);

/* push --sha256, before the files are sent: sets it in each file of `local`, below `folder`, for which
 * neither it nor, where the file is FROM_LIVE, `stored` knows one. A pass of its own, one file after the
 * other: the plan that carries the hashes goes before the bytes, and the streams send the blocks of a file in
 * any order. A file that cannot be read as it was listed stays without; sending it says what is wrong. -1
 * only after a signal. */
int sha256_pass(int folder, struct listing *local, const struct listing *stored, _Atomic uint64_t *bytes_read,
                struct error *err);

#endif
