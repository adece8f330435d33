/* What must hold of a control message that was accepted; two targets use it. */
#ifndef FUZZ_MESSAGE_CHECK_H
#define FUZZ_MESSAGE_CHECK_H

#include "target.h"

#include "proto/message.h"
#include "proto/name.h"

static inline void check_files(const struct listing *files)
{
    must_hold(files->count >= 1 && files->count <= LIMIT_BATCH_FILES);
    for (size_t i = 0; i < files->count; i++) {
        must_hold(name_is_path(files->files[i].path));
        must_hold(files->files[i].size <= LIMIT_SIZE && files->files[i].nsec < 1000000000);
    }
}

/* Decodes, and if that works encodes and decodes again: the second text is the first's canonical form and
 * stays as it is. */
static inline void try_message(const char *text, size_t length)
{
    struct message message, second;
    struct error err;
    size_t first_length, second_length;
    if (message_decode(&message, text, length, &err) < 0) {
        must_hold(err.code == ERROR_PROTOCOL);
        return;
    }
    if (message.type == MESSAGE_FILES)
        check_files(&message.u.files);
    if (message.type == MESSAGE_PUSH)
        must_hold(name_is_model_id(message.u.request.model));
    char *canonical = message_encode(&message, &first_length);
    must_hold(message_decode(&second, canonical, first_length, &err) == 0);
    char *again = message_encode(&second, &second_length);
    must_hold(first_length == second_length && memcmp(canonical, again, first_length) == 0);
    free(again);
    free(canonical);
    message_release(&second);
    message_release(&message);
}

#endif
