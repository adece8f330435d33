/* A server is believed no more than a client: everything is counted and held against what was asked. */
#include "client/remote.h"

#include <stdlib.h>
#include <string.h>

static int check_listing(const struct listing *listing, struct error *err)
{
    const char *clash;
    uint32_t *index = listing_index(listing, &clash);
    if (!index)
        return error_set(err, ERROR_PROTOCOL, "the server's listing names '%s' twice", clash);
    free(index);
    return 0;
}

int remote_read_listing(struct control *control, struct listing *listing, char **origin, struct error *err)
{
    if (origin)
        *origin = NULL;
    for (;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        enum message_type type = message.type;
        bool good = type == MESSAGE_READY;
        if (type == MESSAGE_FILES)
            good = listing_add_batch(listing, &message.u.files);
        if (!good)
            (void)control_unexpected(&message, err);
        if (type == MESSAGE_READY && origin) {
            *origin = message.u.ready.origin;
            message.u.ready.origin = NULL;
        }
        message_release(&message);
        if (!good)
            return -1;
        if (type == MESSAGE_READY)
            return check_listing(listing, err);
    }
}

/* One run of hashes into its place. */
static bool take_blocks(const struct message *message, uint32_t file, uint64_t blocks, uint64_t *got,
                        uint8_t *hashes)
{
    uint64_t first = message->u.blocks.first, count = message->u.blocks.hashes.count;
    if (message->u.blocks.file != file || first != *got || count > blocks - first)
        return false;
    memcpy(hashes + first * HASH_SIZE, message->u.blocks.hashes.bytes, count * HASH_SIZE);
    *got += count;
    return true;
}

int remote_block_hashes(struct control *control, uint32_t file, uint64_t blocks, uint8_t *hashes,
                        struct error *err)
{
    struct message ask = {.type = MESSAGE_HASHES, .u.hashes = {file}};
    uint64_t got = 0;
    if (control_send(control, &ask, err) < 0)
        return -1;
    for (;;) {
        struct message message;
        if (control_next(control, &message, err) < 0)
            return -1;
        bool over = message.type == MESSAGE_END && (got == 0 || got == blocks);
        bool good =
            over || (message.type == MESSAGE_BLOCKS && take_blocks(&message, file, blocks, &got, hashes));
        if (!good)
            (void)control_unexpected(&message, err);
        message_release(&message);
        if (!good)
            return -1;
        if (over)
            return got > 0;
    }
}
