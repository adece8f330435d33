/* One pass over the header's tokens; what remains of a tensor is its type and its two offsets. */
#include "common/safetensors.h"

#include "common/extents.h"
#include "common/model_json.h"
#include "common/printable.h"
#include "proto/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_BYTES 8
#define NAME_SHOWN   80

struct dtype {
    const char *name;
    unsigned bits;
};

/* safetensors 0.8; tensor.rs, enum Dtype. */
static const struct dtype dtypes[] = {
    {"BOOL", 8},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},
    {"F8_E5M2", 8},     {"F8_E4M3", 8},     {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16}, {"F16", 16},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"BF16", 16},   {"I32", 32},    {"U32", 32}, {"F32", 32},
    {"C64", 64},        {"F64", 64},        {"I64", 64},    {"U64", 64},
};
static const struct dtype other = {"other", 0};

/* What the elements of a tensor in a quantised layer are. */
enum role { ROLE_PLAIN, ROLE_PACKED, ROLE_AUXILIARY };

/* Ends of names: AutoGPTQ and AutoAWQ, compressed-tensors, MXFP4 and MLX. */
static const struct {
    const char *end;
    enum role role;
} roles[] = {
    {".qweight", ROLE_PACKED},         {".qzeros", ROLE_AUXILIARY},
    {".scales", ROLE_AUXILIARY},       {".g_idx", ROLE_AUXILIARY},
    {".weight_packed", ROLE_PACKED},   {".weight_scale", ROLE_AUXILIARY},
    {".weight_shape", ROLE_AUXILIARY}, {".weight_zero_point", ROLE_AUXILIARY},
    {"_blocks", ROLE_PACKED},          {"_scales", ROLE_AUXILIARY},
    {".biases", ROLE_AUXILIARY},
};

enum field { FIELD_UNKNOWN, FIELD_DTYPE, FIELD_SHAPE, FIELD_OFFSETS };

struct entry {
    char name[NAME_SHOWN]; /* as it is shown */
    enum role role;
    bool is_weight; /* called "….weight" */
    const struct dtype *dtype;
    bool has_shape, overflows;
    uint64_t elements;
    uint64_t offsets[2];
    unsigned offset_count;
};

struct scan {
    struct safetensors *out;
    struct finding *why;
    struct extents extents;
    bool in_metadata;
    bool has_other; /* a type that is not in the table */
    enum field field;
    struct entry entry;
};

static int bad_entry(struct scan *scan, const char *what)
{
    return finding_set(scan->why, FINDING_BAD_HEADER, "is damaged: tensor '%s' %s", scan->entry.name, what);
}

/* -- the end of a tensor -- */

static int check_entry(struct scan *scan)
{
    struct entry *e = &scan->entry;
    if (!e->dtype || !e->has_shape || e->offset_count != 2)
        return bad_entry(scan, "lacks its type, shape or offsets");
    if (e->offsets[0] > e->offsets[1])
        return bad_entry(scan, "ends before it begins");
    if (e->overflows)
        return bad_entry(scan, "has a shape of more elements than can be counted");
    if (e->dtype == &other)
        return 0;
    uint64_t bits;
    if (__builtin_mul_overflow(e->elements, e->dtype->bits, &bits))
        return bad_entry(scan, "has a shape of more bytes than can be counted");
    uint64_t span = e->offsets[1] - e->offsets[0];
    if (bits % 8 != 0 || bits / 8 != span)
        return finding_set(scan->why, FINDING_BAD_HEADER,
                           "is damaged: tensor '%s' has type and shape for %" PRIu64
                           " bits, and offsets for %" PRIu64 " bytes",
                           e->name, bits, span);
    return 0;
}

static void count_role(struct scan *scan)
{
    struct safetensors *out = scan->out;
    const struct entry *e = &scan->entry;
    bool is_mlx = e->is_weight && strcmp(e->dtype->name, "U32") == 0;
    if (e->role == ROLE_PACKED || is_mlx) {
        out->packed_elements = saturating_add(out->packed_elements, e->elements);
        out->packed_bits = saturating_add(out->packed_bits, e->elements * e->dtype->bits);
    } else if (e->role == ROLE_AUXILIARY) {
        out->auxiliary_elements = saturating_add(out->auxiliary_elements, e->elements);
    }
}

static int end_entry(struct scan *scan)
{
    struct entry *e = &scan->entry;
    if (check_entry(scan) < 0)
        return -1;
    if (!extents_add(&scan->extents, (struct extent){e->offsets[0], e->offsets[1]}))
        return finding_set(scan->why, FINDING_BAD_HEADER, "has more than %zu tensors", EXTENTS_MAX);
    scan->has_other |= e->dtype == &other;
    dtype_mix_add(&scan->out->mix, e->dtype->name, 1, e->dtype == &other ? 0 : e->elements,
                  e->offsets[1] - e->offsets[0]);
    if (e->dtype != &other)
        count_role(scan);
    return 0;
}

/* -- tokens by their depth: 0 the header, 1 a tensor, 2 a field of it, 3 a number of a list -- */

static bool ends_with(const struct json_token *token, const char *end)
{
    size_t length = strlen(end);
    return token->length >= length && memcmp(token->text + token->length - length, end, length) == 0;
}

static enum role role_of(const struct json_token *name)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (ends_with(name, roles[i].end))
            return roles[i].role;
    return ROLE_PLAIN;
}

static void begin_entry(struct scan *scan, const struct json_token *name)
{
    char text[NAME_SHOWN];
    json_token_copy(name, text, sizeof text);
    scan->in_metadata = json_token_is(name, "__metadata__");
    scan->field = FIELD_UNKNOWN;
    scan->entry =
        (struct entry){.elements = 1, .role = role_of(name), .is_weight = ends_with(name, ".weight")};
    (void)printable(text, scan->entry.name, sizeof scan->entry.name);
}

static const struct dtype *find_dtype(const struct json_token *token)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (json_token_is(token, dtypes[i].name))
            return &dtypes[i];
    return &other;
}

static void begin_field(struct scan *scan, const struct json_token *name)
{
    if (json_token_is(name, "dtype"))
        scan->field = FIELD_DTYPE;
    else if (json_token_is(name, "shape"))
        scan->field = FIELD_SHAPE;
    else if (json_token_is(name, "data_offsets"))
        scan->field = FIELD_OFFSETS;
    else
        scan->field = FIELD_UNKNOWN;
}

static int take_field(struct scan *scan, const struct json_token *token)
{
    struct entry *e = &scan->entry;
    if (token->event == JSON_KEY) {
        begin_field(scan, token);
        return 0;
    }
    if (scan->field == FIELD_UNKNOWN)
        return 0;
    if (scan->field == FIELD_DTYPE && token->event == JSON_STRING && !e->dtype) {
        e->dtype = find_dtype(token);
        return 0;
    }
    if (token->event == JSON_END_ARRAY && scan->field != FIELD_DTYPE)
        return 0;
    if (token->event == JSON_BEGIN_ARRAY && scan->field == FIELD_SHAPE && !e->has_shape) {
        e->has_shape = true;
        return 0;
    }
    if (token->event == JSON_BEGIN_ARRAY && scan->field == FIELD_OFFSETS && e->offset_count == 0)
        return 0;
    return bad_entry(scan, "has a field of a wrong kind, or one twice");
}

static int take_number(struct scan *scan, const struct json_token *token)
{
    struct entry *e = &scan->entry;
    uint64_t number;
    if (scan->field == FIELD_UNKNOWN)
        return 0;
    if (!json_token_whole(token, &number))
        return bad_entry(scan, "has something else than a whole number in its shape or offsets");
    if (scan->field == FIELD_SHAPE)
        e->overflows |= __builtin_mul_overflow(e->elements, number, &e->elements);
    else if (e->offset_count < 2)
        e->offsets[e->offset_count++] = number;
    else
        return bad_entry(scan, "has more than two offsets");
    return 0;
}

static int take_member(struct scan *scan, const struct json_token *token)
{
    if (token->event == JSON_KEY)
        begin_entry(scan, token);
    else if (token->event == JSON_END_OBJECT)
        return scan->in_metadata ? 0 : end_entry(scan);
    else if (token->event != JSON_BEGIN_OBJECT && !scan->in_metadata)
        return bad_entry(scan, "is no object");
    return 0;
}

static int take_token(void *context, const struct json_token *token)
{
    struct scan *scan = context;
    if (token->depth == 1)
        return take_member(scan, token);
    if (token->depth == 0 || scan->in_metadata)
        return 0;
    if (token->depth == 2)
        return take_field(scan, token);
    return take_number(scan, token);
}

/* -- the whole -- */

/* The tensors cover exactly the `bytes` behind the header. */
static int check_cover(struct scan *scan, uint64_t header, uint64_t bytes)
{
    uint64_t at = 0;
    extents_sort(&scan->extents);
    switch (extents_check(&scan->extents, &at)) {
    case EXTENTS_OVERLAPPING:
        return finding_set(scan->why, FINDING_OVERLAP,
                           "is damaged: two tensors claim the byte at offset %" PRIu64 " of the data", at);
    case EXTENTS_WITH_GAPS:
        return finding_set(scan->why, FINDING_GAP,
                           "is damaged: no tensor has the byte at offset %" PRIu64 " of the data", at);
    case EXTENTS_CONTIGUOUS:
        break;
    }
    uint64_t end = extents_end(&scan->extents);
    if (end == bytes)
        return 0;
    if (end > bytes)
        return finding_set(scan->why, FINDING_CUT_FILE,
                           "is cut off: its header describes %" PRIu64 " bytes, %" PRIu64 " are there",
                           saturating_add(header, end), header + bytes);
    return finding_set(scan->why, FINDING_EXTRA_BYTES,
                       "is longer than its header says: %" PRIu64 " bytes instead of %" PRIu64,
                       header + bytes, header + end);
}

/* The length of the header and its first byte. */
static int read_start(const struct model_reader *in, uint64_t *length, struct finding *why)
{
    uint8_t start[LENGTH_BYTES + 1];
    if (in->size == 0)
        return finding_set(why, FINDING_CUT_FILE, "is empty");
    if (in->size < sizeof start)
        return finding_set(why, FINDING_NOT_CHECKED, "is no safetensors file: it has %" PRIu64 " bytes",
                           in->size);
    if (model_reader_get(in, start, sizeof start, 0, why) < 0)
        return -1;
    *length = get_le(start, LENGTH_BYTES);
    if (start[LENGTH_BYTES] != '{')
        return finding_set(why, FINDING_NOT_CHECKED, "does not begin as a safetensors file does");
    if (*length > SAFETENSORS_HEADER_MAX)
        return finding_set(why, FINDING_OVERSIZED_HEADER,
                           "claims a header of %" PRIu64 " bytes; loaders refuse more than %" PRIu64, *length,
                           SAFETENSORS_HEADER_MAX);
    if (*length > in->size - LENGTH_BYTES)
        return finding_set(why, FINDING_CUT_FILE,
                           "is cut off: its header alone has %" PRIu64 " bytes, %" PRIu64 " are there",
                           LENGTH_BYTES + *length, in->size);
    return 0;
}

int safetensors_read(struct safetensors *out, const struct model_reader *in, struct finding *why)
{
    uint64_t length = 0;
    *out = (struct safetensors){0};
    if (read_start(in, &length, why) < 0)
        return -1;
    out->header_bytes = LENGTH_BYTES + length;
    struct scan scan = {.out = out, .why = why};
    int result = model_json_read(in, LENGTH_BYTES, length, "its header", SAFETENSORS_STRING_MAX, take_token,
                                 &scan, why);
    if (result == 0)
        result = check_cover(&scan, out->header_bytes, in->size - out->header_bytes);
    if (result == 0 && scan.has_other)
        result = finding_set(why, FINDING_NOT_CHECKED, "has tensors of a type that is not known here");
    extents_release(&scan.extents);
    return result;
}
