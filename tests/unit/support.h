/* What several unit tests need: a folder of their own that goes at the end, files with known bytes, plans.
 *
 * Folders are made in $TMPDIR or, without it, in the current folder. cmocka's assertions belong to the main
 * thread: other threads count what went wrong and the test looks at the counter after the join. */
#ifndef UNIT_SUPPORT_H
#define UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/digest.h"
#include "common/path.h"
#include "proto/listing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct scratch {
    char path[256];
    int fd;
};

/* cmocka setup and teardown: *state is a struct scratch. */
static inline int scratch_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    struct scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch)
        return -1;
    (void)snprintf(scratch->path, sizeof scratch->path, "%s/mstore-unit-XXXXXX", base && *base ? base : ".");
    scratch->fd = mkdtemp(scratch->path) ? open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    *state = scratch;
    return scratch->fd < 0 ? -1 : 0;
}

static inline int scratch_teardown(void **state)
{
    struct scratch *scratch = *state;
    (void)close(scratch->fd);
    bool absolute = scratch->path[0] == '/'; /* path_remove_tree() goes down from a folder only */
    int from = absolute ? open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    int result = path_remove_tree(from, scratch->path + absolute);
    if (absolute)
        (void)close(from);
    free(scratch);
    return result;
}

#define scratch_test(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

/* Bytes that differ from block to block and from seed to seed. */
static inline void fill(uint8_t *bytes, size_t length, uint32_t seed)
{
    uint64_t x = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < length; i += sizeof x) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t mixed = x ^ (x >> 29);
        memcpy(bytes + i, &mixed, length - i < sizeof mixed ? length - i : sizeof mixed);
    }
}

static inline uint8_t *filled(size_t length, uint32_t seed)
{
    uint8_t *bytes = malloc(length + 1);
    assert_non_null(bytes);
    fill(bytes, length, seed);
    return bytes;
}

static inline int make_dir(int folder, const char *name)
{
    assert_int_equal(mkdirat(folder, name, 0777), 0);
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static inline void write_file(int folder, const char *path, const void *bytes, size_t length)
{
    int fd = openat(folder, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, (const char *)bytes + done, length - done);
        assert_true(n > 0);
        done += (size_t)n;
    }
    assert_int_equal(close(fd), 0);
}

/* The whole file, or NULL if it is not there; free() it. */
static inline uint8_t *read_whole(int folder, const char *path, size_t *length)
{
    struct stat st;
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    *length = 0;
    if (fd < 0)
        return NULL;
    assert_int_equal(fstat(fd, &st), 0);
    uint8_t *bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    size_t done = 0;
    for (ssize_t n; done < (size_t)st.st_size; done += (size_t)n) {
        n = read(fd, bytes + done, (size_t)st.st_size - done);
        assert_true(n > 0);
    }
    (void)close(fd);
    *length = done;
    return bytes;
}

static inline bool is_there(int folder, const char *path)
{
    struct stat st;
    return fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Whether the file has exactly these bytes. */
static inline bool file_equals(int folder, const char *path, const void *bytes, size_t length)
{
    size_t got = 0;
    uint8_t *there = read_whole(folder, path, &got);
    bool equal = there && got == length && memcmp(there, bytes, length) == 0;
    free(there);
    return equal;
}

static inline void plan_add(struct listing *plan, const char *path, uint64_t size, enum file_from from)
{
    struct file_entry entry = {.path = (char *)path,
                               .size = size,
                               .mtime = 1700000000,
                               .nsec = 123456789,
                               .source = 7,
                               .from = from};
    listing_add(plan, &entry);
}

/* Two connected blocking sockets: over TCP on the loopback, or of the local kind. */
static inline void socket_pair(int ends[2], bool tcp)
{
    if (!tcp) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        return;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &length), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&address, length), 0);
    ends[1] = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    assert_true(ends[1] >= 0);
    (void)close(listening);
}

/* Descriptors open in this process: what a test opened it has to close. */
static inline int count_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

#endif
