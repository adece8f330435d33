/* One version of a stored model, held for reading: its files, the block hashes that are known, and a pin that
 * keeps it on disk while others replace or remove the model.
 *
 *   version_open() … version_read_hash()/version_learn() from many threads … version_close()
 *
 * The listing is what the manifest says, held against the files: a file of the recorded size and disk mtime
 * keeps its hashes, a changed or added one has none, and a missing one is a failure that names it. Links and
 * special files are never served; they are counted.
 *
 * Threads: open, save and close block, any one thread; hashes and learn from any; the rest is const. */
#ifndef SERVER_VERSION_H
#define SERVER_VERSION_H

#include "server/store.h"

#include <pthread.h>

struct version {
    char id[LIMIT_ID + 1];
    int folder;    /* of the files */
    int lock_file; /* holds the pin */
    struct manifest manifest;
    uint64_t warnings; /* entries that cannot be served */
    uint64_t missing;  /* files of the manifest that are not there */
    bool altered;      /* files were added or changed by other means */
    bool noted;        /* the summary says another thing than the manifest */
    char *first_missing;

    pthread_mutex_t lock; /* for what is learned */
    uint8_t **learned;    /* of each file: block hashes, a set of flags behind them; NULL until the first */
    uint64_t *learned_left;
};

int version_open(struct version *version, const struct store *store, const char *id, struct error *err);
void version_close(struct version *version);

/* The entry as it stands on disk: with the disk's mtime. Its path is borrowed. */
struct file_entry version_disk_entry(const struct version *version, uint32_t file);

/* Opens a file for reading, with the hint for sequential reading. -1 with errno. */
int version_open_file(const struct version *version, uint32_t file);

/* The kept hash of a block, or NULL. Borrowed. */
const uint8_t *version_hash(const struct version *version, uint32_t file, uint64_t block);

/* A block of a file without kept hashes was hashed while it was read. */
void version_learn(struct version *version, uint32_t file, uint64_t block, const uint8_t hash[HASH_SIZE]);

/* What the headers tell of the whole version, for the summary. Before it is saved; one thread. */
void version_note_flawed(struct version *version, bool flawed);

/* Keeps what was noted, and learned of files that were hashed whole and have not changed since. Does nothing
 * if nothing was; if files are missing, which the manifest has to go on naming; or if the model is being
 * pushed or was replaced meanwhile: then it is learned another time. */
int version_save_learned(struct version *version, const struct store *store, struct error *err);

#endif
