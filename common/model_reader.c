/* Reading what the header of a file needs, and nothing of the weights behind it. */
#include "common/model_reader.h"

#include "common/fdio.h"
#include "proto/bytes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static ssize_t read_fd(void *context, void *buffer, size_t length, uint64_t offset)
{
    return fdio_pread((int)(intptr_t)context, buffer, length, offset);
}

struct model_reader model_reader_of_fd(int fd, uint64_t size)
{
    return (struct model_reader){size, read_fd, (void *)(intptr_t)fd};
}

int model_reader_get(const struct model_reader *in, void *buffer, size_t length, uint64_t offset,
                     struct finding *why)
{
    assert(length <= in->size && offset <= in->size - length);
    ssize_t n = in->read(in->context, buffer, length, offset);
    if (n < 0)
        return finding_set(why, FINDING_UNREADABLE, "cannot be read: %s", strerror(errno));
    if ((size_t)n < length)
        return finding_set(why, FINDING_UNREADABLE, "became shorter than %" PRIu64 " bytes while it was read",
                           in->size);
    return 0;
}

void model_cursor_init(struct model_cursor *cursor, const struct model_reader *in, uint64_t most)
{
    cursor->in = in;
    cursor->at = cursor->base = 0;
    cursor->held = 0;
    cursor->most = in->size < most ? in->size : most;
}

uint64_t model_cursor_left(const struct model_cursor *cursor)
{
    return cursor->most - cursor->at;
}

static int check(const struct model_cursor *cursor, uint64_t length, struct finding *why)
{
    if (length <= model_cursor_left(cursor))
        return 0;
    if (cursor->most < cursor->in->size)
        return finding_set(why, FINDING_OVERSIZED_HEADER, "has a header of more than %" PRIu64 " bytes",
                           cursor->most);
    return finding_set(why, FINDING_CUT_FILE,
                       "is cut off: it ends inside its header, after %" PRIu64 " bytes", cursor->in->size);
}

/* Fills the buffer from the next byte on. */
static int refill(struct model_cursor *cursor, struct finding *why)
{
    uint64_t left = model_cursor_left(cursor);
    size_t length = left < MODEL_CURSOR_BUFFER ? (size_t)left : MODEL_CURSOR_BUFFER;
    cursor->base = cursor->at;
    cursor->held = 0;
    if (model_reader_get(cursor->in, cursor->buffer, length, cursor->at, why) < 0)
        return -1;
    cursor->held = length;
    return 0;
}

int model_cursor_take(struct model_cursor *cursor, void *to, size_t length, struct finding *why)
{
    if (check(cursor, length, why) < 0)
        return -1;
    for (size_t done = 0; done < length;) {
        uint64_t in_buffer = cursor->at - cursor->base;
        if (in_buffer >= cursor->held) {
            if (refill(cursor, why) < 0)
                return -1;
            in_buffer = 0;
        }
        size_t there = cursor->held - (size_t)in_buffer;
        size_t n = length - done < there ? length - done : there;
        memcpy((uint8_t *)to + done, cursor->buffer + in_buffer, n);
        cursor->at += n;
        done += n;
    }
    return 0;
}

int model_cursor_skip(struct model_cursor *cursor, uint64_t length, struct finding *why)
{
    if (check(cursor, length, why) < 0)
        return -1;
    cursor->at += length;
    return 0;
}

int model_cursor_number(struct model_cursor *cursor, int bytes, uint64_t *number, struct finding *why)
{
    uint8_t field[8];
    if (model_cursor_take(cursor, field, (size_t)bytes, why) < 0)
        return -1;
    *number = get_le(field, bytes);
    return 0;
}
