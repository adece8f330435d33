/* The small text files in which the kernel tells about itself (/proc, /sys). Any thread.
 *
 * What cannot be read is not known, and no error: these files differ between kernels, and sandboxes hide
 * some. Where a `root` is named elsewhere, it is "" for this machine or a folder that stands for it, in which
 * tests plant files: sysfile_read("%s/proc/stat", root). */
#ifndef COMMON_SYSFILE_H
#define COMMON_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than any of them has: mountstats of a hundred NFS mounts has about 1 MB. What is longer is cut. */
#define SYSFILE_MAX ((size_t)4 << 20)

/* The text of the file that printf makes of the arguments; free() it. NULL if it cannot be read. */
char *sysfile_read(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Its first line without the end, cut to fit. False, and "", if it cannot be read. */
bool sysfile_line(char *line, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The whole number that such a file consists of. False if it has none, or a negative one (an interface
 * without a link has the speed -1). */
bool sysfile_number(uint64_t *number, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* -- in texts: pure -- */

/* The number behind `key` in lines such as "MemTotal:  8 kB" or "pswpin 8", as it stands there. */
bool sysfile_field(const char *text, const char *key, uint64_t *number);

/* Number `at` (from 0) of a row of words between blanks. */
bool sysfile_column(const char *row, unsigned at, uint64_t *number);

#endif
