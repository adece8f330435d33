/* How received files are written: the value of `--io` on both programs.
 *
 * IO_AUTO takes IO_DIRECT for large files where the file system can, else IO_BUFFERED.
 * Threads: pure functions and constant data. */
#ifndef COMMON_IO_MODE_H
#define COMMON_IO_MODE_H

#include "proto/error.h"

enum io_mode {
    IO_AUTO,
    IO_BUFFERED, /* through the page cache, with paced writeback */
    IO_DIRECT,   /* O_DIRECT from aligned buffers */
};

/* The names in the order of enum io_mode, ended by NULL: "auto", "buffered", "direct". */
extern const char *const io_mode_names[];

int io_mode_parse(const char *text, enum io_mode *mode, struct error *err);

#endif
