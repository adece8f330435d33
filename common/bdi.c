/* Most are named by their device number; each of the others is found its own way. */
#include "common/bdi.h"

#include "common/device.h"
#include "common/path.h"
#include "common/sysfile.h"
#include "proto/hex.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

bool bdi_read_ahead(const char *root, const char *name, uint64_t *kb)
{
    return sysfile_number(kb, "%s/sys/class/bdi/%s/read_ahead_kb", root, name);
}

/* Copies the last part of a path. */
static bool take_last_part(const char *path, char name[BDI_NAME_MAX])
{
    return (size_t)snprintf(name, BDI_NAME_MAX, "%s", path_name(path)) < BDI_NAME_MAX;
}

static bool find_btrfs(const char *root, int fd, char name[BDI_NAME_MAX])
{
    struct btrfs_ioctl_fs_info_args info = {0};
    char id[HEX_MAX(BTRFS_FSID_SIZE)], path[PATH_MAX], target[PATH_MAX];
    if (ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
        return false;
    (void)hex_print(id, info.fsid, BTRFS_FSID_SIZE);
    (void)snprintf(path, sizeof path, "%s/sys/fs/btrfs/%.8s-%.4s-%.4s-%.4s-%s/bdi", root, id, id + 8, id + 12,
                   id + 16, id + 20);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    return take_last_part(target, name);
}

/* The whole disk, or the number of a file system that is on none. */
static bool find_number(const char *root, int fd, dev_t number, char name[BDI_NAME_MAX])
{
    struct device device;
    uint64_t kb;
    if (major(number) != 0 && device_of_fd(&device, root, fd) &&
        sysfile_line(name, BDI_NAME_MAX, "%s%s/dev", root, device.disk))
        return true;
    (void)snprintf(name, BDI_NAME_MAX, "%u:%u", major(number), minor(number));
    return bdi_read_ahead(root, name, &kb);
}

static bool find_only_one(const char *root, const char *type, char name[BDI_NAME_MAX])
{
    char pattern[PATH_MAX];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/sys/class/bdi/%.28s-*", root, type);
    bool good = glob(pattern, GLOB_NOSORT, NULL, &found) == 0 && found.gl_pathc == 1;
    good = good && take_last_part(found.gl_pathv[0], name);
    globfree(&found);
    return good;
}

bool bdi_find(const char *root, int fd, const char *type, char name[BDI_NAME_MAX])
{
    struct stat st;
    struct statfs fs;
    if (fstat(fd, &st) < 0)
        return false;
    if (fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC && find_btrfs(root, fd, name))
        return true;
    return find_number(root, fd, st.st_dev, name) || (type && find_only_one(root, type, name));
}
