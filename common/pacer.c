/* One number says it all: the moment up to which the link is spoken for. */
#include "common/pacer.h"

#include "common/clock.h"
#include "common/socket.h"

#include <poll.h>

#define PIECE_MIN       ((size_t)4 << 10)
#define PIECES_A_SECOND 10

void pacer_init(struct pacer *pacer, uint64_t bytes_per_s, int cancel_fd)
{
    pacer->bytes_per_s = bytes_per_s;
    pacer->cancel_fd = cancel_fd;
    pthread_mutex_init(&pacer->lock, NULL);
    pacer->next_ns = clock_ns();
}

void pacer_release(struct pacer *pacer)
{
    pthread_mutex_destroy(&pacer->lock);
}

size_t pacer_piece(uint64_t bytes_per_s, size_t most)
{
    while (most > PIECE_MIN && most > bytes_per_s / PIECES_A_SECOND)
        most /= 2;
    return most;
}

/* The moment at which these bytes may move. */
static uint64_t reserve(struct pacer *pacer, uint64_t bytes, uint64_t now)
{
    uint64_t burst = (uint64_t)PACER_BURST_MS * 1000000u;
    pthread_mutex_lock(&pacer->lock);
    if (pacer->next_ns + burst < now)
        pacer->next_ns = now - burst;
    uint64_t at = pacer->next_ns;
    pacer->next_ns += (uint64_t)((double)bytes * 1e9 / (double)pacer->bytes_per_s);
    pthread_mutex_unlock(&pacer->lock);
    return at;
}

void pacer_take(struct pacer *pacer, uint64_t bytes)
{
    uint64_t now = clock_ns(), at = reserve(pacer, bytes, now);
    if (at > now)
        (void)socket_wait(pacer->cancel_fd, POLLIN, -1, (int)((at - now + 999999) / 1000000));
}
