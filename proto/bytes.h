/* Little-endian numbers in byte arrays, and FNV-1a, the check value of headers and frames.
 *
 * FNV-1a (Fowler, Noll, Vo; parameters of RFC 9923) is not a hash against attackers: it finds the damage that
 * TCP's 16-bit sum lets through, in headers too short for a block hash. Every single changed byte
 * changes it, because each step is a bijection. */
#ifndef PROTO_BYTES_H
#define PROTO_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void put_le(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t get_le(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static inline int is_zero(const uint8_t *bytes, size_t length)
{
    uint8_t seen = 0;
    for (size_t i = 0; i < length; i++)
        seen |= bytes[i];
    return seen == 0;
}

static inline uint32_t fnv1a_32(const void *bytes, size_t length)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * 16777619u;
    return h;
}

static inline uint64_t fnv1a_64(const void *bytes, size_t length)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h;
}

#endif
