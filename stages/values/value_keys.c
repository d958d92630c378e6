/* SPDX-License-Identifier: Apache-2.0
 *
 * Each element type has conversion loops that the compiler vectorizes. Unsigned 32-bit integers and
 * floats need their bits changed; the others are only widened.
 */
#include "stages/values/value_keys.h"

#include <math.h>

#define CONVERT(suffix, type, bias)                                                                \
    TS_VECTORIZED static void load_##suffix(const type *in, int32_t *keys, int64_t n)              \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            keys[i] = (int32_t)((uint32_t)in[i] ^ (bias));                                         \
    }                                                                                              \
    TS_VECTORIZED static void store_##suffix(type *out, const int32_t *keys, int64_t n)            \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = (type)((uint32_t)keys[i] ^ (bias));                                           \
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
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        load_##suffix(in, keys, n);                                                                \
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
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        store_##suffix(out, keys, n);                                                              \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

double ts_value_of_key(enum ts_dtype dtype, int32_t key)
{
    if (dtype == TS_F32)
        return (double)ts_float_of_key(key);
    return dtype == TS_U32 ? (double)((uint32_t)key ^ 0x80000000u) : (double)key;
}

struct key_range ts_value_keys_all(enum ts_dtype dtype)
{
    const float ends[] = {-INFINITY, INFINITY};
    struct key_range all = {INT32_MIN, INT32_MAX};
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    if (dtype == TS_F32) {
        load_F32(&ends[0], &all.low, 1);
        load_F32(&ends[1], &all.high, 1);
    } else if (dtype != TS_U32) {
        all = (struct key_range){(int32_t)low, (int32_t)high};
    }
    return all;
}

/* Returns how many keys, starting with `all.low`, belong to values up to `value`. Values rise with
 * their keys, so bisection finds the last of them. */
static int64_t count_up_to(enum ts_dtype dtype, struct key_range all, double value)
{
    int64_t n = 0, most = (int64_t)all.high - all.low + 1;
    while (n < most) {
        const int64_t middle = n + (most - n) / 2;
        if (ts_value_of_key(dtype, (int32_t)(all.low + middle)) <= value)
            n = middle + 1;
        else
            most = middle;
    }
    return n;
}

static const struct key_range no_keys = {1, 0};

struct key_range ts_value_keys_above(enum ts_dtype dtype, double value)
{
    const struct key_range all = ts_value_keys_all(dtype);
    const int64_t first = all.low + count_up_to(dtype, all, value);
    return isnan(value) || first > all.high ? no_keys
                                            : (struct key_range){(int32_t)first, all.high};
}

struct key_range ts_value_keys_up_to(enum ts_dtype dtype, double value)
{
    const struct key_range all = ts_value_keys_all(dtype);
    const int64_t end = all.low + count_up_to(dtype, all, value);
    return end == all.low ? no_keys : (struct key_range){all.low, (int32_t)(end - 1)};
}

struct key_range ts_threshold_keys(enum ts_dtype dtype, double above, double below)
{
    const struct key_range all = ts_value_keys_all(dtype);
    const struct key_range high = isfinite(above) ? ts_value_keys_above(dtype, above) : all;
    const struct key_range low =
        isfinite(below) ? ts_value_keys_up_to(dtype, nextafter(below, (double)-INFINITY)) : all;
    const bool none = high.low > high.high || low.low > low.high;
    return none ? (struct key_range){1, 0} : (struct key_range){high.low, low.high};
}

int32_t ts_value_keys_select(int32_t *keys, int64_t n, int64_t rank)
{
    int64_t first = 0, last = n - 1;
    while (first < last) {
        const int32_t pivot = keys[first + (last - first) / 2];
        int64_t i = first, j = last;
        while (i <= j) {
            while (keys[i] < pivot)
                i++;
            while (keys[j] > pivot)
                j--;
            if (i <= j) {
                const int32_t key = keys[i];
                keys[i++] = keys[j];
                keys[j--] = key;
            }
        }
        if (rank <= j)
            last = j;
        else if (rank >= i)
            first = i;
        else
            break;
    }
    return keys[rank];
}
