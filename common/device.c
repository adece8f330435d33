/* A number leads to a folder in /sys/dev/block, and a name to a number in /sys/class/block. */
#include "common/device.h"

#include "common/path.h"
#include "common/sysfile.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static void find_disk(struct device *device, const char *root)
{
    uint64_t number;
    bool is_part = sysfile_number(&number, "%s/sys/dev/block/%s/partition", root, device->number);
    (void)snprintf(device->disk, sizeof device->disk, "/sys/dev/block/%s%s", device->number,
                   is_part ? "/.." : "");
}

static bool read_number(struct device *device, const char *root, const char *name)
{
    return sysfile_line(device->number, sizeof device->number, "%s/sys/class/block/%s/dev", root, name);
}

/* The device mapper's, which have names of their own beside "dm-0". */
static bool find_mapped(struct device *device, const char *root, const char *name)
{
    char pattern[PATH_MAX], line[NAME_MAX + 1];
    glob_t maps;
    bool found = false;
    (void)snprintf(pattern, sizeof pattern, "%s/sys/class/block/dm-*", root);
    int result = glob(pattern, GLOB_NOSORT, NULL, &maps);
    for (size_t i = 0; result == 0 && !found && i < maps.gl_pathc; i++)
        found = sysfile_line(line, sizeof line, "%s/dm/name", maps.gl_pathv[i]) && strcmp(line, name) == 0 &&
                read_number(device, root, path_name(maps.gl_pathv[i]));
    globfree(&maps);
    return found;
}

bool device_of_source(struct device *device, const char *root, const char *source)
{
    static const char folder[] = "/dev/", mapper[] = "/dev/mapper/";
    bool found = strncmp(source, mapper, strlen(mapper)) == 0
                     ? find_mapped(device, root, source + strlen(mapper))
                     : strncmp(source, folder, strlen(folder)) == 0 &&
                           read_number(device, root, source + strlen(folder));
    if (found)
        find_disk(device, root);
    return found;
}

bool device_of_fd(struct device *device, const char *root, int fd)
{
    struct stat st;
    struct mount mount;
    if (fstat(fd, &st) < 0)
        return false;
    if (major(st.st_dev) != 0) {
        (void)snprintf(device->number, sizeof device->number, "%u:%u", major(st.st_dev), minor(st.st_dev));
        find_disk(device, root);
        return true;
    }
    if (!mount_of_fd(fd, &mount))
        return false;
    bool found = device_of_source(device, root, mount.source);
    mount_release(&mount);
    return found;
}
