/* A sorted list that is asked once a tensor; neighbours in the map mostly lie in the same file. */
#include "common/model_index.h"

#include "common/model_json.h"
#include "common/printable.h"
#include "proto/limits.h"
#include "proto/name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    struct model_index *index;
    struct finding *why;
    bool in_map;
    size_t last; /* where the last name was found */
};

/* Where `name` is, or belongs. */
static size_t find(const struct model_index *index, const char *name, bool *is_there)
{
    size_t low = 0, high = index->count;
    *is_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(index->shards[middle], name);
        if (order == 0) {
            *is_there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct model_index *index, size_t at, const char *name)
{
    if (index->count == index->capacity) {
        index->capacity = index->capacity ? 2 * index->capacity : 64;
        index->shards = realloc(index->shards, index->capacity * sizeof *index->shards);
        if (!index->shards)
            abort();
    }
    memmove(index->shards + at + 1, index->shards + at, (index->count - at) * sizeof *index->shards);
    index->shards[at] = strdup(name);
    if (!index->shards[at])
        abort();
    index->count++;
    index->name_bytes += strlen(name) + 1;
}

static int add_shard(struct scan *scan, const struct json_token *token)
{
    struct model_index *index = scan->index;
    char name[LIMIT_PATH + 1], shown[FINDING_TEXT_MAX / 2];
    bool is_there;
    if (index->count > 0 && json_token_is(token, index->shards[scan->last]))
        return 0;
    json_token_copy(token, name, sizeof name);
    if (strlen(name) != token->length || !name_is_path(name))
        return finding_set(scan->why, FINDING_BAD_HEADER, "names '%s', which is no path",
                           printable(name, shown, sizeof shown));
    scan->last = find(index, name, &is_there);
    if (is_there)
        return 0;
    if (index->count == MODEL_INDEX_SHARDS_MAX || index->name_bytes + token->length >= MODEL_INDEX_NAMES_MAX)
        return finding_set(scan->why, FINDING_BAD_HEADER, "names more files than any model has");
    insert(index, scan->last, name);
    return 0;
}

static int take_token(void *context, const struct json_token *token)
{
    struct scan *scan = context;
    if (token->depth == 1 && token->event == JSON_KEY)
        scan->in_map = json_token_is(token, "weight_map");
    if (token->depth == 0 || !scan->in_map || token->event == JSON_KEY)
        return 0;
    if (token->depth == 1 && (token->event == JSON_BEGIN_OBJECT || token->event == JSON_END_OBJECT))
        return 0;
    if (token->event != JSON_STRING || token->depth != 2)
        return finding_set(scan->why, FINDING_BAD_HEADER, "has a weight_map that maps no names to names");
    scan->index->tensors++;
    return add_shard(scan, token);
}

int model_index_read(struct model_index *index, const struct model_reader *in, struct finding *why)
{
    struct scan scan = {.index = index, .why = why};
    *index = (struct model_index){0};
    if (in->size > MODEL_INDEX_MAX)
        return finding_set(why, FINDING_NOT_CHECKED, "is not read: %" PRIu64 " bytes are no index", in->size);
    if (model_json_begins(in, why) < 0)
        return -1;
    return model_json_read(in, 0, in->size, "it", MODEL_INDEX_STRING_MAX, take_token, &scan, why);
}

void model_index_release(struct model_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        free(index->shards[i]);
    free(index->shards);
    *index = (struct model_index){0};
}
