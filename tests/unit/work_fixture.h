/* A queue over files of whole blocks, and short ways to ask and answer, for the tests of it. */
#ifndef UNIT_WORK_FIXTURE_H
#define UNIT_WORK_FIXTURE_H

#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/clock.h"
#include "common/work.h"

struct fixture {
    struct listing plan;
    uint8_t *wanted;
    struct work_queue *queue;
};

/* Files of `sizes` in blocks; a size of 0 is an empty file. */
static inline void begin(struct fixture *f, const uint64_t *blocks, size_t count, unsigned streams)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "f%zu", i);
        plan_add(&f->plan, name, blocks[i] * BLOCK_SIZE, FROM_SEND);
    }
    f->wanted = malloc(count + 1);
    assert_non_null(f->wanted);
    memset(f->wanted, 1, count + 1);
    f->queue = work_create(&f->plan, f->wanted, streams);
}

static inline void end(struct fixture *f)
{
    work_destroy(&f->queue);
    assert_null(f->queue);
    free(f->wanted);
    listing_release(&f->plan);
}

static inline struct work_item take(struct fixture *f, unsigned stream)
{
    struct work_item item = {UINT32_MAX, UINT64_MAX};
    assert_int_equal(work_take(f->queue, stream, &item, 0), WORK_ITEM);
    return item;
}

static inline void expect(struct fixture *f, unsigned stream, uint32_t file, uint64_t block)
{
    struct work_item item = take(f, stream);
    assert_int_equal(item.file, file);
    assert_int_equal(item.block, block);
}

static inline void answer(struct fixture *f, unsigned stream)
{
    assert_true(work_answer(f->queue, stream, 1));
}

static inline void note(struct fixture *f, unsigned stream, struct work_item item, enum error_code code)
{
    struct error err;
    error_set(&err, code, "noted '%u'", item.file);
    work_note(f->queue, stream, &item, &err);
}

#endif
