/* The daemon's configuration file, by way of a file in memory. */
#include "target.h"

#include "server/config.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static int fd = -1;
    char path[32];
    struct config config;
    struct error err;
    if (fd < 0)
        fd = memfd_create("config", MFD_CLOEXEC);
    must_hold(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, length, 0) == (ssize_t)length);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)clearenv();
    char *argv[] = {(char *)"mstored", (char *)"--config", path, NULL};
    if (config_parse(&config, 3, argv, &err) == 0) {
        must_hold(config.root && config.listen_count >= 1);
        config_release(&config);
    } else {
        must_hold(err.code != ERROR_NONE);
    }
    return 0;
}
