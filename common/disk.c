/* The kernel's own read-ahead cannot know that other files are read beside this one. */
#include "common/disk.h"

#include "common/device.h"
#include "common/fdio.h"
#include "common/sysfile.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

/* POSIX_FADV_WILLNEED reads no more at a time than the larger of read-ahead and the device's optimal request,
 * and drops the rest (mm/readahead.c, force_page_cache_ra): a piece that is less than most devices' 1280 KB.
 */
#define FETCH_PIECE ((uint64_t)1 << 20)

bool disk_is_rotational(int fd)
{
    struct device device;
    uint64_t flag;
    return device_of_fd(&device, "", fd) && sysfile_number(&flag, "%s/queue/rotational", device.disk) &&
           flag == 1;
}

bool disk_is_memory(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

bool disk_space(int fd, struct disk_space *space)
{
    struct statvfs fs;
    if (fstatvfs(fd, &fs) < 0 || fs.f_blocks == 0)
        return false;
    space->total = (uint64_t)fs.f_blocks * fs.f_frsize;
    space->available = (uint64_t)fs.f_bavail * fs.f_frsize;
    return true;
}

void disk_init(struct disk *disk, int fd)
{
    disk->is_rotational = disk_is_rotational(fd);
    pthread_mutex_init(&disk->turn, NULL);
}

void disk_release(struct disk *disk)
{
    pthread_mutex_destroy(&disk->turn);
}

void disk_fetch(struct disk *disk, int fd, uint64_t offset, uint64_t length)
{
    char last;
    if (!disk->is_rotational || length == 0)
        return;
    pthread_mutex_lock(&disk->turn);
    for (uint64_t at = 0; at < length; at += FETCH_PIECE) {
        uint64_t piece = length - at < FETCH_PIECE ? length - at : FETCH_PIECE;
        (void)posix_fadvise(fd, (off_t)(offset + at), (off_t)piece, POSIX_FADV_WILLNEED);
    }
    (void)fdio_pread(fd, &last, 1, offset + length - 1); /* the turn is over when the run is */
    pthread_mutex_unlock(&disk->turn);
}
