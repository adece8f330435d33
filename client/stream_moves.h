/* What a client's stream does on one open connection. For streams.c; its thread. */
#ifndef CLIENT_STREAM_MOVES_H
#define CLIENT_STREAM_MOVES_H

#include "client/streams.h"

/* Until the queue is done (0) or the connection or the transfer is (-1). */
int push_stream_move(struct client_stream *stream, struct error *err);
int pull_stream_move(struct client_stream *stream, struct error *err);

/* Sends END and reads the answer. */
int client_stream_end(struct client_stream *stream, struct error *err);
int client_wire_end(struct wire *wire, struct chunk *answer, struct error *err);

/* Reads the text of FAIL; *failure gets code and text. */
int client_stream_read_failure(struct client_stream *stream, const struct chunk *fail, struct error *failure,
                               struct error *err);

#endif
