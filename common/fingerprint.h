/* One number for all files of a version: another one as soon as a path, a size or a modification time is.
 *
 * Two copies with the same number are the same version as far as size and time tell, which is what a push and
 * a pull go by too. It tells nothing of the order of the listing. Pure, any thread. */
#ifndef COMMON_FINGERPRINT_H
#define COMMON_FINGERPRINT_H

#include "proto/listing.h"

#include <stdint.h>

/* 1 to LIMIT_SIZE: 53 bits of a hash, which JSON carries exactly. 0 for a listing that names a path twice. */
uint64_t fingerprint_of(const struct listing *listing);

#endif
