/* Writing and reading as a transfer does it, with nothing else in between. */
#include "common/disk_load.h"

#include "common/clock.h"
#include "common/disk.h"
#include "common/fdio.h"
#include "common/page_cache.h"
#include "common/partfile.h"
#include "common/receiver.h"
#include "common/sender.h"
#include "common/staging.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define AHEAD (STAGING_AHEAD_BLOCKS * BLOCK_SIZE)

static int file_error(struct error *err, const char *what)
{
    return error_set_sys(err, ERROR_FILE, errno, "cannot %s the file that the disk is measured with", what);
}

/* A file that has a name for a moment, where the file system has none without. */
static int open_unlinked(int folder)
{
    uint64_t random = 0;
    char name[32];
    (void)getrandom(&random, sizeof random, 0);
    (void)snprintf(name, sizeof name, ".bench.%016llx", (unsigned long long)random);
    int fd = fdio_openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && unlinkat(folder, name, 0) < 0) { /* not while it is open: it goes unused, then */
        int sys = errno;
        fdio_drop(&fd);
        (void)unlinkat(folder, name, 0);
        errno = sys;
    }
    return fd;
}

int disk_load_open(struct disk_load *load, int folder, bool direct, struct error *err)
{
    memset(load, 0, sizeof *load);
    load->fd = fdio_openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (load->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL))
        load->fd = open_unlinked(folder);
    if (load->fd < 0)
        return file_error(err, "make");
    load->direct = direct && !disk_is_memory(load->fd);
    return 0;
}

void disk_load_close(struct disk_load *load)
{
    fdio_drop(&load->fd);
}

static int check_space(const struct disk_load *load, uint64_t bytes, struct error *err)
{
    struct disk_space space;
    char need[UNITS_TEXT_MAX], have[UNITS_TEXT_MAX];
    if (!disk_space(load->fd, &space) || bytes <= space.available / 2)
        return 0;
    return error_set(
        err, ERROR_NO_SPACE,
        "measuring with %s would take more than half of the %s that are free; say less with --size",
        units_format_bytes(need, bytes), units_format_bytes(have, space.available));
}

/* O_DIRECT on or off; false where the file system cannot. */
static bool set_direct(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/* Bytes that no disk can make smaller. */
static uint8_t *make_block(void)
{
    uint8_t *block = aligned_alloc(PARTFILE_ALIGN, BLOCK_SIZE);
    uint64_t word = 0;
    if (!block)
        abort();
    (void)getrandom(&word, sizeof word, 0);
    for (size_t at = 0; at < BLOCK_SIZE;
         at += sizeof word) { /* a linear congruential generator (Knuth, MMIX) */
        word = word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(block + at, &word, sizeof word);
    }
    return block;
}

static int go_on(const struct disk_load *load, uint64_t bytes, struct error *err)
{
    if (!load->progress || load->progress(load->context, bytes))
        return 0;
    return error_set(err, ERROR_INTERRUPTED, "stopped");
}

static int write_block(struct disk_load *load, const uint8_t *block, uint64_t at, struct error *err)
{
    ssize_t n = fdio_pwrite(load->fd, block, BLOCK_SIZE, at);
    if (n < 0 && errno == EINVAL && load->direct) { /* another alignment is wanted: through the cache, then */
        load->direct = false;
        (void)set_direct(load->fd, false);
        n = fdio_pwrite(load->fd, block, BLOCK_SIZE, at);
    }
    if (n < 0)
        return file_error(err, "write");
    if (load->direct)
        return 0;
    if (fdio_sync_range(load->fd, at, BLOCK_SIZE, SYNC_FILE_RANGE_WRITE) < 0 ||
        (at >= AHEAD && fdio_sync_range(load->fd, at - AHEAD, BLOCK_SIZE,
                                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                            SYNC_FILE_RANGE_WAIT_AFTER) < 0))
        return file_error(err, "write back");
    return 0;
}

int disk_load_write(struct disk_load *load, uint64_t bytes, struct disk_rate *rate, struct error *err)
{
    uint64_t blocks = (bytes + BLOCK_SIZE - 1) / BLOCK_SIZE, lap = clock_ns();
    int result = 0;
    memset(rate, 0, sizeof *rate);
    if (check_space(load, blocks * BLOCK_SIZE, err) < 0)
        return -1;
    uint8_t *block = make_block();
    load->direct = load->direct && set_direct(load->fd, true);
    (void)clock_lap(&lap);
    for (uint64_t i = 0; result == 0 && i < blocks; i++)
        result =
            write_block(load, block, i * BLOCK_SIZE, err) < 0 || go_on(load, (i + 1) * BLOCK_SIZE, err) < 0
                ? -1
                : 0;
    if (result == 0 && fdio_fdatasync(load->fd) < 0)
        result = file_error(err, "flush");
    rate->ns = clock_lap(&lap);
    rate->bytes = load->size = blocks * BLOCK_SIZE;
    (void)set_direct(load->fd, false);
    free(block);
    return result;
}

int disk_load_read_file(struct disk_load *load, int fd, uint64_t bytes, struct disk_rate *rate,
                        struct error *err)
{
    uint64_t cached = 0, before = rate->bytes, done = 0;
    ssize_t n = 1;
    uint8_t *buffer = malloc(SENDER_PIECE);
    if (!buffer)
        abort();
    (void)page_cache_drop(fd);
    if (page_cache_resident(fd, 0, bytes, &cached) == 0)
        rate->cached += cached;
    sender_advise(fd, bytes);
    uint64_t lap = clock_ns();
    while (n > 0 && done < bytes && go_on(load, before + done, err) == 0) {
        uint64_t left = bytes - done;
        if (done % BLOCK_SIZE ==
            0) /* the disk never waits for the next question: its own rate is what is asked for */
            (void)posix_fadvise(fd, (off_t)(done + BLOCK_SIZE), BLOCK_SIZE, POSIX_FADV_WILLNEED);
        n = fdio_pread(fd, buffer, left < SENDER_PIECE ? (size_t)left : SENDER_PIECE, done);
        done += n > 0 ? (uint64_t)n : 0;
    }
    rate->ns += clock_lap(&lap);
    rate->bytes += done;
    free(buffer);
    if (n < 0)
        return file_error(err, "read");
    return done == bytes || n == 0 ? 0 : -1;
}

int disk_load_read(struct disk_load *load, struct disk_rate *rate, struct error *err)
{
    memset(rate, 0, sizeof *rate);
    return disk_load_read_file(load, load->fd, load->size, rate, err);
}
