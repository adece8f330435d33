/* Control messages: typed structs on this side, JSON text on the wire (docs/protocol.md, sections 4 and 5).
 *
 * Sending: fill a struct message (its pointers are borrowed), message_encode() it, send frame header and
 * text. Receiving: message_decode() a checked frame's text; use the member named after the type;
 * message_release() it. A decoded message has been held against every limit of the page: ids and paths are
 * valid, numbers are in range, required members are there. A decoded message owns its pointers; take one by
 * setting it to NULL. Pure: no sockets, any thread. */
#ifndef PROTO_MESSAGE_H
#define PROTO_MESSAGE_H

#include "proto/error.h"
#include "proto/json.h"
#include "proto/listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum message_type {
    MESSAGE_ALIVE,
    MESSAGE_CHALLENGE,
    MESSAGE_PROVE,
    MESSAGE_WELCOME,
    /* requests */
    MESSAGE_LIST,
    MESSAGE_INFO,
    MESSAGE_REMOVE,
    MESSAGE_VERIFY,
    MESSAGE_PUSH,
    MESSAGE_PULL,
    MESSAGE_STATUS,
    MESSAGE_LINK,
    MESSAGE_DISK_WRITE,
    MESSAGE_DISK_READ,
    MESSAGE_HOST,
    /* answers */
    MESSAGE_ERROR,
    MESSAGE_END,
    MESSAGE_MODEL,
    MESSAGE_PROGRESS,
    MESSAGE_CHECKED,
    MESSAGE_FACT,
    MESSAGE_SERVER,
    MESSAGE_SESSION,
    /* transfers */
    MESSAGE_FILES,
    MESSAGE_LISTED,
    MESSAGE_STAGED,
    MESSAGE_PLAN,
    MESSAGE_GO,
    MESSAGE_READY,
    MESSAGE_COMMIT,
    MESSAGE_PUBLISHED,
    MESSAGE_HASHES,
    MESSAGE_BLOCKS,
    MESSAGE_DONE,
    MESSAGE_ACTIVITY,
    MESSAGE_MEASURED,
    MESSAGE_METADATA,
    MESSAGE_TYPE_COUNT
};

struct block_hashes {
    uint8_t *bytes; /* count × HASH_SIZE */
    size_t count;
};

struct size_list {
    uint64_t *values;
    size_t count;
};

/* Appends a value; free() the values. */
void size_list_add(struct size_list *list, uint64_t value);

struct message_model {
    char *name;
    uint64_t bytes, files;
    int64_t mtime;
    uint32_t nsec;
    char *state; /* "complete" or "incomplete" */
    uint64_t present, warnings;
    bool flawed;      /* its headers show that it is not whole, as far as they have been read */
    char *origin;     /* or NULL */
    uint64_t version; /* only in the answer to INFO; 0: not told */
};

/* What a server does as a whole: rates in bytes a second, times in seconds. */
struct message_server {
    char *version;
    uint64_t uptime, bytes_free, bytes_total, rate, streams, max_streams, waiting, source, cached;
};

struct message_session {
    char *peer;
    char *request; /* "" between requests */
    char *model;   /* or NULL */
    uint64_t bytes, rate, streams, age;
};

struct message {
    enum message_type type;
    union {
        struct {
            char *model;
            bool check; /* PUSH: list only hashes that the stored files were found to have */
            bool brief; /* INFO: no files */
        } request;      /* INFO, REMOVE, VERIFY, PUSH, PULL */
        struct {
            uint64_t padding; /* bytes of `alive` behind the facts, at most LIMIT_PADDING */
        } host;
        struct {
            uint8_t nonce[SECRET_SIZE];
        } challenge;
        struct {
            uint8_t nonce[SECRET_SIZE], proof[SECRET_SIZE];
        } prove;
        struct {
            uint8_t proof[SECRET_SIZE];
            bool write; /* also push and remove */
        } welcome;
        struct {
            char *code, *message, *path; /* path may be NULL */
        } error;
        struct message_model model;
        struct {
            uint64_t bytes, total;
        } progress;
        struct {
            char *path;
            bool ok;
            bool fresh; /* no hash was kept for it */
            struct size_list bad;
        } checked;
        struct {
            char *name, *value;
        } fact;
        struct message_server server;
        struct message_session session;
        struct listing files;
        struct {
            char *path;
            uint64_t size;
            int64_t mtime;
            uint32_t nsec;
            uint64_t source, first;
            struct block_hashes hashes;
        } staged;
        struct {
            uint64_t files, bytes, missing_files, missing_bytes;
            bool add;
            char *origin; /* or NULL */
        } plan;
        struct {
            uint64_t streams;
            char *origin; /* or NULL; PULL */
        } ready;
        struct {
            uint64_t files, bytes;
            bool durable;
        } published;
        struct {
            uint64_t file;
        } hashes;
        struct {
            uint64_t file, first;
            struct block_hashes hashes;
        } blocks;
        struct { /* times in nanoseconds; common/activity.h says what they mean */
            uint64_t stream, bytes, wall, file, socket, cpu, queued, busy, window, source, cached;
        } activity;
        struct {
            char *model; /* DISK_READ */
            uint64_t bytes;
        } disk; /* DISK_WRITE, DISK_READ */
        struct {
            bool write;
            uint64_t bytes, ns, cached;
        } measured;
        struct {
            struct json *metadata; /* an object, what docs/formats.md says */
        } metadata;
    } u;
};

/* The JSON text of a message; free() it. *length is at most LIMIT_FRAME: the caller keeps batches small. */
char *message_encode(const struct message *message, size_t *length);

/* ERROR_PROTOCOL, naming type and field. On failure nothing needs to be released. */
int message_decode(struct message *message, const char *text, size_t length, struct error *err);

void message_release(struct message *message);

const char *message_type_name(enum message_type type);

#endif
