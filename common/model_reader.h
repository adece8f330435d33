/* A file of a model as the parsers of headers see it: its size, and bytes at an offset.
 *
 * Two ways to read it: model_reader_get() for a piece whose place is known, and a cursor for a header that is
 * walked through field by field; it reads ahead in pieces of MODEL_CURSOR_BUFFER bytes and skips without
 * reading. Both never go beyond `size`, whatever the file says of itself. Blocking as the descriptor is; a
 * reader is const and may be shared, a cursor belongs to one thread. */
#ifndef COMMON_MODEL_READER_H
#define COMMON_MODEL_READER_H

#include "common/model_finding.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct model_reader {
    uint64_t size;
    /* As pread(2), but whole: fewer bytes only at the end of the file, -1 with errno. */
    ssize_t (*read)(void *context, void *buffer, size_t length, uint64_t offset);
    void *context;
};

/* Reads `fd`, which is borrowed. */
struct model_reader model_reader_of_fd(int fd, uint64_t size);

/* All `length` bytes from `offset`; the caller has held both against `size`. FINDING_UNREADABLE otherwise. */
int model_reader_get(const struct model_reader *in, void *buffer, size_t length, uint64_t offset,
                     struct finding *why);

#define MODEL_CURSOR_BUFFER 16384

struct model_cursor {
    const struct model_reader *in;
    uint64_t at;   /* of the next byte */
    uint64_t most; /* the cursor does not go beyond; the file's size or less */
    uint64_t base; /* offset of buffer[0] */
    size_t held;
    uint8_t buffer[MODEL_CURSOR_BUFFER];
};

/* Starts at the first byte. What lies behind `most` bytes is no header any more. */
void model_cursor_init(struct model_cursor *cursor, const struct model_reader *in, uint64_t most);

/* How many bytes may still be taken. */
uint64_t model_cursor_left(const struct model_cursor *cursor);

/* The next `length` bytes. FINDING_CUT_FILE where the file ends before, FINDING_OVERSIZED_HEADER at `most`.
 */
int model_cursor_take(struct model_cursor *cursor, void *to, size_t length, struct finding *why);
int model_cursor_skip(struct model_cursor *cursor, uint64_t length, struct finding *why);
/* A little-endian number of 1 to 8 bytes. */
int model_cursor_number(struct model_cursor *cursor, int bytes, uint64_t *number, struct finding *why);

#endif
