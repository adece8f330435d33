/* Locks are tried again and again rather than waited for in the kernel, which would not notice that the user
 * wants to end. */
#include "client/cache_lock.h"

#include "client/interrupt.h"
#include "client/output.h"

#include "common/fdio.h"
#include "common/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

/* Nobody minds a twentieth of a second before gigabytes, and twenty calls a second cost nothing. */
#define TRY_EVERY_MS 50

/* The locks before, the holds from here on: 1 is the first number of a folder. */
#define FIRST_HOLD 16

#define ROOM_NAME ".room"

static struct flock range(short type, uint64_t start, uint64_t length)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)start, .l_len = (off_t)length};
}

static int open_lock(const struct cache *cache, const char *name, struct error *err)
{
    int fd = fdio_openat(cache->lock, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd >= 0 ? fd
                   : error_set_sys(err, ERROR_FAILED, errno, "cannot open the lock '%s/lock/%s'", cache->path,
                                   name);
}

int cache_lock_open(const struct cache *cache, const char *model, struct error *err)
{
    char name[CACHE_NAME_MAX];
    return open_lock(cache, cache_flat_name(name, model, ""), err);
}

int cache_lock_open_room(const struct cache *cache, struct error *err)
{
    return open_lock(cache, ROOM_NAME, err);
}

bool cache_lock_try(int fd, enum cache_lock lock)
{
    struct flock want = range(F_WRLCK, lock, 1);
    return fcntl(fd, F_OFD_SETLK, &want) == 0;
}

void cache_lock_drop(int fd, enum cache_lock lock)
{
    struct flock none = range(F_UNLCK, lock, 1);
    (void)fcntl(fd, F_OFD_SETLK, &none);
}

int cache_lock_take(int fd, enum cache_lock lock, const char *model, const struct options *options,
                    struct error *err)
{
    for (int waited = 0;; waited = 1) {
        if (cache_lock_try(fd, lock))
            return waited;
        if (errno != EAGAIN && errno != EACCES)
            return error_set_sys(err, ERROR_FAILED, errno, "cannot lock '%s' in the cache", model);
        if (!waited && lock == CACHE_LOCK_PULL)
            output_note(options, "%s is being fetched by another process; waiting for it", model);
        (void)socket_wait(interrupt_fd(), POLLIN, -1, TRY_EVERY_MS);
        if (interrupt_check(err) < 0)
            return -1;
    }
}

static bool is_free(int fd, struct flock *want)
{
    return fcntl(fd, F_OFD_GETLK, want) == 0 && want->l_type == F_UNLCK;
}

bool cache_lock_is_taken(int fd, enum cache_lock lock)
{
    struct flock want = range(F_WRLCK, lock, 1);
    return !is_free(fd, &want);
}

int cache_lock_hold(int fd, uint64_t folder, struct error *err)
{
    struct flock want = range(F_RDLCK, FIRST_HOLD + folder, 1);
    return fcntl(fd, F_OFD_SETLK, &want) == 0
               ? 0
               : error_set_sys(err, ERROR_FAILED, errno, "cannot hold a version in the cache");
}

bool cache_lock_is_held(int fd, uint64_t folder)
{
    struct flock want = range(F_WRLCK, FIRST_HOLD + folder, folder > 0); /* length 0: to the end */
    return !is_free(fd, &want);
}
