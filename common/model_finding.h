/* What is wrong with a file of a model, as far as names, sizes and headers tell.
 *
 * Parsers of headers return 0, or -1 with a struct finding set: its kind for programs, its text for people.
 * The text follows the path of the file as its subject ("'x.gguf' is cut off: …"), ends without a full stop,
 * and holds no control characters whatever the file holds. Plain values; any thread. */
#ifndef COMMON_MODEL_FINDING_H
#define COMMON_MODEL_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum finding_kind {
    FINDING_NONE,
    /* the model is not whole */
    FINDING_MISSING_SHARD, /* the path is that of the file that is not there */
    FINDING_CUT_FILE,      /* shorter than its header says */
    FINDING_LFS_POINTER,   /* a Git LFS pointer in place of the file it stands for */
    FINDING_ZERO_HEADER,   /* begins with zeros: space that was reserved and never written */
    FINDING_UNFINISHED,    /* the name of a download under way */
    /* a loader would refuse the file */
    FINDING_OVERSIZED_HEADER,
    FINDING_BAD_HEADER,
    FINDING_OVERLAP,     /* two tensors claim the same bytes */
    FINDING_GAP,         /* bytes between tensors that belong to none */
    FINDING_EXTRA_BYTES, /* longer than its header says */
    /* nothing is known to be wrong */
    FINDING_NOT_CHECKED, /* of another format than its name says, or of a variant that is not known here */
    FINDING_UNREADABLE,  /* could not be opened or read; moving the file fails by itself */
    FINDING_KIND_COUNT
};

#define FINDING_TEXT_MAX 256

struct finding {
    enum finding_kind kind;
    char text[FINDING_TEXT_MAX];
};

/* Sets kind and text (printf format; strings from files must have been through printable()). Returns -1, so
 * that `return finding_set(…)` reads well. */
int finding_set(struct finding *finding, enum finding_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The stable name of a kind, as in `--json`: "missing-shard". */
const char *finding_name(enum finding_kind kind);

/* Whether a model with such a finding is incomplete or cannot be loaded: what a push stops at. */
bool finding_stops(enum finding_kind kind);

/* -- the findings of a whole model -- */

/* More are counted only: a name may claim to be one of 10^9 parts. */
#define FINDINGS_MAX 1000

struct model_finding {
    char *path;
    struct finding finding;
};

struct finding_list {
    struct model_finding *items; /* in the order in which they were added */
    size_t count;
    uint64_t omitted;
    bool stops; /* one of them does, of the omitted ones too */
};

/* Adds a copy, unless the list has the same kind for the same path already. */
void finding_list_add(struct finding_list *list, const char *path, const struct finding *finding);
void finding_list_release(struct finding_list *list);

#endif
