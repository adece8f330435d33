/* Headers of model files, built byte by byte: valid ones, for the tests to break. */
#ifndef UNIT_MODEL_FIXTURE_H
#define UNIT_MODEL_FIXTURE_H

#include "support.h"

#include "common/model_reader.h"
#include "proto/bytes.h"
#include "tests/memory_reader.h"

/* The start of a file; `size` is what the whole file would have. free() the bytes. */
struct fixture {
    uint8_t *bytes;
    size_t length;
    uint64_t size;
    int length_bytes; /* of GGUF counts */
    size_t capacity;
};

static inline void fixture_bytes(struct fixture *f, const void *bytes, size_t length)
{
    if (f->length + length > f->capacity) {
        f->capacity = 2 * (f->length + length);
        f->bytes = realloc(f->bytes, f->capacity);
        assert_non_null(f->bytes);
    }
    if (length > 0)
        memcpy(f->bytes + f->length, bytes, length);
    f->length += length;
    f->size = f->length;
}

static inline void fixture_number(struct fixture *f, uint64_t number, int bytes)
{
    uint8_t field[8];
    put_le(field, number, bytes);
    fixture_bytes(f, field, (size_t)bytes);
}

static inline void fixture_release(struct fixture *f)
{
    free(f->bytes);
    *f = (struct fixture){0};
}

/* -- safetensors -- */

/* The header and `data` bytes behind it, which are not there. */
static inline struct fixture safetensors_fixture(const char *json, uint64_t data)
{
    struct fixture f = {0};
    fixture_number(&f, strlen(json), 8);
    fixture_bytes(&f, json, strlen(json));
    f.size += data;
    return f;
}

/* -- GGUF -- */

static inline struct fixture gguf_begin(uint32_t version, uint64_t tensors, uint64_t keys)
{
    struct fixture f = {.length_bytes = version == 1 ? 4 : 8};
    fixture_bytes(&f, "GGUF", 4);
    fixture_number(&f, version, 4);
    fixture_number(&f, tensors, f.length_bytes);
    fixture_number(&f, keys, f.length_bytes);
    return f;
}

static inline void gguf_string(struct fixture *f, const char *text)
{
    fixture_number(f, strlen(text), f->length_bytes);
    fixture_bytes(f, text, strlen(text));
}

static inline void gguf_text(struct fixture *f, const char *key, const char *value)
{
    gguf_string(f, key);
    fixture_number(f, 8, 4);
    gguf_string(f, value);
}

/* Types 4 (u32), 5 (i32), 10 (u64), 2 (u16). */
static inline void gguf_whole(struct fixture *f, const char *key, uint32_t type, uint64_t value)
{
    gguf_string(f, key);
    fixture_number(f, type, 4);
    fixture_number(f, value, type == 10 ? 8 : type == 2 ? 2 : 4);
}

static inline void gguf_array(struct fixture *f, const char *key, uint32_t type, uint64_t count)
{
    gguf_string(f, key);
    fixture_number(f, 9, 4);
    fixture_number(f, type, 4);
    fixture_number(f, count, f->length_bytes);
}

static inline void gguf_tensor(struct fixture *f, const char *name, uint64_t rows, uint64_t columns,
                               uint32_t type, uint64_t offset)
{
    gguf_string(f, name);
    fixture_number(f, 2, 4);
    fixture_number(f, columns, f->length_bytes);
    fixture_number(f, rows, f->length_bytes);
    fixture_number(f, type, 4);
    fixture_number(f, offset, 8);
}

/* Pads the header; `data` bytes follow, which are not there. */
static inline void gguf_end(struct fixture *f, uint64_t data)
{
    static const uint8_t zeros[32];
    fixture_bytes(f, zeros, (32 - f->length % 32) % 32);
    f->size += data;
}

/* -- what a parser says -- */

static inline const char *kind_of(int result, const struct finding *why)
{
    return result == 0 ? "none" : finding_name(why->kind);
}

/* Fails unless the parser's result is of that kind and its text says that word. */
#define assert_finding(result, why, kind, word)                                                              \
    do {                                                                                                     \
        if (strcmp(kind_of(result, &(why)), kind) != 0)                                                      \
            fail_msg("%s instead of %s: %s", kind_of(result, &(why)), kind, (result) ? (why).text : "");     \
        if ((result) != 0 && !strstr((why).text, word))                                                      \
            fail_msg("not in the text: %s: %s", word, (why).text);                                           \
    } while (0)

#endif
