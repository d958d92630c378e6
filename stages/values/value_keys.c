/* SPDX-License-Identifier: Apache-2.0
 *
 * Each element type has conversion loops that the compiler vectorizes. Unsigned 32-bit integers and floats need their
 * bits changed, all others only widening.
 */
#include "stages/values/value_keys.h"

#define CONVERT(suffix, type, bias)                                                                                    \
    TS_VECTORIZED static void load_##suffix(const type *in, int32_t *keys, int64_t n)                                  \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            keys[i] = (int32_t)((uint32_t)in[i] ^ (bias));                                                             \
    }                                                                                                                  \
    TS_VECTORIZED static void store_##suffix(type *out, const int32_t *keys, int64_t n)                                \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            out[i] = (type)((uint32_t)keys[i] ^ (bias));                                                               \
    }
CONVERT(U8, uint8_t, 0)
CONVERT(I8, int8_t, 0)
CONVERT(U16, uint16_t, 0)
CONVERT(I16, int16_t, 0)
CONVERT(U32, uint32_t, 0x80000000u)
CONVERT(I32, int32_t, 0)

/* Turns floats into keys, and keys into floats: the operation is its own inverse. */
TS_VECTORIZED static void turn_floats(const int32_t *in, int32_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = ts_float_key(in[i]);
}

static void load_F32(const float *in, int32_t *keys, int64_t n)
{
    turn_floats((const int32_t *)(const void *)in, keys, n);
}

static void store_F32(float *out, const int32_t *keys, int64_t n)
{
    turn_floats(keys, (int32_t *)(void *)out, n);
}

void ts_value_keys_load(enum ts_dtype dtype, const void *in, int32_t *keys, int64_t n)
{
    switch (dtype) {
#define CASE(suffix, type)                                                                                             \
    case TS_##suffix:                                                                                                  \
        load_##suffix(in, keys, n);                                                                                    \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break; /* tables are not compared */
    }
}

void ts_value_keys_store(enum ts_dtype dtype, void *out, const int32_t *keys, int64_t n)
{
    switch (dtype) {
#define CASE(suffix, type)                                                                                             \
    case TS_##suffix:                                                                                                  \
        store_##suffix(out, keys, n);                                                                                  \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

double ts_value_of_key(enum ts_dtype dtype, int32_t key)
{
    return dtype == TS_F32   ? (double)ts_float_of_key(key)
           : dtype == TS_U32 ? (double)((uint32_t)key ^ 0x80000000u)
                             : (double)key;
}
