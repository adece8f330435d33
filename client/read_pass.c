/* Nothing is done with the bytes: one load a page is what a mapping needs to be there. */
#include "client/read_pass.h"

#include "client/interrupt.h"
#include "common/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *read_pass_buffer(void)
{
    void *buffer;
    if (posix_memalign(&buffer, (size_t)sysconf(_SC_PAGESIZE), READ_PASS_BUFFER) != 0)
        return NULL;
    memset(buffer, 1, READ_PASS_BUFFER); /* zeroes could stay one shared page */
    return buffer;
}

static int shrank(const struct bench_file *file, struct error *err)
{
    return error_set(err, ERROR_CHANGED, "the file shrank while it was read: '%s'", file->path);
}

static int read_plain(const struct bench_file *file, int fd, void *buffer, struct error *err)
{
    int failed = posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (failed != 0)
        return error_set_sys(err, ERROR_FILE, failed, "cannot announce sequential reads of '%s'", file->path);
    for (uint64_t done = 0; done < file->size;) {
        uint64_t left = file->size - done;
        size_t wanted = left < READ_PASS_BUFFER ? (size_t)left : READ_PASS_BUFFER;
        if (interrupt_check(err) < 0)
            return -1;
        ssize_t n = fdio_read(fd, buffer, wanted);
        if (n < 0)
            return error_set_sys(err, ERROR_FILE, errno, "cannot read '%s'", file->path);
        if ((size_t)n < wanted)
            return shrank(file, err);
        done += (size_t)n;
    }
    return 0;
}

/* ---- mmap ---- */

static sigjmp_buf fault;

static void on_fault(int number)
{
    (void)number;
    siglongjmp(fault, 1);
}

/* A function of its own, so that no variable of the loop lives where the jump comes out. */
__attribute__((noinline)) static void touch(const volatile uint8_t *map, uint64_t length, uint64_t step)
{
    for (uint64_t at = 0; at < length; at += step)
        (void)map[at];
}

/* False if the kernel could not bring a page. */
static bool try_touch(const uint8_t *map, uint64_t length, uint64_t step)
{
    if (sigsetjmp(fault, 1) != 0)
        return false;
    touch(map, length, step);
    return true;
}

static int explain_fault(const struct bench_file *file, int fd, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size < file->size)
        return shrank(file, err);
    return error_set_sys(err, ERROR_FILE, EIO, "cannot read '%s'", file->path);
}

static int touch_all(const struct bench_file *file, int fd, const uint8_t *map, struct error *err)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (uint64_t done = 0, piece; done < file->size; done += piece) {
        uint64_t left = file->size - done;
        piece = left < READ_PASS_BUFFER ? left : READ_PASS_BUFFER;
        if (interrupt_check(err) < 0)
            return -1;
        if (!try_touch(map + done, piece, page))
            return explain_fault(file, fd, err);
    }
    return 0;
}

static int read_mapped(const struct bench_file *file, int fd, struct error *err)
{
    struct sigaction ours = {.sa_handler = on_fault}, before;
    void *map = mmap(NULL, (size_t)file->size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_set_sys(err, ERROR_FILE, errno, "cannot map '%s'", file->path);
    (void)sigaction(SIGBUS, &ours, &before);
    int result = touch_all(file, fd, map, err);
    (void)sigaction(SIGBUS, &before, NULL);
    (void)munmap(map, (size_t)file->size);
    return result;
}

/* ---- all files ---- */

static int read_file(const struct bench_file *file, enum read_mode mode, void *buffer, struct error *err)
{
    struct stat st;
    int fd = bench_files_open(file, err);
    if (fd < 0)
        return -1;
    int result = 0;
    if (file->size > 0)
        result = mode == READ_MODE_MMAP ? read_mapped(file, fd, err) : read_plain(file, fd, buffer, err);
    if (result == 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size < file->size)
        result = shrank(file, err); /* by less than a page, or behind what was read */
    fdio_drop(&fd);
    return result;
}

int read_pass(const struct bench_files *files, enum read_mode mode, void *buffer, struct error *err)
{
    for (size_t i = 0; i < files->count; i++)
        if (read_file(&files->files[i], mode, buffer, err) < 0)
            return -1;
    return 0;
}
