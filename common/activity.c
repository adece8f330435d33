/* The kernel keeps the books: run time and waiting for a processor by thread, sending and being held back by
 * connection. */
#include "common/activity.h"

#include "common/clock.h"
#include "common/fdio.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Since the thread began: nanoseconds on a processor and waiting for one. */
static void thread_times(uint64_t *cpu_ns, uint64_t *queued_ns)
{
    char text[96];
    unsigned long long cpu = 0, queued = 0;
    int fd = fdio_openat(AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0);
    ssize_t n = fd < 0 ? -1 : fdio_read(fd, text, sizeof text - 1);
    fdio_drop(&fd);
    text[n > 0 ? n : 0] = '\0';
    bool known = sscanf(text, "%llu %llu", &cpu, &queued) == 2;
    *cpu_ns = known ? cpu : 0;
    *queued_ns = known ? queued : 0;
}

void activity_begin(struct activity *activity)
{
    memset(activity, 0, sizeof *activity);
    activity->wall_ns = clock_ns();
}

void activity_end(struct activity *activity)
{
    activity->wall_ns = clock_ns() - activity->wall_ns;
    thread_times(&activity->cpu_ns, &activity->queued_ns);
}

/* Times in microseconds; a kernel before 4.10 gives less of the struct than that. */
void activity_add_socket(struct activity *activity, int fd)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0 ||
        length < offsetof(struct tcp_info, tcpi_sndbuf_limited))
        return;
    activity->busy_ns += info.tcpi_busy_time * 1000;
    activity->window_ns += info.tcpi_rwnd_limited * 1000;
}

void activity_add(struct activity *sum, const struct activity *part)
{
    sum->bytes += part->bytes;
    sum->wall_ns += part->wall_ns;
    sum->idle_ns += part->idle_ns;
    sum->paused_ns += part->paused_ns;
    sum->file_ns += part->file_ns;
    sum->socket_ns += part->socket_ns;
    sum->cpu_ns += part->cpu_ns;
    sum->queued_ns += part->queued_ns;
    sum->busy_ns += part->busy_ns;
    sum->window_ns += part->window_ns;
    sum->source_bytes += part->source_bytes;
    sum->cached_bytes += part->cached_bytes;
}
