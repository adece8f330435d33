/* A stream of a link measurement: what comes is thrown away, what is asked for comes out of memory. */
#include "server/transfer_stream.h"

#include "common/link_load.h"

struct link_stream {
    struct transfer_stream *own;
    struct wire wire;
    struct link_load load;
};

static int link_stream_loop(struct link_stream *l, struct error *err)
{
    struct chunk chunk;
    for (;;) {
        if (wire_buffered(&l->wire) < CHUNK_HEADER_SIZE && wire_flush(&l->wire, false, err) < 0)
            return -1;
        if (wire_read_chunk(&l->wire, &chunk, err) < 0)
            return -1;
        if (chunk.type == CHUNK_END)
            return transfer_stream_answer_end(&l->wire, l->load.bytes, l->load.sender.sendfile_bytes > 0,
                                              err);
        bool asks = chunk.type == CHUNK_WANT && chunk.file == 0 && chunk.offset == 0;
        if ((asks ? link_load_send(&l->load, err) : link_load_receive(&l->load, &chunk, err)) < 0)
            return -1;
        atomic_store_explicit(&l->own->payload_bytes, l->load.bytes, memory_order_relaxed);
    }
}

void link_stream_run(struct stream *stream)
{
    struct link_stream l = {.own = (struct transfer_stream *)stream};
    transfer_stream_begin(l.own, &l.wire);
    if (link_load_init(&l.load, &l.wire, &stream->error) == 0) {
        (void)link_stream_loop(&l, &stream->error);
        link_load_release(&l.load);
    }
    transfer_stream_end(l.own, &l.wire);
}
