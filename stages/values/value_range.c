/* SPDX-License-Identifier: Apache-2.0
 *
 * Integers are compared as they are. Floats are compared through integers of the same order (sign
 * and magnitude turned into two's complement), because the minimum of integers vectorizes and
 * leaves no doubt about NaN.
 */
#include "stages/values/value_range.h"

#include <string.h>

#define INTEGER_RANGE(suffix, type)                                                                \
    TS_VECTORIZED static void range_##suffix(const type *data, size_t n, type *low, type *high)    \
    {                                                                                              \
        type smallest = data[0], largest = data[0];                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            smallest = data[i] < smallest ? data[i] : smallest;                                    \
            largest = data[i] > largest ? data[i] : largest;                                       \
        }                                                                                          \
        *low = smallest;                                                                           \
        *high = largest;                                                                           \
    }
INTEGER_RANGE(U8, uint8_t)
INTEGER_RANGE(I8, int8_t)
INTEGER_RANGE(U16, uint16_t)
INTEGER_RANGE(I16, int16_t)
INTEGER_RANGE(U32, uint32_t)
INTEGER_RANGE(I32, int32_t)

struct float_range {
    int32_t low, high; /* order keys */
    int32_t n_nan, n_infinite;
};

TS_VECTORIZED static void range_F32(const int32_t *bits, size_t n, struct float_range *range)
{
    int32_t smallest = INT32_MAX, largest = INT32_MIN;
    int32_t n_nan = 0, n_infinite = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t magnitude = bits[i] & 0x7FFFFFFF;
        const int32_t key = bits[i] ^ (bits[i] >> 31 & 0x7FFFFFFF);
        const int32_t finite = -(int32_t)(magnitude < 0x7F800000); /* a mask, which vectorizes */
        const int32_t below = (key & finite) | (INT32_MAX & ~finite),
                      above = (key & finite) | (INT32_MIN & ~finite);
        smallest = below < smallest ? below : smallest;
        largest = above > largest ? above : largest;
        n_nan += magnitude > 0x7F800000;
        n_infinite += magnitude == 0x7F800000;
    }
    *range = (struct float_range){smallest, largest, n_nan, n_infinite};
}

static double value_of_key(int32_t key)
{
    const int32_t bits = key ^ (key >> 31 & 0x7FFFFFFF);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static struct value_range float_block(const void *data, size_t n)
{
    struct float_range found;
    range_F32(data, n, &found);
    return (struct value_range){.n_finite = n - (size_t)found.n_nan - (size_t)found.n_infinite,
                                .n_nan = (uint64_t)found.n_nan,
                                .n_infinite = (uint64_t)found.n_infinite,
                                .low = value_of_key(found.low),
                                .high = value_of_key(found.high)};
}

void ts_value_range_add(struct value_range *range, const void *data, enum ts_dtype dtype, size_t n)
{
    const size_t block = (size_t)1 << 30; /* the counters of a block are 32 bits wide */
    for (size_t done = 0; done < n; done += block) {
        const size_t count = n - done < block ? n - done : block;
        const char *at = (const char *)data + done * ts_dtype_bytes(dtype);
        struct value_range part = {.n_finite = count};
        switch (dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix: {                                                                            \
        type low, high;                                                                            \
        range_##suffix((const type *)at, count, &low, &high);                                      \
        part.low = (double)low;                                                                    \
        part.high = (double)high;                                                                  \
        break;                                                                                     \
    }
            CASE(U8, uint8_t)
            CASE(I8, int8_t)
            CASE(U16, uint16_t)
            CASE(I16, int16_t)
            CASE(U32, uint32_t)
            CASE(I32, int32_t)
#undef CASE
        default:
            part = float_block(at, count);
        }
        ts_value_range_merge(range, &part);
    }
}

void ts_value_range_merge(struct value_range *into, const struct value_range *from)
{
    if (from->n_finite) {
        into->low = into->n_finite && into->low < from->low ? into->low : from->low;
        into->high = into->n_finite && into->high > from->high ? into->high : from->high;
    }
    into->n_finite += from->n_finite;
    into->n_nan += from->n_nan;
    into->n_infinite += from->n_infinite;
}

void ts_value_range_reduce(const struct stage_context *context, int input,
                           const struct ts_image *slices, void *partial)
{
    (void)context;
    (void)input;
    memset(partial, 0, sizeof(struct value_range));
    ts_value_range_add(partial, slices->data, slices->dtype, ts_image_count(slices));
}

/* ---- limits ------------------------------------------------------------------------------------
 *
 * This is the one set of messages for `range` and `limits`, which window, rescale, invert and
 * histogram share. */

const struct choice ts_limits_choices[] = {
    {"data", LIMITS_DATA, "the smallest and the largest finite value of the image"},
    {"dtype", LIMITS_DTYPE, "the lowest and the highest value of the type"},
    {NULL, 0, NULL},
};

enum ts_status ts_limits_check_range(const struct stage_context *context, const char *name,
                                     const struct ts_numbers *range)
{
    const int64_t n = range->rows * range->columns;
    if (!range->values)
        return TS_OK;
    if (n != 2) {
        ts_param_error(context->set, name, "range-length", context->diag,
                       "%lld numbers where two are needed", (long long)n);
        return ts_diag_hint(context->diag, "write %s: [low, high]", name);
    }
    if (!(range->values[0] < range->values[1])) {
        ts_param_error(context->set, name, "range-order", context->diag, "%g is not below %g",
                       range->values[0], range->values[1]);
        return ts_diag_hint(context->diag, "write the lower number first: %s: [low, high]", name);
    }
    return TS_OK;
}

enum ts_status ts_limits_refuse_float(const struct stage_context *context)
{
    ts_param_error(context->set, "limits", "limits-of-float", context->diag,
                   "the values of %s have no limits", ts_dtype_name(context->in.dtype));
    return ts_diag_hint(context->diag, "give range: [low, high], or limits: data");
}
