/* The block device below a file system, and the devices below that one: partition, device-mapper, md, disks.
 *
 * How many bytes each of them delivers while a file is read tells where the bytes came from; a cache between
 * them shows as a disk that delivered less than was asked for. The functions over text and counts are pure.
 * Any thread. */
#ifndef CLIENT_BLOCK_H
#define CLIENT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_NAME_MAX 32 /* DISK_NAME_LEN of include/linux/genhd.h */
#define BLOCK_MOST     64 /* devices of a stack; what is beyond is left out */

struct block_device {
    char name[BLOCK_NAME_MAX]; /* "nvme0n1p2", "dm-0" */
    bool is_leaf;              /* nothing below it: a disk, or a partition of one */
    bool is_rotational;        /* what it says; virtual disks may say anything */
    bool is_counted;           /* its statistics are not turned off (queue/iostats) */
};

/* devices[0] is the one that the file system lies on. */
struct block_stack {
    struct block_device devices[BLOCK_MOST];
    size_t count;
};

/* Finds the stack by device number (common/device.h). False, and empty, where there is no such device. */
bool block_stack_find(struct block_stack *stack, const char *number);

/* Bytes that each device of the stack has delivered since the machine started, from the text of
 * /proc/diskstats (Documentation/admin-guide/iostats.rst; its sectors always have 512 bytes). A device
 * without a line has 0, as all have where there is no text. */
void block_parse_counts(const struct block_stack *stack, const char *diskstats, uint64_t bytes[BLOCK_MOST]);

/* Whether the devices delivered far less (under half) of what they should have, which is `expected` bytes: a
 * cache below the page cache did. Where rotating and other disks are mixed, the rotating ones should have.
 * False where a device is not counted. */
bool block_is_cache_suspected(const struct block_stack *stack, const uint64_t bytes[BLOCK_MOST],
                              uint64_t expected);

#endif
