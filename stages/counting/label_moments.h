/* SPDX-License-Identifier: Apache-2.0
 *
 * Count, range, sum and sum of squares of the values under each label, exact in every type: the values of an image are
 * integers times a power of two, and so are their squares; both are added up as long integers of 32-bit limbs. So no
 * order of pixels, slices or threads matters, and a CUDA device adds to the same limbs
 * (cuda/counting/label_moments.cu). What is rounded is rounded once, at the end.
 */
#ifndef STAGES_COUNTING_LABEL_MOMENTS_H
#define STAGES_COUNTING_LABEL_MOMENTS_H

#include "core/image.h"

/* Limbs enough for the sum of 2^40 floats, in units of 2^-149, and for that of their squares, in units of 2^-298. */
enum { LABEL_SUM_LIMBS = 10, LABEL_SQUARE_LIMBS = 20 };
/* A limb holds this many additions of 32 bits before its carry must be passed on. */
enum { LABEL_MOMENTS_ADDITIONS = 1 << 30 };

/* The moments of the values under one label. Zero bytes are those of none. Limb i counts units of 2^(32 i); each but
 * the last is in [0, 2^32) once carries were passed on. */
struct label_moments {
    uint64_t n, n_nan, n_infinite, n_zero; /* n: finite values */
    uint32_t not_low, high;                /* ~ of the lowest order key, and the highest */
    int64_t sum[LABEL_SUM_LIMBS], squares[LABEL_SQUARE_LIMBS];
};

/* The numbers that follow. All but the counts are NaN where there is no finite value, and the sum is 0. */
struct label_numbers {
    double low, high, sum, mean, variance;
};

/* Writes the order keys of n values from `first` on: the rank in the type of 8- and 16-bit integers, else all 32 bits
 * (stages/counting/percentile.h: ts_percentile_key_value). */
void ts_order_keys(uint32_t *keys, const void *data, enum ts_dtype dtype, size_t first, size_t n);
/* Returns true where the key is that of a finite value. */
static inline bool ts_order_key_finite(uint32_t key, enum ts_dtype dtype)
{
    return dtype != TS_F32 || (key > 0x007FFFFFu && key < 0xFF800000u);
}

/* Adds n values by their keys to the moments of their rows. */
void ts_label_moments_add(struct label_moments *moments, const uint32_t *keys, const uint32_t *rows,
                          enum ts_dtype dtype, size_t n);
/* Passes the carries of n_rows moments on: call it after LABEL_MOMENTS_ADDITIONS values, and before reading or merging.
 */
void ts_label_moments_carry(struct label_moments *moments, int64_t n_rows);
/* Adds `from` to `into`, both without carries. */
void ts_label_moments_merge(struct label_moments *into, const struct label_moments *from, int64_t n_rows);
/* Computes the numbers of one label. The variance divides by n - ddof. */
struct label_numbers ts_label_moments_numbers(const struct label_moments *moments, enum ts_dtype dtype, int64_t ddof);

#endif
