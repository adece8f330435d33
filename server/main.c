/* mstored: options, then server_run(). */
#include "common/log.h"
#include "common/token.h"
#include "proto/error.h"
#include "server/config.h"
#include "server/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Threads of libuv's pool: requests at work at a time (listing, preparing, flushing, verifying). They mostly
 * wait for disks. */
#define POOL_THREADS "8"

/* The usual soft limit of 1024 is for programs that use select(). */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    struct config config;
    struct error err;
    log_open("mstored", LOG_INFO);
    if (token_start(&err) < 0 || config_parse(&config, argc, argv, &err) < 0) {
        log_error("%s", err.text);
        return error_exit_status(err.code);
    }
    if (config.help || config.version) {
        config.help ? config_print_help(stdout) : config_print_version(stdout);
        config_release(&config);
        return 0;
    }
    if (config.make_token != CONFIG_NO_TOKEN) {
        char line[TOKEN_LINE_MAX];
        token_make_line(line, config.make_token == CONFIG_TOKEN_RW);
        (void)printf("%s\n", line);
        config_release(&config);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    log_open("mstored", config.log_level);
    raise_descriptor_limit();
    (void)signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
    (void)setenv("UV_THREADPOOL_SIZE", POOL_THREADS, 0);
    int status = server_run(&config);
    config_release(&config);
    return status;
}
