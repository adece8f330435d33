/* What is there already: the decisions that make a push or a pull move less. Blocking, for control_work():
 * they may read files. *bytes_read grows by what they read, for others to look at.
 *
 * A file counts as unchanged if size and mtime are the same to the nanosecond. Where one of the times has no
 * fraction it was kept by a coarse file system or tool, and PLAN_MTIME_TOLERANCE_S apart still counts as the
 * same (FAT keeps two seconds). A tolerance for all would take two versions that were made within two seconds
 * for one. In a push, the file must also be the very file that was pushed (its `source`, docs/protocol.md,
 * section 5), or have the stored hash: a file that took the place of another with the same size and time is
 * found. With --checksum, a file is unchanged if its file hash is the same. Times are compared for
 * equality, never for order. */
#ifndef CLIENT_PLAN_H
#define CLIENT_PLAN_H

#include "common/journal.h"
#include "proto/error.h"
#include "proto/listing.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PLAN_MTIME_TOLERANCE_S 2

bool plan_is_same(const struct file_entry *a, const struct file_entry *b);

/* Hashes a whole local file of `size` bytes. -1 if it cannot be read or has another size. */
int plan_hash_file(int folder, const char *path, uint64_t size, uint8_t hash[HASH_SIZE],
                   _Atomic uint64_t *bytes_read, struct error *err);

/* For a push: sets `from` of every local file, given what is stored and what an earlier push has left (as
 * offered). */
int plan_push(int folder, struct listing *local, const struct listing *stored,
              const struct journal_state *offers, bool checksum, _Atomic uint64_t *bytes_read,
              struct error *err);

/* The offer (of a sorted state) for a file, NULL if there is none of that path, size and mtime. */
const struct journal_file *plan_find_offer(const struct journal_state *offers,
                                           const struct file_entry *entry);

/* For a pull: whether `folder` (-1: there is none) holds this file already. */
bool plan_has_local(int folder, const struct file_entry *entry, bool checksum, _Atomic uint64_t *bytes_read);

#endif
