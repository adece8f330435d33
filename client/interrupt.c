/* The handler does what a handler may: it stores a number and writes a byte. */
#include "client/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int signal_number; /* lock-free, so a handler may store it; threads read it too */
static int wake[2] = {-1, -1};

static void on_signal(int number)
{
    int saved = errno;
    if (atomic_exchange(&signal_number, number) != 0)
        _exit(128 + number);
    ssize_t ignored = write(wake[1], "", 1);
    (void)ignored;
    errno = saved;
}

int interrupt_install(struct error *err)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0 || sigaction(SIGINT, &action, NULL) < 0 ||
        sigaction(SIGTERM, &action, NULL) < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot set up signal handling");
    return 0;
}

int interrupt_fd(void)
{
    return wake[0];
}

bool interrupt_is_set(void)
{
    return signal_number != 0;
}

int interrupt_check(struct error *err)
{
    if (signal_number == 0)
        return 0;
    return signal_number == SIGTERM ? error_set(err, ERROR_TERMINATED, "terminated")
                                    : error_set(err, ERROR_INTERRUPTED, "interrupted");
}

void interrupt_forget(void)
{
    char bytes[16];
    signal_number = 0;
    while (read(wake[0], bytes, sizeof bytes) > 0)
        ;
}
