/* One of the two files that include sodium.h; the other is sha256.c. */
#include "common/token.h"

#include "common/fdio.h"
#include "proto/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(SECRET_SIZE == crypto_auth_hmacsha512256_BYTES, "proofs");
_Static_assert(SECRET_SIZE == crypto_auth_hmacsha512256_KEYBYTES, "keys");

#define FILE_MAX ((size_t)1 << 20)

int token_start(struct error *err)
{
    return sodium_init() < 0 ? error_set(err, ERROR_FAILED, "cannot start the random number generator") : 0;
}

/* -- files -- */

static int check_file(int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set_sys(err, ERROR_USAGE, errno, "cannot read the token file '%s'", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_USAGE, "the token file '%s' is no regular file", path);
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return error_set(
            err, ERROR_USAGE,
            "others can read or write the token file '%s': chmod 600 it, and change the tokens if "
            "somebody may have seen them",
            path);
    return 0;
}

/* The whole file with a NUL behind it; wipe and free() it. */
static char *read_file(const char *path, struct error *err)
{
    int fd = fdio_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (fd < 0) {
        error_set_sys(err, ERROR_USAGE, errno, "cannot open the token file '%s'", path);
        return NULL;
    }
    char *text = calloc(1, FILE_MAX + 1);
    if (!text)
        abort();
    ssize_t n = check_file(fd, path, err) < 0 ? -2 : fdio_read(fd, text, FILE_MAX);
    if (n == -1)
        error_set_sys(err, ERROR_USAGE, errno, "cannot read the token file '%s'", path);
    else if (n == (ssize_t)FILE_MAX)
        n = error_set(err, ERROR_USAGE, "the token file '%s' is too large to be one", path);
    else if (n >= 0 && strlen(text) != (size_t)n)
        n = error_set(err, ERROR_USAGE, "the token file '%s' holds a byte of value 0", path);
    fdio_drop(&fd);
    if (n >= 0)
        return text;
    sodium_memzero(text, FILE_MAX);
    free(text);
    return NULL;
}

static void make_key(struct token *token, const char *word, size_t length)
{
    (void)crypto_generichash(token->key, SECRET_SIZE, (const unsigned char *)word, length, NULL, 0);
}

/* One word of printable characters. */
static bool is_token(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (word[i] < '!' || word[i] > '~')
            return false;
    return length > 0 && length <= TOKEN_MAX;
}

/* "rw TOKEN", "ro TOKEN" or, where that is allowed, "TOKEN". `line` has no blanks around it. */
static bool parse_line(struct token *token, const char *line, size_t length, bool bare, size_t *token_length)
{
    bool access = length > 3 && (strncmp(line, "rw", 2) == 0 || strncmp(line, "ro", 2) == 0) &&
                  (line[2] == ' ' || line[2] == '\t');
    size_t skip = access ? 2 + strspn(line + 2, " \t") : 0;
    if ((!access && !bare) || !is_token(line + skip, length - skip))
        return false;
    token->may_write = !access || line[1] == 'w';
    *token_length = length - skip;
    make_key(token, line + skip, length - skip);
    return true;
}

static void add_token(struct token_list *list, const struct token *token)
{
    list->tokens = realloc(list->tokens, (list->count + 1) * sizeof *list->tokens);
    if (!list->tokens)
        abort();
    list->tokens[list->count++] = *token;
}

static int parse_tokens(struct token_list *list, const char *text, const char *path, bool bare,
                        struct error *err)
{
    size_t number = 0;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        struct token token;
        size_t token_length;
        end = line + strcspn(line, "\n");
        number++;
        line += strspn(line, " \t\r");
        size_t length = line < end ? (size_t)(end - line) : 0;
        while (length > 0 && strchr(" \t\r", line[length - 1]))
            length--;
        if (length == 0 || line[0] == '#')
            continue;
        if (list->count == TOKEN_COUNT_MAX || !parse_line(&token, line, length, bare, &token_length))
            return error_set(err, ERROR_USAGE, "line %zu of the token file '%s' is not '%s'", number, path,
                             bare ? "TOKEN" : "rw TOKEN' or 'ro TOKEN");
        if (token_length < TOKEN_SHORT && list->short_line == 0)
            list->short_line = number;
        add_token(list, &token);
    }
    return list->count > 0 ? 0 : error_set(err, ERROR_USAGE, "there is no token in the file '%s'", path);
}

static int load(struct token_list *list, const char *path, bool bare, struct error *err)
{
    memset(list, 0, sizeof *list);
    char *text = read_file(path, err);
    if (!text)
        return -1;
    int result = parse_tokens(list, text, path, bare, err);
    sodium_memzero(text, FILE_MAX);
    free(text);
    if (result < 0)
        token_list_release(list);
    return result;
}

int token_list_load(struct token_list *list, const char *path, struct error *err)
{
    return load(list, path, false, err);
}

void token_list_release(struct token_list *list)
{
    if (list->tokens)
        sodium_memzero(list->tokens, list->count * sizeof *list->tokens);
    free(list->tokens);
    memset(list, 0, sizeof *list);
}

int token_load(struct token *token, const char *path, struct error *err)
{
    struct token_list list;
    if (load(&list, path, true, err) < 0)
        return -1;
    *token = list.tokens[0];
    size_t count = list.count;
    token_list_release(&list);
    return count == 1 ? 0
                      : error_set(err, ERROR_USAGE, "the token file '%s' holds more than one token", path);
}

void token_make_line(char line[TOKEN_LINE_MAX], bool may_write)
{
    uint8_t bytes[SECRET_SIZE];
    randombytes_buf(bytes, sizeof bytes);
    (void)snprintf(line, TOKEN_LINE_MAX, "%s ", may_write ? "rw" : "ro");
    (void)sodium_bin2base64(line + 3, TOKEN_LINE_MAX - 3, bytes, sizeof bytes,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
}

/* -- proofs -- */

void handshake_random(void *bytes, size_t length)
{
    randombytes_buf(bytes, length);
}

static void mac_handshake(const struct handshake *h, const struct token *token, const char *label,
                          uint8_t out[SECRET_SIZE])
{
    crypto_auth_hmacsha512256_state state;
    crypto_auth_hmacsha512256_init(&state, token->key, SECRET_SIZE);
    crypto_auth_hmacsha512256_update(&state, (const unsigned char *)label, strlen(label));
    crypto_auth_hmacsha512256_update(&state, h->server_nonce, SECRET_SIZE);
    crypto_auth_hmacsha512256_update(&state, h->client_nonce, SECRET_SIZE);
    crypto_auth_hmacsha512256_update(&state, h->session, SESSION_ID_SIZE);
    crypto_auth_hmacsha512256_final(&state, out);
}

void handshake_client_proof(const struct handshake *handshake, const struct token *token,
                            uint8_t proof[SECRET_SIZE])
{
    mac_handshake(handshake, token, "mstore 1 client", proof);
}

void handshake_server_proof(const struct handshake *handshake, const struct token *token,
                            uint8_t proof[SECRET_SIZE])
{
    mac_handshake(handshake, token, "mstore 1 server", proof);
}

void handshake_session_key(const struct handshake *handshake, const struct token *token,
                           uint8_t key[SECRET_SIZE])
{
    mac_handshake(handshake, token, "mstore 1 session", key);
}

void handshake_stream_proof(const uint8_t session_key[SECRET_SIZE], const uint8_t nonce[SESSION_ID_SIZE],
                            uint32_t stream, uint8_t proof[SECRET_SIZE])
{
    static const char label[] = "mstore 1 stream";
    crypto_auth_hmacsha512256_state state;
    uint8_t number[4];
    put_le(number, stream, sizeof number);
    crypto_auth_hmacsha512256_init(&state, session_key, SECRET_SIZE);
    crypto_auth_hmacsha512256_update(&state, (const unsigned char *)label, sizeof label - 1);
    crypto_auth_hmacsha512256_update(&state, nonce, SESSION_ID_SIZE);
    crypto_auth_hmacsha512256_update(&state, number, sizeof number);
    crypto_auth_hmacsha512256_final(&state, proof);
}

bool handshake_is_equal(const void *a, const void *b, size_t length)
{
    return sodium_memcmp(a, b, length) == 0;
}

const struct token *handshake_find(const struct handshake *handshake, const struct token_list *list,
                                   const uint8_t proof[SECRET_SIZE])
{
    const struct token *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        uint8_t wanted[SECRET_SIZE];
        handshake_client_proof(handshake, &list->tokens[i], wanted);
        if (handshake_is_equal(wanted, proof, SECRET_SIZE))
            found = &list->tokens[i];
    }
    return found;
}
