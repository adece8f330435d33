/* The block device below a file system: where /sys tells about it. Any thread.
 *
 * `root` as in common/sysfile.h. */
#ifndef COMMON_DEVICE_H
#define COMMON_DEVICE_H

#include "common/mount.h"

#include <stdbool.h>

#define DEVICE_NUMBER_MAX 32 /* "4095:1048575" */
#define DEVICE_FOLDER_MAX 64

struct device {
    char number[DEVICE_NUMBER_MAX]; /* "8:1" */
    char disk[DEVICE_FOLDER_MAX]; /* below the root, the folder of the whole disk: "/sys/dev/block/8:1/.." */
};

/* Of the file system of an open file. Most have the number of their device; btrfs has one of its own, and its
 * mount names the device, of several one. False where there is none: networks, memory, file systems with a
 * pool of their own (ZFS). */
bool device_of_fd(struct device *device, const char *root, int fd);

/* The same for a mount with a number of its own. /dev is not looked at: a sandbox may hide it. */
bool device_of_source(struct device *device, const char *root, const char *source);

#endif
