/* A real push and a real pull, through the same functions as the commands. */
#include "client/bench_path.h"

#include "client/commands.h"
#include "client/control.h"
#include "client/interrupt.h"
#include "client/output.h"
#include "common/fdio.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define NAMESPACE "mstore-bench"

static struct options options_for(const struct path_bench *b, char **arguments, size_t count)
{
    struct options options = *b->options;
    options.arguments = (struct optparse_list){.items = arguments, .count = count};
    options.include = options.exclude = (struct optparse_list){0};
    options.progress = PROGRESS_NONE;
    options.quiet = true;
    return options;
}

static int run_transfer(struct path_bench *b, enum bench_layer layer, char *from, char *to, struct error *err)
{
    char *arguments[2] = {from, to};
    struct options options = options_for(b, arguments, 2);
    struct report report;
    int result = (layer == BENCH_PUSH ? push_run : pull_run)(&options, &report, err);
    struct bench_rate rate = {.bytes = report.bytes.sent,
                              .ns = (uint64_t)(report.seconds * 1e9) + report.flush_ns};
    report_release(&report);
    if (result == 0)
        bench_note(b, layer, &rate);
    return result;
}

static int remove_own_model(struct path_bench *b, struct error *err)
{
    struct control control;
    if (control_open(&control, b->options, err) < 0)
        return -1;
    int result = remove_model(&control, b->own_model, err);
    control_close(&control);
    return result;
}

/* A pull of the model that a push has just brought, or of the one that was named. */
int bench_transfer_round(struct path_bench *b, struct error *err)
{
    int result = 0;
    bool pushes = bench_wants(b, 1u << BENCH_PUSH) || (bench_wants(b, 1u << BENCH_PULL) && !b->model);
    if (pushes) {
        b->has_pushed = true;
        result = run_transfer(b, BENCH_PUSH, b->source, b->own_model, err);
        pushes = result == 0;
        result = bench_judge(b, 1u << BENCH_PUSH | (b->model ? 0 : 1u << BENCH_PULL), result, err);
    }
    if (result == 0 && bench_wants(b, 1u << BENCH_PULL))
        result =
            run_transfer(b, BENCH_PULL, (char *)(b->model ? b->model : b->own_model), b->destination, err);
    (void)path_remove_tree(AT_FDCWD, b->destination);
    if (result == 0 && pushes) {
        result = remove_own_model(b, err);
        b->has_pushed = result < 0;
    }
    return result;
}

static int write_source(const struct path_bench *b, struct error *err)
{
    static const size_t piece = 1 << 20;
    int result = 0, fd = fdio_openat(AT_FDCWD, b->source, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    uint8_t *bytes = malloc(piece);
    if (!bytes)
        abort();
    for (uint64_t at = 0; fd >= 0 && result == 0 && at < b->bytes; at += piece) {
        size_t length = b->bytes - at < piece ? (size_t)(b->bytes - at) : piece;
        for (size_t done = 0; done < length;) {
            ssize_t n = getrandom(bytes + done, length - done, 0);
            done += n > 0 ? (size_t)n : 0;
        }
        if (fdio_write(fd, bytes, length) != (ssize_t)length)
            result = error_set_sys(err, ERROR_FILE, errno, "cannot write '%s'", b->source);
        else
            result = interrupt_check(err);
    }
    free(bytes);
    if (fd < 0)
        return error_set_sys(err, ERROR_FILE, errno, "cannot create '%s'", b->source);
    return fdio_close(&fd) < 0 && result == 0
               ? error_set_sys(err, ERROR_FILE, errno, "cannot write '%s'", b->source)
               : result;
}

int bench_transfer_prepare(struct path_bench *b, struct error *err)
{
    uint64_t random = 0;
    if (!bench_wants(b, 1u << BENCH_PUSH | 1u << BENCH_PULL))
        return 0;
    (void)getrandom(&random, sizeof random, 0);
    (void)snprintf(b->own_model, sizeof b->own_model, NAMESPACE "/%016" PRIx64, random);
    (void)snprintf(b->folder, sizeof b->folder, ".mstore-bench.XXXXXX");
    if (!mkdtemp(b->folder)) {
        b->folder[0] = '\0';
        return error_set_sys(err, ERROR_FILE, errno, "cannot make a folder in the current one");
    }
    (void)snprintf(b->source, sizeof b->source, "%s/weights", b->folder);
    (void)snprintf(b->destination, sizeof b->destination, "%s/pulled", b->folder);
    return bench_wants(b, 1u << BENCH_PUSH) || !b->model ? write_source(b, err) : 0;
}

/* Also what an interrupted push has left on the server. */
void bench_transfer_clean(struct path_bench *b)
{
    struct error err = {0};
    if (b->folder[0])
        (void)path_remove_tree(AT_FDCWD, b->folder);
    if (!b->has_pushed)
        return;
    interrupt_forget();
    if (remove_own_model(b, &err) < 0 && err.code != ERROR_REFUSED && err.code != ERROR_NO_MODEL)
        output_error("'%s' may be left on the server: mstore rm -y %s (%s)", b->own_model, b->own_model,
                     err.text);
}
