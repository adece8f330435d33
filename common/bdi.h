/* How far the kernel reads ahead for a file system: the read_ahead_kb of its "backing device info", which
 * rules reads without a hint and all of mmap (Documentation/ABI/testing/sysfs-class-bdi). Any thread.
 *
 * `root` as in common/sysfile.h. */
#ifndef COMMON_BDI_H
#define COMMON_BDI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BDI_NAME_MAX 64

/* The folder in /sys/class/bdi for the file system of an open file: the device number "8:0" of the whole disk
 * or "0:53" of a network mount; "btrfs-1", which btrfs names by its UUID. SMB and others have names "TYPE-N",
 * and which N is whose is told nowhere: it counts only where there is just one. `type` is that of the mount
 * (common/mount.h), or NULL. False where there is none. */
bool bdi_find(const char *root, int fd, const char *type, char name[BDI_NAME_MAX]);

bool bdi_read_ahead(const char *root, const char *name, uint64_t *kb);

#endif
