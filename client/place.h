/* Where a file lies, as far as that decides how fast it is read: mount, read-ahead, block devices or, for a
 * network mount, connections and interface.
 *
 *   place_find() … place_add_json() … place_release()
 *
 * What cannot be found is left out; nothing here fails. Any thread; blocking. */
#ifndef CLIENT_PLACE_H
#define CLIENT_PLACE_H

#include "client/block.h"
#include "client/nic.h"
#include "common/mount.h"
#include "proto/json.h"

#include <stdbool.h>
#include <stdint.h>

struct place {
    bool has_mount;
    struct mount mount;
    struct block_stack stack; /* empty for a network mount */
    bool has_read_ahead;
    uint64_t read_ahead_kb; /* of the file system's bdi, which rules reads without a hint and all of mmap */
    bool has_connections;
    unsigned connections; /* TCP connections of an NFS mount */
    bool has_nic;
    struct nic nic; /* toward the server of a network mount */
};

void place_find(struct place *place, int fd);
void place_release(struct place *place);

/* One line for people: "/mnt/nas: nfs4, 4 TCP connections, eth0 10000 Mbit/s, read-ahead 128 KB". Cut to fit;
 * names in it are as the kernel has them, so escape it where it is shown. Returns `out`. */
#define PLACE_TEXT_MAX 512
const char *place_text(const struct place *place, char out[PLACE_TEXT_MAX]);

/* Adds the members that are known: mount, read_ahead_kb, device, nfs_connections, nic. */
void place_add_json(struct json *conditions, const struct place *place);

#endif
