/* How bench read reads, what it does to the page cache before, and what it found there. The names are those
 * of the command line and of the JSON lines. */
#ifndef CLIENT_READ_MODE_H
#define CLIENT_READ_MODE_H

enum read_mode {
    READ_MODE_READ, /* read(2), large and in order, with the hint that it is: what the path can give */
    READ_MODE_MMAP, /* each page of a mapping in order, without a hint: what a loader that maps gets */
};
extern const char *const read_mode_names[]; /* ended by NULL */

/* What is asked for. */
enum cache_wish {
    CACHE_WISH_COLD,
    CACHE_WISH_WARM,
    CACHE_WISH_NONE, /* as it is; has no name */
};
extern const char *const cache_wish_names[]; /* ended by NULL */

/* What was measured. */
enum cache_state {
    CACHE_COLD,
    CACHE_WARM,
    CACHE_MIXED, /* neither, or the kernel does not tell */
};
extern const char *const cache_state_names[]; /* ended by NULL */

/* Up to this share of the bytes in the page cache a figure is the disk's; from that one on it is memory's. In
 * between it is nobody's. */
#define CACHE_COLD_MAX 0.05
#define CACHE_WARM_MIN 0.95

enum cache_state cache_state_of(double cached_share);

#endif
