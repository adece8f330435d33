/* Error codes, their wire names and exit statuses, and the value that carries one.
 *
 * A function that can fail returns 0 or -1 (or a pointer or NULL) and takes a `struct error *err`
 * as its last argument. It sets the error once, where the cause is known, with the subject in
 * quotes: `cannot open 'x': Permission denied`. Callers pass it on or log it, never both.
 *
 * Threads: a struct error is a plain value and belongs to whoever declared it.
 * The codes and exit statuses are part of the command-line contract and of docs/protocol.md. */
#ifndef PROTO_ERROR_H
#define PROTO_ERROR_H

enum error_code {
    ERROR_NONE = 0,
    ERROR_FAILED,      /* anything without a code of its own */
    ERROR_USAGE,       /* wrong option or argument */
    ERROR_NO_MODEL,    /* no such model */
    ERROR_REFUSED,     /* token, address or read-only */
    ERROR_CORRUPT,     /* bytes do not match their hash */
    ERROR_CONNECT,     /* no connection could be made */
    ERROR_LOST,        /* a connection was lost or fell silent */
    ERROR_PROTOCOL,    /* the peer broke a rule of docs/protocol.md */
    ERROR_NOT_MSTORE,  /* something else answers at that address */
    ERROR_VERSION,     /* the peer speaks another protocol version */
    ERROR_SOME_FILES,  /* some files failed, the others are done */
    ERROR_FILE,        /* one file could not be read or written */
    ERROR_CHANGED,     /* a file changed while it was read */
    ERROR_NO_SPACE,    /* no space, no quota, or the file is too large for its file system */
    ERROR_BUSY,        /* another push to the model is running */
    ERROR_UNAVAILABLE, /* the store itself cannot be reached (EIO, ESTALE, ENOTCONN) */
    ERROR_INTERRUPTED, /* SIGINT */
    ERROR_TERMINATED,  /* SIGTERM */
    ERROR_CODE_COUNT
};

/* Longest text of an error with its NUL; longer ones are cut. Two paths of PATH_MAX do not fit and
 * need not: the end of a path is kept by quoting it last. */
#define ERROR_TEXT_MAX 512

struct error {
    enum error_code code;
    int sys; /* the errno behind it, or 0 */
    char text[ERROR_TEXT_MAX];
};

/* Sets code and text (printf format). `sys` becomes 0. Returns -1, so that `return error_set(…)` reads well.
 */
int error_set(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: appends ": " and the words for `sys` (an errno value). Where
 * `code` is ERROR_FAILED or ERROR_FILE, an errno that has a code of its own decides instead: ENOSPC,
 * EDQUOT and EFBIG give ERROR_NO_SPACE; ESTALE and ENOTCONN give ERROR_UNAVAILABLE. Returns -1. */
int error_set_sys(struct error *err, enum error_code code, int sys, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The stable name of a code, as on the wire and in `--json`: "no-such-model". */
const char *error_name(enum error_code code);

/* The code with that name; ERROR_FAILED for a name that this version does not know. */
enum error_code error_from_name(const char *name);

/* The exit status of the command-line contract for a code. */
int error_exit_status(enum error_code code);

#endif
