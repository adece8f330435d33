/* A store in a scratch folder, for the tests of it. */
#ifndef UNIT_STORE_BENCH_H
#define UNIT_STORE_BENCH_H

#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/staging.h"
#include "server/store.h"

struct bench {
    struct store store;
    int fds;
};

static inline void begin(struct bench *b, struct scratch *scratch)
{
    struct error err;
    b->fds = count_fds();
    if (store_open(&b->store, scratch->path, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void end(struct bench *b)
{
    store_close(&b->store);
    assert_int_equal(count_fds(), b->fds);
}

static inline int lock_file(struct bench *b, const char *id)
{
    struct error err;
    int fd = store_lock_file(&b->store, id, &err);
    if (fd < 0)
        fail_msg("%s", err.text);
    return fd;
}

#endif
