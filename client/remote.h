/* Answers of the server that several commands read. On the loop's thread. */
#ifndef CLIENT_REMOTE_H
#define CLIENT_REMOTE_H

#include "client/control.h"
#include "proto/listing.h"

/* Reads `files …, ready` of a pull. The listing is checked: no path twice. *origin (or NULL, if it is not
 * wanted) becomes what the server says of where the model comes from, or NULL; free() it. */
int remote_read_listing(struct control *control, struct listing *listing, char **origin, struct error *err);

/* Asks for the kept block hashes of a file. 1 with `hashes` (blocks × HASH_SIZE) filled, 0 if the server has
 * none, -1. */
int remote_block_hashes(struct control *control, uint32_t file, uint64_t blocks, uint8_t *hashes,
                        struct error *err);

#endif
