/* Which files of weights belong together, by indexes and by names, and which of them are missing. Names only:
 * nothing is read.
 *
 * Calling sequence: add every index and every file of weights, arrange, then walk the sets and check each,
 * and check the indexes. Paths are borrowed from the listing, which must outlive the parts. One thread. */
#ifndef COMMON_MODEL_PARTS_H
#define COMMON_MODEL_PARTS_H

#include "common/model_finding.h"
#include "common/model_index.h"
#include "common/model_names.h"
#include "proto/listing.h"

#include <stdbool.h>

#define MODEL_PARTS_INDEXES_MAX 64
/* Memory for all paths that indexes name. */
#define MODEL_PARTS_INDEXED_MAX ((size_t)16 << 20)

struct part {
    const struct file_entry *file;
    const char *index; /* the path of the index that names it, or NULL */
    bool has_name;     /* it is called number of total */
    struct part_name name;
    char *set; /* equal for all parts of a set */
};

struct indexed_file {
    char *path; /* in the model */
    const char *index;
};

struct model_parts {
    struct part *items;
    size_t count, capacity;
    const char *indexes[MODEL_PARTS_INDEXES_MAX];
    size_t index_count;
    struct indexed_file *indexed; /* what they name */
    size_t indexed_count, indexed_capacity, indexed_bytes;
};

/* False if there are too many, or they name too much; then nothing of this one is kept. */
bool model_parts_add_index(struct model_parts *parts, const char *path, const struct model_index *index);
void model_parts_add_file(struct model_parts *parts, const struct file_entry *file);

/* Sorts: sets by their names, files of a set by their numbers. */
void model_parts_arrange(struct model_parts *parts);

/* Where the set that begins at `at` ends. */
size_t model_parts_next_set(const struct model_parts *parts, size_t at);

/* Adds a finding for each number that a series without an index lacks; false if there is one. */
bool model_parts_check_series(const struct part *set, size_t count, struct finding_list *findings);

/* Adds a finding for each file that an index names and the listing lacks. An index of which no file is there,
 * beside other weights in its folder, belongs to a format that was left out: one FINDING_NOT_CHECKED. */
void model_parts_check_indexes(const struct model_parts *parts, const struct listing *listing,
                               struct finding_list *findings);

void model_parts_release(struct model_parts *parts);

#endif
