/* The control connection, seen from the client: requests out, messages in, and the loop that keeps it alive.
 *
 *   control_open() … control_send() … control_next() …   control_close()
 *
 * Every wait runs the loop: `alive` goes out every two seconds, and the wait ends when a signal came, when
 * the server was silent for the time-out, or when the connection is lost. Errors that the server sends become
 * errors here, with their own code. After a failure nothing but control_close() makes sense.
 *
 * Threads: one, which runs the loop. Long work of the client's own goes through control_work(), so that the
 * loop runs on. */
#ifndef CLIENT_CONTROL_H
#define CLIENT_CONTROL_H

#include "client/options.h"
#include "common/hostport.h"
#include "proto/error.h"
#include "proto/hello.h"
#include "proto/message.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct control {
    uv_loop_t loop;
    int fd;
    struct hostport server;
    unsigned timeout_s;
    uint8_t session[SESSION_ID_SIZE];
    bool has_session_key; /* a token was proven, and data connections have to prove this */
    uint8_t session_key[SECRET_SIZE];
    unsigned max_streams;

    uv_poll_t poll, interrupt;
    uv_timer_t tick;
    uint8_t *input;
    size_t input_start, input_end, input_capacity;
    uint64_t last_life_ms, last_sent_ms;
    struct own_work *work; /* of control_work(), while it runs */
    struct error error;    /* why it is over; ERROR_NONE while it works */
};

/* Connects to options->server, says hello, and proves options->token if there is one. ERROR_CONNECT,
 * ERROR_NOT_MSTORE, ERROR_VERSION, ERROR_REFUSED … */
int control_open(struct control *control, const struct options *options, struct error *err);
/* The same with segments that pass on any path (SOCKET_NARROW), for who looks whether others do. */
int control_open_narrow(struct control *control, const struct options *options, struct error *err);
void control_close(struct control *control);

int control_send(struct control *control, const struct message *message, struct error *err);
int control_send_simple(struct control *control, enum message_type type, struct error *err);
/* `alive` messages of so many bytes together, in one write: they fill packets as large as they can be. */
int control_send_burst(struct control *control, size_t bytes, struct error *err);
/* A request that names a model. */
int control_request(struct control *control, enum message_type type, const char *model, struct error *err);

/* The next message that is not `alive`; release it. An `error` message fails with its code. */
int control_next(struct control *control, struct message *message, struct error *err);

/* The next message, which has to be of this type; release it. _simple: it says nothing but its type. */
int control_expect(struct control *control, enum message_type type, struct message *message,
                   struct error *err);
int control_expect_simple(struct control *control, enum message_type type, struct error *err);

/* control_next() without waiting: 1 there was one, 0 none, -1 failure. */
int control_poll(struct control *control, struct message *message, struct error *err);

/* Waits for something to happen on the loop: a message, a mail, a timer. -1 when the connection or the user
 * is through. */
int control_wait(struct control *control, struct error *err);

/* Data connections have moved bytes: a sign of life. */
void control_note_life(struct control *control);

/* Runs `work` in a thread while the loop runs. `work` should look at interrupt_is_set(). Meanwhile `look`
 * (or NULL) is called twice a second, on the loop: to show how far it has come. */
int control_work(struct control *control, void (*work)(void *context), void (*look)(void *context),
                 void *context, struct error *err);

/* "the message 'x' is out of place": for requests that got what they did not expect. */
int control_unexpected(const struct message *message, struct error *err);

/* The hello of a data connection on a fresh socket; proves `session_key` if it is asked for (NULL: there is
 * none), and waits for a free slot if told to. -1 when it is refused or lost. */
int control_hello_stream(int fd, const uint8_t session[SESSION_ID_SIZE], const uint8_t *session_key,
                         unsigned number, struct error *err);

#endif
