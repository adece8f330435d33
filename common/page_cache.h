/* What of a file the kernel holds in its page cache, and taking it out of there: for figures that have to say
 * whether a disk or memory was measured.
 *
 * Both look at this machine's cache alone; what a server, a controller or a hypervisor keeps cannot be seen.
 * Descriptors are borrowed, their offsets are left as they are. Results are 0, or -1 with errno set.
 * Any thread; blocking. */
#ifndef COMMON_PAGE_CACHE_H
#define COMMON_PAGE_CACHE_H

#include <stdint.h>

/* How many of the `length` bytes from `offset` are cached, by cachestat(2) (Linux 6.5), else by mincore(2).
 * The kernel counts pages: the answer is good to one page at each end, and never more than `length`.
 *
 * EPERM: the file is neither this user's nor writable. Of such a file the kernel tells nothing: cachestat
 * refuses (mm/filemap.c, can_do_cachestat), and mincore calls every page resident (mm/mincore.c,
 * can_do_mincore), which would make each cold read a warm one. */
int page_cache_resident(int fd, uint64_t offset, uint64_t length, uint64_t *bytes);

/* Writes back what is dirty, for dirty pages do not drop, and then drops the file's pages. Pages that are
 * mapped or in use elsewhere stay, without an error: measure afterwards. */
int page_cache_drop(int fd);

#endif
