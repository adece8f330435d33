/* Tokens: the secrets that let a client in, and what both sides prove with them (docs/protocol.md, section
 * 3.1). A token itself is read, hashed and forgotten; only its key is kept.
 *
 * A token file holds lines `rw TOKEN` or `ro TOKEN`; empty lines and lines that begin with # are passed over.
 * It must not be readable or writable for others. Call token_start() once before anything else. Pure but for
 * the reading and the random numbers; any thread. */
#ifndef COMMON_TOKEN_H
#define COMMON_TOKEN_H

#include "proto/error.h"
#include "proto/hello.h"
#include "proto/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A shorter one can be guessed from a recording of its proof: 22 characters of base64 are 128 bits. */
#define TOKEN_SHORT 22
#define TOKEN_MAX   512
/* "rw ", 43 characters of base64 and a NUL. */
#define TOKEN_LINE_MAX 48
/* A file with more is some other file. */
#define TOKEN_COUNT_MAX 1000

struct token {
    bool may_write;
    uint8_t key[SECRET_SIZE];
};

struct token_list {
    struct token *tokens;
    size_t count;
    size_t short_line; /* the first line whose token is short, 0 if none is: worth a warning */
};

/* Starts the library behind it. */
int token_start(struct error *err);

/* The daemon's file; at least one token. ERROR_USAGE names file and line, never what stands there. */
int token_list_load(struct token_list *list, const char *path, struct error *err);
void token_list_release(struct token_list *list);

/* The client's file: one token, with or without the word before it. */
int token_load(struct token *token, const char *path, struct error *err);

/* A line for a token file with a new token of 256 random bits. */
void token_make_line(char line[TOKEN_LINE_MAX], bool may_write);

/* What a proof is made over. */
struct handshake {
    uint8_t server_nonce[SECRET_SIZE], client_nonce[SECRET_SIZE];
    uint8_t session[SESSION_ID_SIZE];
};

void handshake_random(void *bytes, size_t length);
void handshake_client_proof(const struct handshake *handshake, const struct token *token,
                            uint8_t proof[SECRET_SIZE]);
void handshake_server_proof(const struct handshake *handshake, const struct token *token,
                            uint8_t proof[SECRET_SIZE]);
void handshake_session_key(const struct handshake *handshake, const struct token *token,
                           uint8_t key[SECRET_SIZE]);
void handshake_stream_proof(const uint8_t session_key[SECRET_SIZE], const uint8_t nonce[SESSION_ID_SIZE],
                            uint32_t stream, uint8_t proof[SECRET_SIZE]);

/* In constant time. */
bool handshake_is_equal(const void *a, const void *b, size_t length);

/* The token of the list that the proof was made with, or NULL. Takes as long for each. */
const struct token *handshake_find(const struct handshake *handshake, const struct token_list *list,
                                   const uint8_t proof[SECRET_SIZE]);

#endif
