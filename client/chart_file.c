/* The SVG is made in memory; a PNG by the program that renders SVG everywhere, which reads it from a file in
 * memory: no shell, no temporary name, and no pipe that one side could wait on. */
#include "client/chart.h"

#include "common/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RENDERER "rsvg-convert"
#define PACKAGE  "librsvg2-bin"

extern char **environ;

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && strcmp(name + length - wanted, ending) == 0;
}

bool chart_is_name(const char *file)
{
    return ends_in(file, ".svg") || ends_in(file, ".png");
}

static char *chart_text(const struct bench_table *table, size_t *length)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, length);
    if (!stream)
        abort();
    chart_print(stream, table);
    if (fclose(stream) != 0)
        abort();
    return text;
}

static int write_svg(const char *file, const char *text, size_t length, struct error *err)
{
    int fd = fdio_openat(AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || fdio_write(fd, text, length) < 0) {
        error_set_sys(err, ERROR_FILE, errno, "cannot write '%s'", file);
        fdio_drop(&fd);
        return -1;
    }
    if (fdio_close(&fd) < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot write '%s'", file);
    return 0;
}

/* A file in memory with this text, to be read from its start. */
static int memory_file(const char *text, size_t length)
{
    int fd = memfd_create("chart", MFD_CLOEXEC);
    if (fd >= 0 && (fdio_write(fd, text, length) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
        int saved = errno;
        fdio_drop(&fd);
        errno = saved;
    }
    return fd;
}

/* Twice as many pixels as the picture says, for screens that have them. */
static int start_renderer(pid_t *pid, int input, const char *file)
{
    char *output;
    if (asprintf(&output, "--output=%s", file) < 0)
        abort();
    char *arguments[] = {(char *)RENDERER, (char *)"--format=png", (char *)"--zoom=2", output, NULL};
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        if (failed == 0)
            failed = posix_spawnp(pid, RENDERER, &actions, NULL, arguments, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    free(output);
    return failed;
}

static int wait_for(pid_t pid, const char *file, struct error *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set_sys(err, ERROR_FAILED, errno, "cannot wait for " RENDERER);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return error_set(err, ERROR_FILE, RENDERER " could not make '%s'", file);
}

static int write_png(const char *file, const char *text, size_t length, struct error *err)
{
    pid_t pid;
    int input = memory_file(text, length);
    if (input < 0)
        return error_set_sys(err, ERROR_FAILED, errno, "cannot make a file in memory");
    int failed = start_renderer(&pid, input, file);
    fdio_drop(&input);
    if (failed == ENOENT)
        return error_set(err, ERROR_FAILED,
                         "a PNG is made by " RENDERER ", which is not installed: apt install " PACKAGE
                         ", or write an .svg");
    if (failed != 0)
        return error_set_sys(err, ERROR_FAILED, failed, "cannot start " RENDERER);
    return wait_for(pid, file, err);
}

int chart_write(const struct bench_table *table, const char *file, struct error *err)
{
    size_t length;
    char *text = chart_text(table, &length);
    int result =
        ends_in(file, ".png") ? write_png(file, text, length, err) : write_svg(file, text, length, err);
    free(text);
    return result;
}
