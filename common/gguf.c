/* Field by field with a cursor. The keys are walked through twice: first for the architecture, which is the
 * prefix of most others and in practice the first key, then for all that is wanted. */
#include "common/gguf.h"

#include "common/extents.h"
#include "common/ggml_type.h"
#include "common/printable.h"
#include "proto/bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MAGIC             "GGUF"
#define START_BYTES       8  /* magic and version */
#define DEFAULT_ALIGNMENT 32 /* where general.alignment is not given */
/* Of a key or name; longer ones are passed over. No key that is looked for comes near. */
#define NAME_MAX_SHOWN 128

/* enum gguf_metadata_value_type */
enum value_type {
    VALUE_U8,
    VALUE_I8,
    VALUE_U16,
    VALUE_I16,
    VALUE_U32,
    VALUE_I32,
    VALUE_F32,
    VALUE_BOOL,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_U64,
    VALUE_I64,
    VALUE_F64,
    VALUE_TYPE_COUNT
};

static const struct {
    uint8_t bytes; /* 0: of no fixed size */
    bool is_whole, is_signed;
} value_types[VALUE_TYPE_COUNT] = {
    [VALUE_U8] = {1, true, false},  [VALUE_I8] = {1, true, true},     [VALUE_U16] = {2, true, false},
    [VALUE_I16] = {2, true, true},  [VALUE_U32] = {4, true, false},   [VALUE_I32] = {4, true, true},
    [VALUE_F32] = {4, false, true}, [VALUE_BOOL] = {1, false, false}, [VALUE_U64] = {8, true, false},
    [VALUE_I64] = {8, true, true},  [VALUE_F64] = {8, false, true},
};

struct scan {
    struct gguf *out;
    struct finding *why;
    struct model_cursor cursor;
    int length_bytes; /* of counts and lengths */
    uint64_t key_count, tensor_count, alignment;
    struct extents extents;
    bool has_other; /* a type that is not in the table */
};

static int bad(struct scan *scan, const char *what)
{
    return finding_set(scan->why, FINDING_BAD_HEADER, "is damaged: %s", what);
}

/* -- fields -- */

static int take(struct scan *scan, int bytes, uint64_t *number)
{
    return model_cursor_number(&scan->cursor, bytes, number, scan->why);
}

/* How many of something of at least `bytes` each; more than the file can hold are refused before anything is
 * done for them. */
static int take_count(struct scan *scan, uint64_t bytes, uint64_t *count)
{
    if (take(scan, scan->length_bytes, count) < 0)
        return -1;
    if (*count <= model_cursor_left(&scan->cursor) / bytes)
        return 0;
    return model_cursor_skip(&scan->cursor, UINT64_MAX, scan->why); /* says which end it would pass */
}

/* Takes a string; what does not fit is cut, from its end or at a NUL. */
static int take_string(struct scan *scan, char *to, size_t size)
{
    uint64_t length;
    if (take_count(scan, 1, &length) < 0)
        return -1;
    size_t kept = length < size ? (size_t)length : size - 1;
    if (model_cursor_take(&scan->cursor, to, kept, scan->why) < 0)
        return -1;
    to[kept] = '\0';
    return model_cursor_skip(&scan->cursor, length - kept, scan->why);
}

static int take_type(struct scan *scan, uint64_t *type)
{
    if (take(scan, 4, type) < 0)
        return -1;
    return *type < VALUE_TYPE_COUNT ? 0 : bad(scan, "a value has a type that does not exist");
}

static int skip_value(struct scan *scan, uint64_t type, int depth);

static int skip_array(struct scan *scan, int depth)
{
    uint64_t type, count;
    if (depth == GGUF_ARRAY_DEPTH)
        return bad(scan, "arrays are nested too deeply");
    if (take_type(scan, &type) < 0)
        return -1;
    uint64_t bytes = value_types[type].bytes;
    if (take_count(scan, bytes ? bytes : (uint64_t)scan->length_bytes, &count) < 0)
        return -1;
    if (bytes)
        return model_cursor_skip(&scan->cursor, count * bytes, scan->why);
    for (uint64_t i = 0; i < count; i++)
        if (skip_value(scan, type, depth + 1) < 0)
            return -1;
    return 0;
}

static int skip_value(struct scan *scan, uint64_t type, int depth)
{
    uint64_t length;
    if (type == VALUE_ARRAY)
        return skip_array(scan, depth);
    if (type != VALUE_STRING)
        return model_cursor_skip(&scan->cursor, value_types[type].bytes, scan->why);
    if (take_count(scan, 1, &length) < 0)
        return -1;
    return model_cursor_skip(&scan->cursor, length, scan->why);
}

/* A whole number; 0 for a negative one. */
static int take_whole(struct scan *scan, uint64_t type, uint64_t *number)
{
    int bytes = value_types[type].bytes;
    if (take(scan, bytes, number) < 0)
        return -1;
    if (value_types[type].is_signed && *number >> (8 * bytes - 1))
        *number = 0;
    return 0;
}

/* -- keys that are wanted -- */

static const struct {
    const char *key;
    size_t at;
} numbers_of_architecture[] = {
    {"context_length", offsetof(struct model_facts, context_length)},
    {"block_count", offsetof(struct model_facts, layers)},
    {"embedding_length", offsetof(struct model_facts, embedding_length)},
    {"expert_count", offsetof(struct model_facts, experts)},
    {"expert_used_count", offsetof(struct model_facts, experts_used)},
    {"attention.head_count", offsetof(struct model_facts, heads)},
    {"attention.head_count_kv", offsetof(struct model_facts, kv_heads)},
    {"attention.key_length", offsetof(struct model_facts, key_length)},
    {"attention.value_length", offsetof(struct model_facts, value_length)},
    {"attention.kv_lora_rank", offsetof(struct model_facts, kv_lora_rank)},
    {"rope.dimension_count", offsetof(struct model_facts, rope_dimensions)},
};

/* The part of a key behind "<architecture>.", or NULL. */
static const char *below_architecture(const struct scan *scan, const char *key)
{
    size_t length = strlen(scan->out->facts.architecture);
    if (length == 0 || strncmp(key, scan->out->facts.architecture, length) != 0 || key[length] != '.')
        return NULL;
    return key + length + 1;
}

static uint64_t *number_for(struct scan *scan, const char *key)
{
    const char *rest = below_architecture(scan, key);
    for (size_t i = 0; rest && i < sizeof numbers_of_architecture / sizeof numbers_of_architecture[0]; i++)
        if (strcmp(rest, numbers_of_architecture[i].key) == 0)
            return (uint64_t *)((char *)&scan->out->facts + numbers_of_architecture[i].at);
    if (strcmp(key, "general.file_type") == 0) {
        scan->out->has_file_type = true;
        return &scan->out->file_type;
    }
    if (strcmp(key, "general.alignment") == 0)
        return &scan->alignment;
    if (strcmp(key, "split.no") == 0)
        return &scan->out->split_number;
    if (strcmp(key, "split.count") == 0)
        return &scan->out->split_count;
    return strcmp(key, "split.tensors.count") == 0 ? &scan->out->split_tensors : NULL;
}

static char *text_for(struct scan *scan, const char *key)
{
    if (strcmp(key, "general.name") == 0)
        return scan->out->facts.name;
    return strcmp(key, "general.license") == 0 ? scan->out->facts.licence : NULL;
}

/* Some architectures give a number of heads for each layer. */
static int take_heads_of_layers(struct scan *scan)
{
    uint64_t type, count, heads, sum = 0;
    if (take_type(scan, &type) < 0)
        return -1;
    if (!value_types[type].is_whole)
        return bad(scan, "a number of heads is no whole number");
    if (take_count(scan, value_types[type].bytes, &count) < 0)
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        if (take_whole(scan, type, &heads) < 0)
            return -1;
        sum = saturating_add(sum, heads);
    }
    scan->out->facts.kv_heads_of_layers = sum;
    return 0;
}

static int take_value(struct scan *scan, const char *key, uint64_t type)
{
    uint64_t *number = value_types[type].is_whole ? number_for(scan, key) : NULL;
    char *text = type == VALUE_STRING ? text_for(scan, key) : NULL;
    if (number)
        return take_whole(scan, type, number);
    if (text)
        return take_string(scan, text, MODEL_FACT_MAX);
    if (type == VALUE_STRING && strcmp(key, "general.type") == 0) {
        char kind[16];
        if (take_string(scan, kind, sizeof kind) < 0)
            return -1;
        scan->out->is_auxiliary = strcmp(kind, "mmproj") == 0;
        return 0;
    }
    const char *rest = below_architecture(scan, key);
    if (type == VALUE_ARRAY && rest && strcmp(rest, "attention.head_count_kv") == 0)
        return take_heads_of_layers(scan);
    return skip_value(scan, type, 0);
}

/* -- the three parts of a header -- */

static int find_architecture(struct scan *scan)
{
    uint64_t type;
    char key[NAME_MAX_SHOWN];
    for (uint64_t i = 0; i < scan->key_count; i++) {
        if (take_string(scan, key, sizeof key) < 0 || take_type(scan, &type) < 0)
            return -1;
        if (type == VALUE_STRING && strcmp(key, "general.architecture") == 0)
            return take_string(scan, scan->out->facts.architecture, MODEL_FACT_MAX);
        if (skip_value(scan, type, 0) < 0)
            return -1;
    }
    return 0;
}

static int read_keys(struct scan *scan)
{
    uint64_t type, begin = scan->cursor.at;
    char key[NAME_MAX_SHOWN];
    if (find_architecture(scan) < 0)
        return -1;
    scan->cursor.at = begin;
    for (uint64_t i = 0; i < scan->key_count; i++)
        if (take_string(scan, key, sizeof key) < 0 || take_type(scan, &type) < 0 ||
            take_value(scan, key, type) < 0)
            return -1;
    scan->out->is_auxiliary |= strcmp(scan->out->facts.architecture, "clip") == 0;
    if (scan->alignment == 0 || scan->alignment & (scan->alignment - 1))
        return bad(scan, "its alignment is no power of two");
    return 0;
}

static int bad_tensor(struct scan *scan, const char *name, const char *what)
{
    char shown[NAME_MAX_SHOWN];
    return finding_set(scan->why, FINDING_BAD_HEADER, "is damaged: tensor '%s' %s",
                       printable(name, shown, sizeof shown), what);
}

/* Its elements; *row is how many of them stand in a row. */
static int take_shape(struct scan *scan, const char *name, uint64_t *elements, uint64_t *row)
{
    uint64_t dimensions, dimension;
    *elements = *row = 1;
    if (take(scan, 4, &dimensions) < 0)
        return -1;
    if (dimensions > GGUF_DIMENSIONS_MAX)
        return bad_tensor(scan, name, "has too many dimensions");
    for (uint64_t i = 0; i < dimensions; i++) {
        if (take(scan, scan->length_bytes, &dimension) < 0)
            return -1;
        if (i == 0)
            *row = dimension;
        if (__builtin_mul_overflow(*elements, dimension, elements))
            return bad_tensor(scan, name, "has more elements than can be counted");
    }
    return 0;
}

static int add_tensor(struct scan *scan, const char *name, const struct ggml_type *type, uint64_t elements,
                      uint64_t offset)
{
    uint64_t bytes, end;
    if (__builtin_mul_overflow(elements / type->block_elements, type->block_bytes, &bytes) ||
        __builtin_add_overflow(offset, bytes, &end))
        return bad_tensor(scan, name, "has more bytes than can be counted");
    dtype_mix_add(&scan->out->mix, type->name, 1, elements, bytes);
    bool has_room = extents_add(&scan->extents, (struct extent){offset, end});
    assert(has_room); /* read_counts() has seen to it */
    (void)has_room;
    return 0;
}

static int read_tensor(struct scan *scan)
{
    char name[NAME_MAX_SHOWN];
    uint64_t elements, row, number, offset;
    if (take_string(scan, name, sizeof name) < 0 || take_shape(scan, name, &elements, &row) < 0 ||
        take(scan, 4, &number) < 0 || take(scan, 8, &offset) < 0)
        return -1;
    if (offset % scan->alignment != 0)
        return bad_tensor(scan, name, "is not aligned");
    const struct ggml_type *type = ggml_type_find(number);
    if (!type) {
        scan->has_other = true;
        dtype_mix_add(&scan->out->mix, "other", 1, 0, 0);
        return 0;
    }
    if (row % type->block_elements != 0)
        return bad_tensor(scan, name, "has rows that are no whole number of blocks of its type");
    return add_tensor(scan, name, type, elements, offset);
}

static int read_start(struct scan *scan)
{
    const struct model_reader *in = scan->cursor.in;
    uint8_t start[START_BYTES];
    if (in->size == 0)
        return finding_set(scan->why, FINDING_CUT_FILE, "is empty");
    if (in->size < sizeof start)
        return finding_set(scan->why, FINDING_NOT_CHECKED, "is no GGUF file: it has %" PRIu64 " bytes",
                           in->size);
    if (model_cursor_take(&scan->cursor, start, sizeof start, scan->why) < 0)
        return -1;
    if (memcmp(start, MAGIC, strlen(MAGIC)) != 0)
        return finding_set(scan->why, FINDING_NOT_CHECKED, "does not begin as a GGUF file does");
    scan->out->version = get_le(start + strlen(MAGIC), 4);
    if (scan->out->version != 0 && (scan->out->version & 0xffff) == 0)
        return finding_set(scan->why, FINDING_NOT_CHECKED, "is a big-endian GGUF file, which is not checked");
    if (scan->out->version > 3)
        return finding_set(scan->why, FINDING_NOT_CHECKED,
                           "is a GGUF file of version %" PRIu64 ", which is not known here",
                           scan->out->version);
    if (scan->out->version == 0)
        return bad(scan, "its version is 0");
    scan->length_bytes = scan->out->version == 1 ? 4 : 8;
    return 0;
}

static int read_counts(struct scan *scan)
{
    if (take(scan, scan->length_bytes, &scan->tensor_count) < 0 ||
        take(scan, scan->length_bytes, &scan->key_count) < 0)
        return -1;
    if (scan->tensor_count > EXTENTS_MAX || scan->key_count > GGUF_KEYS_MAX)
        return finding_set(scan->why, FINDING_BAD_HEADER,
                           "claims %" PRIu64 " tensors and %" PRIu64 " keys; more than %" PRIu64
                           " are not believed",
                           scan->tensor_count, scan->key_count, GGUF_KEYS_MAX);
    /* A key needs its length, a type and a value; a tensor its name's length, dimensions, type and offset. */
    uint64_t least = scan->key_count * (uint64_t)(scan->length_bytes + 4 + 1) +
                     scan->tensor_count * (uint64_t)(scan->length_bytes + 4 + 4 + 8);
    return least <= model_cursor_left(&scan->cursor)
               ? 0
               : model_cursor_skip(&scan->cursor, least, scan->why); /* says which end it would pass */
}

/* -- the whole -- */

static int check_place(struct scan *scan)
{
    uint64_t at = 0, end;
    extents_sort(&scan->extents);
    if (extents_check(&scan->extents, &at) == EXTENTS_OVERLAPPING)
        return finding_set(scan->why, FINDING_OVERLAP,
                           "is damaged: two tensors claim the byte at offset %" PRIu64 " of the data", at);
    uint64_t padding = (scan->alignment - scan->cursor.at % scan->alignment) % scan->alignment;
    uint64_t size = scan->cursor.in->size;
    end = saturating_add(saturating_add(scan->cursor.at, padding), extents_end(&scan->extents));
    if (scan->extents.count > 0 && end > size)
        return finding_set(scan->why, FINDING_CUT_FILE,
                           "is cut off: its header describes %" PRIu64 " bytes, %" PRIu64 " are there", end,
                           size);
    if (scan->has_other)
        return finding_set(scan->why, FINDING_NOT_CHECKED, "has tensors of a type that is not known here");
    return 0;
}

static int read_all(struct scan *scan)
{
    if (read_start(scan) < 0 || read_counts(scan) < 0 || read_keys(scan) < 0)
        return -1;
    for (uint64_t i = 0; i < scan->tensor_count; i++)
        if (read_tensor(scan) < 0)
            return -1;
    return check_place(scan);
}

/* The name of the quantisation: what the writer says, else the type of most bytes. */
static void name_quantization(struct gguf *out)
{
    const char *name = out->has_file_type ? ggml_file_type_name(out->file_type) : NULL;
    if (!name)
        name = dtype_mix_largest(&out->mix);
    (void)snprintf(out->facts.quantization, sizeof out->facts.quantization, "%s", name ? name : "");
}

int gguf_read(struct gguf *out, const struct model_reader *in, struct finding *why)
{
    *out = (struct gguf){0};
    struct scan scan = {.out = out, .why = why, .alignment = DEFAULT_ALIGNMENT};
    model_cursor_init(&scan.cursor, in, GGUF_HEADER_MAX);
    int result = read_all(&scan);
    name_quantization(out);
    extents_release(&scan.extents);
    return result;
}
