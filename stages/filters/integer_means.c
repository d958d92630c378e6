/* SPDX-License-Identifier: Apache-2.0
 *
 * The result is the nearest integer to a sum over the number N of its samples. There is never a tie, because N is odd:
 * the quotient is at least 1/(2N) away from one. In double every sum of 8- or 16-bit values is exact and the product
 * errs by less than that; in float only where ts_integer_means() allows it.
 */
#include "stages/filters/integer_means.h"

#include <math.h>

#include "core/image.h"

#define STORE(NAME, TYPE, SUM, REAL, ROUND)                                                                            \
    TS_VECTORIZED static void store_##NAME(TYPE *restrict out, const SUM *restrict sums, REAL scale, int64_t n)        \
    {                                                                                                                  \
        for (int64_t x = 0; x < n; x++)                                                                                \
            out[x] = (TYPE)(int32_t)ROUND((REAL)sums[x] * scale);                                                      \
    }
#define STORES(NAME, TYPE)                                                                                             \
    STORE(NAME##_small, TYPE, int32_t, float, rintf)                                                                   \
    STORE(NAME##_middle, TYPE, int32_t, double, rint)                                                                  \
    STORE(NAME##_large, TYPE, int64_t, double, rint)
STORES(u8, uint8_t)
STORES(i8, int8_t)
STORES(u16, uint16_t)
STORES(i16, int16_t)

/* For 32-bit values the quotient in double may be off by one, which the remainder shows. */
#define STORE_WIDE(NAME, TYPE)                                                                                         \
    TS_VECTORIZED static void store_##NAME(TYPE *restrict out, const int64_t *restrict sums, int64_t count, int64_t n) \
    {                                                                                                                  \
        const double scale = 1.0 / (double)count;                                                                      \
        for (int64_t x = 0; x < n; x++) {                                                                              \
            const int64_t quotient = (int64_t)rint((double)sums[x] * scale);                                           \
            const int64_t twice = 2 * (sums[x] - quotient * count);                                                    \
            out[x] = (TYPE)(quotient + (twice > count ? 1 : 0) - (twice < -count ? 1 : 0));                            \
        }                                                                                                              \
    }
STORE_WIDE(u32, uint32_t)
STORE_WIDE(i32, int32_t)

void ts_integer_means(enum ts_dtype dtype, enum window_total total, int64_t count, double largest, const void *sums,
                      void *out, int64_t n)
{
    const double scale = 1.0 / (double)count;
    /* Exact as a float, and two roundings of 2^-24 stay below 1/(2N). */
    const bool small = largest < 0x1p22;
#define CASE(DTYPE, NAME)                                                                                              \
    case TS_##DTYPE:                                                                                                   \
        if (total == TOTAL_I64)                                                                                        \
            store_##NAME##_large(out, sums, scale, n);                                                                 \
        else if (small)                                                                                                \
            store_##NAME##_small(out, sums, (float)scale, n);                                                          \
        else                                                                                                           \
            store_##NAME##_middle(out, sums, scale, n);                                                                \
        return;
    switch (dtype) {
        CASE(U8, u8)
        CASE(I8, i8)
        CASE(U16, u16)
        CASE(I16, i16)
    case TS_U32:
        store_u32(out, sums, count, n);
        return;
    case TS_I32:
        store_i32(out, sums, count, n);
        return;
    default:
        return;
    }
#undef CASE
}
