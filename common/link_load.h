/* Blocks from and to memory over a wire: what the link alone carries, without disks and hashes
 * (docs/protocol.md, section 5.3). Both ends of a `link` request use it.
 *
 *   link_load_init() … link_load_send() or link_load_receive() … link_load_release()
 *
 * A block is sent as DATA of file 0 at offset 0, by sendfile from memory: the cheapest way there is, as in a
 * pull. Received bytes go into one reused buffer. Not verified: the link's checksums are what counts here.
 * One thread. */
#ifndef COMMON_LINK_LOAD_H
#define COMMON_LINK_LOAD_H

#include "common/sender.h"

struct link_load {
    struct wire *wire; /* borrowed */
    int memory;        /* a memfd of one block */
    struct file_entry entry;
    struct sender sender;
    uint8_t *buffer;
    _Atomic uint64_t bytes; /* sent or received, for others to read */
};

int link_load_init(struct link_load *load, struct wire *wire, struct error *err);
void link_load_release(struct link_load *load);

int link_load_send(struct link_load *load, struct error *err);
/* Payload and trailer of `chunk`, a DATA of file 0 at offset 0 with at most BLOCK_SIZE bytes, else
 * ERROR_PROTOCOL. */
int link_load_receive(struct link_load *load, const struct chunk *chunk, struct error *err);

#endif
