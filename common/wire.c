/* Two buffers around a socket. Nothing here knows what the bytes mean. */
#include "common/wire.h"

#include "common/clock.h"
#include "common/fdio.h"
#include "common/socket.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void wire_init(struct wire *wire, int fd)
{
    memset(wire, 0, sizeof *wire);
    wire->fd = fd;
    wire->in = malloc(WIRE_IN_SIZE);
    wire->out = malloc(WIRE_OUT_SIZE);
    if (!wire->in || !wire->out)
        abort();
}

void wire_release(struct wire *wire)
{
    free(wire->in);
    free(wire->out);
    memset(wire, 0, sizeof *wire);
    wire->fd = -1;
}

static int lost(struct error *err, ssize_t result)
{
    if (result == 0)
        return error_set(err, ERROR_LOST, "the connection was closed");
    return error_set_sys(err, ERROR_LOST, errno, "the connection was lost");
}

/* One recv of at most `length` bytes, at least `length` with MSG_WAITALL where the stream goes on. */
static ssize_t receive(struct wire *wire, void *buffer, size_t length, int flags)
{
    uint64_t lap = clock_ns();
    ssize_t n;
    do
        n = recv(wire->fd, buffer, length, flags);
    while (n < 0 && errno == EINTR);
    wire->activity.socket_ns += clock_lap(&lap);
    return n;
}

int wire_read(struct wire *wire, void *buffer, size_t length, struct error *err)
{
    uint8_t *to = buffer;
    while (length > 0) {
        size_t ready = wire_buffered(wire);
        size_t take = ready < length ? ready : length;
        memcpy(to, wire->in + wire->in_start, take);
        wire->in_start += take;
        to += take;
        length -= take;
        if (length == 0)
            break;
        /* The buffer is empty now: fill it, or pass it by. */
        wire->in_start = wire->in_end = 0;
        bool direct = length >= WIRE_IN_SIZE;
        ssize_t n =
            direct ? receive(wire, to, length, MSG_WAITALL) : receive(wire, wire->in, WIRE_IN_SIZE, 0);
        if (n <= 0)
            return lost(err, n);
        if (direct) {
            to += n;
            length -= (size_t)n;
        } else {
            wire->in_end = (size_t)n;
        }
    }
    return 0;
}

int wire_is_readable(struct wire *wire, int wait_ms, struct error *err)
{
    while (wire_buffered(wire) < CHUNK_HEADER_SIZE) {
        if (wire->in_start > 0) {
            memmove(wire->in, wire->in + wire->in_start, wire_buffered(wire));
            wire->in_end -= wire->in_start;
            wire->in_start = 0;
        }
        if (wait_ms > 0 && socket_wait(wire->fd, POLLIN, -1, wait_ms) < 0)
            return lost(err, -1);
        wait_ms = 0;
        ssize_t n = receive(wire, wire->in + wire->in_end, WIRE_IN_SIZE - wire->in_end, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n <= 0)
            return lost(err, n);
        wire->in_end += (size_t)n;
    }
    return 1;
}

int wire_read_chunk(struct wire *wire, struct chunk *chunk, struct error *err)
{
    uint8_t header[CHUNK_HEADER_SIZE];
    if (wire_read(wire, header, sizeof header, err) < 0)
        return -1;
    return chunk_decode(chunk, header, err);
}

int wire_send(struct wire *wire, const void *bytes, size_t length, bool more, struct error *err)
{
    uint64_t lap = clock_ns();
    ssize_t result = fdio_send(wire->fd, bytes, length, more);
    wire->activity.socket_ns += clock_lap(&lap);
    return result < 0 ? lost(err, -1) : 0;
}

int wire_flush(struct wire *wire, bool more, struct error *err)
{
    if (wire->out_used > 0 && wire_send(wire, wire->out, wire->out_used, more, err) < 0)
        return -1;
    wire->out_used = 0;
    return 0;
}

uint8_t *wire_room(struct wire *wire, size_t length, struct error *err)
{
    assert(length <= WIRE_OUT_SIZE);
    if (WIRE_OUT_SIZE - wire->out_used < length && wire_flush(wire, true, err) < 0)
        return NULL;
    return wire->out + wire->out_used;
}

void wire_took(struct wire *wire, size_t length)
{
    wire->out_used += length;
}

int wire_put(struct wire *wire, const void *bytes, size_t length, struct error *err)
{
    uint8_t *room = wire_room(wire, length, err);
    if (!room)
        return -1;
    memcpy(room, bytes, length);
    wire_took(wire, length);
    return 0;
}

int wire_put_chunk(struct wire *wire, const struct chunk *chunk, struct error *err)
{
    uint8_t header[CHUNK_HEADER_SIZE];
    chunk_encode(chunk, header);
    return wire_put(wire, header, sizeof header, err);
}
