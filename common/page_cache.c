/* One question to two system calls: the newer one answers at once, the older one needs a mapping of the range
 * and is asked in windows, so that a huge file costs no huge vector. */
#include "common/page_cache.h"

#include "common/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.5, the same number on all architectures (include/uapi/asm-generic/unistd.h); Debian 12's headers do
 * not have it. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* mm/mincore.c copies a page of answers at a time anyway: 16384 pages, 64 MiB of file where pages are 4 KiB.
 */
#define WINDOW_PAGES 16384

/* struct cachestat_range and struct cachestat of include/uapi/linux/mman.h. */
struct range {
    uint64_t offset, length;
};

struct counts {
    uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

static uint64_t page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether the kernel tells this process about the file's pages: owner, root, or who could write to it. */
static bool may_know(int fd)
{
    char path[64];
    struct stat st;
    if (fstat(fd, &st) < 0)
        return true; /* the question itself will fail, with the right errno */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return geteuid() == 0 || st.st_uid == geteuid() || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static int count_window(int fd, uint64_t offset, uint64_t pages, uint64_t *found)
{
    static _Thread_local unsigned char states[WINDOW_PAGES];
    size_t length = (size_t)(pages * page_size());
    void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    if (map == MAP_FAILED)
        return -1;
    int result = mincore(map, length, states);
    int saved = errno;
    (void)munmap(map, length);
    errno = saved;
    for (uint64_t i = 0; result == 0 && i < pages; i++)
        *found += states[i] & 1;
    return result;
}

static int count_by_mincore(int fd, uint64_t first, uint64_t pages, uint64_t *found)
{
    *found = 0;
    for (uint64_t done = 0, step; done < pages; done += step) {
        step = pages - done < WINDOW_PAGES ? pages - done : WINDOW_PAGES;
        if (count_window(fd, (first + done) * page_size(), step, found) < 0)
            return -1;
    }
    return 0;
}

int page_cache_resident(int fd, uint64_t offset, uint64_t length, uint64_t *bytes)
{
    struct range range = {offset, length};
    struct counts counts;
    *bytes = 0;
    if (length == 0)
        return 0;
    if (!may_know(fd)) {
        errno = EPERM;
        return -1;
    }
    uint64_t pages = 0;
    if (syscall(SYS_cachestat, fd, &range, &counts, 0) == 0) {
        pages = counts.cached;
    } else { /* not in this kernel, not for this file system, or forbidden by a container */
        uint64_t first = offset / page_size(), last = (offset + length - 1) / page_size();
        if (count_by_mincore(fd, first, last - first + 1, &pages) < 0)
            return -1;
    }
    *bytes = pages * page_size() < length ? pages * page_size() : length;
    return 0;
}

int page_cache_drop(int fd)
{
    if (fdio_fdatasync(fd) < 0)
        return -1;
    int failed = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (failed == 0)
        return 0;
    errno = failed;
    return -1;
}
