/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves elements of a block of the file to their places in the result, and converts byte order and
 * type. If neither changes, rows are copied.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "io/hdf5/hdf5_stack_put.h"

#define SWAP_8(bits) (bits)
#define SWAP_16(bits) __builtin_bswap16(bits)
#define SWAP_32(bits) __builtin_bswap32(bits)
#define SWAP_64(bits) __builtin_bswap64(bits)

#define PUT_ROW(name, type, size, out_type) PUT_ROW_OF(name, type, size, out_type, value)
#define PUT_ROW_OF(name, type, size, out_type, of_value)                                           \
    static void put_##name(void *out, ptrdiff_t stride, const unsigned char *in, int64_t n,        \
                           bool swapped)                                                           \
    {                                                                                              \
        out_type *to = out;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            uint##size##_t bits;                                                                   \
            type value;                                                                            \
            memcpy(&bits, in + (size_t)i * sizeof bits, sizeof bits);                              \
            bits = swapped ? SWAP_##size(bits) : bits;                                             \
            memcpy(&value, &bits, sizeof value);                                                   \
            to[i * stride] = (out_type)(of_value);                                                 \
        }                                                                                          \
    }
PUT_ROW(bits8, uint8_t, 8, uint8_t)
PUT_ROW(bits16, uint16_t, 16, uint16_t)
PUT_ROW(bits32, uint32_t, 32, uint32_t)
PUT_ROW(narrow, double, 64, float)
PUT_ROW_OF(f16_f32, uint16_t, 16, float, ts_half_value(value))
PUT_ROW_OF(f16_f64, uint16_t, 16, double, ts_half_value(value))
PUT_ROW(u8_f64, uint8_t, 8, double)
PUT_ROW(i8_f64, int8_t, 8, double)
PUT_ROW(u16_f64, uint16_t, 16, double)
PUT_ROW(i16_f64, int16_t, 16, double)
PUT_ROW(u32_f64, uint32_t, 32, double)
PUT_ROW(i32_f64, int32_t, 32, double)
PUT_ROW(f32_f64, float, 32, double)
PUT_ROW(f64_f64, double, 64, double)
PUT_ROW(u64_f64, uint64_t, 64, double)
PUT_ROW(i64_f64, int64_t, 64, double)
PUT_ROW(u64_f32, uint64_t, 64, float)
PUT_ROW(i64_f32, int64_t, 64, float)

typedef void put_row(void *out, ptrdiff_t stride, const unsigned char *in, int64_t n, bool swapped);

static put_row *row_function(const struct hdf5_stack *stack, bool doubles)
{
    static put_row *const same[] = {
        [TS_U8] = put_bits8,    [TS_I8] = put_bits8,   [TS_U16] = put_bits16, [TS_I16] = put_bits16,
        [TS_U32] = put_bits32,  [TS_I32] = put_bits32, [TS_F32] = put_bits32, [TS_F64] = put_narrow,
        [TS_F16] = put_f16_f32, [TS_U64] = put_u64_f32};
    static put_row *const wide[] = {
        [TS_U8] = put_u8_f64,   [TS_I8] = put_i8_f64,   [TS_U16] = put_u16_f64,
        [TS_I16] = put_i16_f64, [TS_U32] = put_u32_f64, [TS_I32] = put_i32_f64,
        [TS_F32] = put_f32_f64, [TS_F64] = put_f64_f64, [TS_U64] = put_u64_f64,
        [TS_F16] = put_f16_f64};
    if (stack->stored == TS_U64 && stack->storage.has_sign)
        return doubles ? put_i64_f64 : put_i64_f32;
    return doubles ? wide[stack->stored] : same[stack->stored];
}

/* Returns the bits of the 64-bit element i. */
static uint64_t bits_at(const unsigned char *in, int64_t i, bool swapped)
{
    uint64_t bits;
    memcpy(&bits, in + (size_t)i * sizeof bits, sizeof bits);
    return swapped ? __builtin_bswap64(bits) : bits;
}

/* Notes if narrowing turns a finite number into an infinity, and how much it changes numbers. */
static void check_narrow(const struct hdf5_stack *stack, const unsigned char *in, int64_t n,
                         struct put_faults *faults)
{
    enum { PART = 256 };
    double values[PART];
    for (int64_t first = 0; first < n; first += PART) {
        const int64_t part = n - first < PART ? n - first : PART;
        row_function(stack, true)(values, 1, in + (size_t)first * sizeof *values, part,
                                  stack->swapped);
        for (int64_t i = 0; i < part; i++)
            faults->overflow |= isfinite(values[i]) && !isfinite((float)values[i]);
        ts_rounding_of_doubles(&faults->rounding, values, (size_t)part);
    }
}

/* Returns true if a 64-bit integer has more significant bits than a double. */
static bool loses_bits(const struct hdf5_stack *stack, const unsigned char *in, int64_t n)
{
    bool found = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = bits_at(in, i, stack->swapped);
        if (stack->storage.has_sign && bits >> 63)
            bits = -bits;
        found |= bits != 0 && bits >> __builtin_ctzll(bits) >> DBL_MANT_DIG != 0;
    }
    return found;
}

int64_t ts_hdf5_box_place(const struct hdf5_box *box, int d, int64_t i)
{
    return box->map[d] ? box->map[d][i + box->shift[d]] : i - box->first[d];
}

static bool is_copied(const struct hdf5_stack *stack, const struct hdf5_box *box)
{
    return stack->stored == stack->dtype && !box->doubles &&
           (!stack->swapped || ts_dtype_bytes(stack->stored) == 1) && box->stride[2] == 1 &&
           !box->map[2];
}

bool ts_hdf5_box_takes_rows(const struct hdf5_stack *stack, const struct hdf5_box *box)
{
    return is_copied(stack, box) && box->first[2] == 0 && box->end[2] == stack->n[2];
}

/* Puts one row of the last axis, [first, end), stored at `in`, into the box. */
static void put_last(const struct hdf5_stack *stack, const struct hdf5_box *box,
                     const unsigned char *in, ptrdiff_t at, int64_t first, int64_t end,
                     struct put_faults *faults)
{
    const size_t stored = ts_dtype_bytes(stack->stored),
                 size = box->doubles ? sizeof(double) : ts_dtype_bytes(stack->dtype);
    put_row *put = row_function(stack, box->doubles);
    if (is_copied(stack, box)) {
        at += first - box->first[2];
        memcpy((unsigned char *)box->out + at * (ptrdiff_t)size, in, (size_t)(end - first) * size);
        return;
    }
    if (stack->stored == TS_U64)
        faults->inexact |= loses_bits(stack, in, end - first);
    if ((stack->stored == TS_F64 || stack->stored == TS_U64) && !box->doubles)
        check_narrow(stack, in, end - first, faults);
    if (!box->map[2]) {
        at += (first - box->first[2]) * box->stride[2];
        put((unsigned char *)box->out + at * (ptrdiff_t)size, box->stride[2], in, end - first,
            stack->swapped);
        return;
    }
    for (int64_t i = first; i < end; i++, in += stored) {
        const int64_t place = ts_hdf5_box_place(box, 2, i);
        if (place >= 0)
            put((unsigned char *)box->out + (at + place * box->stride[2]) * (ptrdiff_t)size, 1, in,
                1, stack->swapped);
    }
}

void ts_hdf5_box_put(const struct hdf5_stack *stack, const struct hdf5_box *box, const void *block,
                     const int64_t start[3], const int64_t n[3], struct put_faults *faults)
{
    const size_t stored = ts_dtype_bytes(stack->stored);
    int64_t first[3], end[3];
    for (int d = 0; d < 3; d++) {
        first[d] = start[d] > box->first[d] ? start[d] : box->first[d];
        end[d] = start[d] + n[d] < box->end[d] ? start[d] + n[d] : box->end[d];
    }
    for (int64_t i = first[0]; i < end[0]; i++) {
        const int64_t place_i = ts_hdf5_box_place(box, 0, i);
        for (int64_t j = first[1]; place_i >= 0 && j < end[1]; j++) {
            const int64_t place_j = ts_hdf5_box_place(box, 1, j);
            if (place_j < 0)
                continue;
            const int64_t index =
                ((i - start[0]) * n[1] + (j - start[1])) * n[2] + (first[2] - start[2]);
            put_last(stack, box, (const unsigned char *)block + (size_t)index * stored,
                     place_i * box->stride[0] + place_j * box->stride[1], first[2], end[2], faults);
        }
    }
}
