/* The small text files of /proc and /sys. Any thread. */
#ifndef CLIENT_SYSFILE_H
#define CLIENT_SYSFILE_H

#include <stdbool.h>
#include <stdint.h>

/* More than any of them has: mountstats of a hundred NFS mounts has about 1 MB. What is longer is cut. */
#define SYSFILE_MAX ((size_t)4 << 20)

/* The text of the file that printf makes of the arguments; free() it. NULL if it cannot be read. */
char *sysfile_read(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The whole number that such a file consists of. False if it has none, or a negative one (an interface
 * without a link has the speed -1). */
bool sysfile_number(uint64_t *number, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
