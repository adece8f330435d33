/* Facts of the file system and the disk under an open folder. Its path is not among them.
 *
 *   folder_sample(&before, root, fd) … some time … folder_sample(&after, root, fd)
 *   folder_facts(facts, root, fd, &before, &after)
 *
 * `root` as in common/sysfile.h, for what is read in /sys; the mount is that of the descriptor. What cannot
 * be read is left out: a network file system and ZFS have no disk here, and of several (btrfs) it is the one
 * that the mount names. May block where the file system hangs. Thread-safe.
 *
 * | name | what, source |
 * | --- | --- |
 * | disk_filesystem, disk_options | text: of the mount; options with a path in them are left out |
 * | disk_number | text: "8:1", the device number by which findmnt(8) finds the mount |
 * | disk_device | text: "sda", the whole disk |
 * | disk_bdi | text: "8:0" or "btrfs-1", the folder in /sys/class/bdi |
 * | disk_bytes, disk_free_bytes | of the file system; free for users other than root |
 * | disk_is_rotational | 0 or 1: what the disk says, which in virtual machines may be wrong |
 * | disk_read_ahead_kb | of the bdi |
 * | disk_busy_percent, disk_read_bytes_per_s, disk_write_bytes_per_s | between the samples, whole disk |
 * | disk_raid_action | text: what a Linux RAID does besides: `idle`, `check`, `resync`, … | */
#ifndef COMMON_FOLDER_FACTS_H
#define COMMON_FOLDER_FACTS_H

#include "common/facts.h"
#include "proto/limits.h"

struct folder_sample {
    uint64_t ns; /* monotonic */
    bool has_disk;
    uint64_t busy_ms, read_sectors, written_sectors; /* since boot */
};

void folder_sample(struct folder_sample *sample, const char *root, int folder);

void folder_facts(struct fact_list *facts, const char *root, int folder, const struct folder_sample *before,
                  const struct folder_sample *after);

/* Adds those of a list of options, with commas between, that name no path, as far as they fit. Pure. */
void folder_add_options(char out[LIMIT_TEXT + 1], const char *options);

#endif
