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

static struct taken {
    int number;
    struct sigaction before;
} taken[] = {{.number = SIGINT}, {.number = SIGTERM}, {.number = SIGPIPE}};

#define TAKEN_COUNT (sizeof taken / sizeof taken[0])

static void on_signal(int number)
{
    int saved = errno;
    if (atomic_exchange(&signal_number, number) != 0)
        _exit(128 + number);
    ssize_t ignored = write(wake[1], "", 1);
    (void)ignored;
    errno = saved;
}

/* What is ignored from the beginning, as by nohup or in the background of a shell, stays so. */
static int take_over(struct taken *one, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (sigaction(one->number, NULL, &one->before) < 0)
        return -1;
    return one->before.sa_handler == SIG_IGN ? 0 : sigaction(one->number, &action, NULL);
}

int interrupt_install(struct error *err)
{
    int result = pipe2(wake, O_CLOEXEC | O_NONBLOCK);
    for (size_t i = 0; result == 0 && i < TAKEN_COUNT; i++)
        result = take_over(&taken[i], taken[i].number == SIGPIPE ? SIG_IGN : on_signal);
    return result == 0 ? 0 : error_set_sys(err, ERROR_FAILED, errno, "cannot set up signal handling");
}

void interrupt_uninstall(void)
{
    for (size_t i = 0; i < TAKEN_COUNT; i++)
        (void)sigaction(taken[i].number, &taken[i].before, NULL);
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
