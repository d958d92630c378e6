/* SPDX-License-Identifier: Apache-2.0
 *
 * Value keys are signed 32-bit integers with the order of the values of an image, for stages that
 * compare and choose values. Their minimum and maximum vectorize for every type and give NaN a
 * place: above all numbers, or below if its sign is set. Keys are equal if and only if the bits
 * are. On a CUDA device: cuda/values/value_keys.cuh.
 */
#ifndef STAGES_VALUES_VALUE_KEYS_H
#define STAGES_VALUES_VALUE_KEYS_H

#include <string.h>

#include "core/image.h"

/* Turns the bits of a float into its key, and back. */
static inline int32_t ts_float_key(int32_t bits)
{
    return bits ^ (bits >> 31 & 0x7FFFFFFF);
}

static inline float ts_float_of_key(int32_t key)
{
    const int32_t bits = ts_float_key(key);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Turn n values into keys, and back. */
void ts_value_keys_load(enum ts_dtype dtype, const void *in, int32_t *keys, int64_t n);
void ts_value_keys_store(enum ts_dtype dtype, void *out, const int32_t *keys, int64_t n);
/* Returns the value of a key. */
double ts_value_of_key(enum ts_dtype dtype, int32_t key);

/* The keys from low to high; none if low is above high. */
struct key_range {
    int32_t low, high;
};
/* Returns the keys of all numbers of the type, including infinite ones. */
struct key_range ts_value_keys_all(enum ts_dtype dtype);
/* Return the keys of the values above `value` (none if it is NaN), and those of all others. */
struct key_range ts_value_keys_above(enum ts_dtype dtype, double value);
struct key_range ts_value_keys_up_to(enum ts_dtype dtype, double value);

/* Returns the keys of the values with above < value < below. An infinite number is no bound;
 * infinite values are beyond every finite bound. */
struct key_range ts_threshold_keys(enum ts_dtype dtype, double above, double below);

/* Returns the key that would be at index `rank` if the n keys were sorted, and puts it there: none
 * before it is above it, and none behind it below (quickselect; C. A. R. Hoare, 1961). */
int32_t ts_value_keys_select(int32_t *keys, int64_t n, int64_t rank);

#endif
