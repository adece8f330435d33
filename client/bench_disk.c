/* The same work at both ends, here by a call, there by a request. */
#include "client/bench_disk.h"

#include "client/control.h"
#include "client/interrupt.h"
#include "common/disk_load.h"
#include "common/fdio.h"

#include <errno.h>
#include <fcntl.h>

static struct bench_rate from_disk(const struct disk_rate *rate)
{
    return (struct bench_rate){rate->bytes, rate->ns, rate->cached};
}

static bool go_on(void *context, uint64_t bytes)
{
    (void)context;
    (void)bytes;
    return !interrupt_is_set();
}

int bench_disk_here(const struct options *options, uint64_t bytes, struct bench_rate *write,
                    struct bench_rate *read, struct error *err)
{
    struct disk_load load;
    struct disk_rate written, came;
    int folder = fdio_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot open the current folder");
    int result = disk_load_open(&load, folder, options->io == IO_DIRECT, err);
    fdio_drop(&folder);
    if (result < 0)
        return -1;
    load.progress = go_on;
    if (disk_load_write(&load, bytes, &written, err) < 0 || disk_load_read(&load, &came, err) < 0) {
        (void)interrupt_check(err);
        result = -1;
    } else {
        *write = from_disk(&written);
        *read = from_disk(&came);
    }
    disk_load_close(&load);
    return result;
}

/* `progress …, measured …, end`. */
static int read_answer(struct control *control, struct bench_rate *write, struct bench_rate *read,
                       struct error *err)
{
    for (bool over = false; !over;) {
        struct message m;
        int result = 0;
        if (control_next(control, &m, err) < 0)
            return -1;
        if (m.type == MESSAGE_MEASURED)
            *(m.u.measured.write ? write : read) =
                (struct bench_rate){m.u.measured.bytes, m.u.measured.ns, m.u.measured.cached};
        else if (m.type != MESSAGE_PROGRESS && m.type != MESSAGE_END)
            result = control_unexpected(&m, err);
        over = m.type == MESSAGE_END;
        message_release(&m);
        if (result < 0)
            return -1;
    }
    return 0;
}

int bench_disk_there(const struct options *options, const char *model, uint64_t bytes,
                     struct bench_rate *write, struct bench_rate *read, struct error *err)
{
    struct control control;
    struct message request = {.type = model ? MESSAGE_DISK_READ : MESSAGE_DISK_WRITE,
                              .u.disk = {(char *)model, bytes}};
    if (control_open(&control, options, err) < 0)
        return -1;
    int result = control_send(&control, &request, err);
    if (result == 0)
        result = read_answer(&control, write, read, err);
    control_close(&control);
    return result;
}
