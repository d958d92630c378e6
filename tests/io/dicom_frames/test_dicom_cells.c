/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells to stored values to values: every layout of bits against an oracle that takes one bit at a
 * time, hand-computed corners, and every pair of dtypes.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "io/dicom_frames/dicom_cells.h"
#include "tests/support/support.h"

enum { N_CELLS = 1031 };

/* The stored value of a cell, bit by bit from the definition. */
static int64_t stored_oracle(uint64_t cell, const struct dicom_cells *cells)
{
    int64_t value = 0;
    for (int bit = 0; bit < cells->bits_stored; bit++) {
        const int64_t weight = INT64_C(1) << bit;
        const bool set = cell >> (cells->high_bit + 1 - cells->bits_stored + bit) & 1;
        if (set)
            value += cells->is_signed && bit == cells->bits_stored - 1 ? -weight : weight;
    }
    return value;
}

static bool dirty_oracle(uint64_t cell, int64_t value, const struct dicom_cells *cells)
{
    bool all_zero = true, all_sign = true;
    for (int bit = 0; bit < cells->bits_allocated; bit++) {
        const bool set = cell >> bit & 1;
        if (bit > cells->high_bit) {
            all_zero = all_zero && !set;
            all_sign = all_sign && set == (value < 0);
        } else if (bit <= cells->high_bit - cells->bits_stored) {
            all_zero = all_zero && !set;
            all_sign = all_sign && !set;
        }
    }
    return !(all_zero || (cells->is_signed && all_sign));
}

static int64_t load(const void *data, enum ts_dtype dtype, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(dtype), dtype, 1);
    return (int64_t)value;
}

static void put_cell(unsigned char *at, uint64_t cell, int bits, bool big_endian)
{
    for (int byte = 0; byte < bits / 8; byte++)
        at[big_endian ? bits / 8 - 1 - byte : byte] = (unsigned char)(cell >> (8 * byte));
}

static size_t check_layout(const struct dicom_cells *cells, bool clean, uint64_t seed)
{
    static _Alignas(64) unsigned char data[N_CELLS * 4 + 1];
    static uint64_t raw[N_CELLS];
    const int width = cells->bits_allocated;
    const size_t bytes = (size_t)width / 8;
    const uint64_t field = ((UINT64_C(1) << cells->bits_stored) - 1)
                           << (cells->high_bit + 1 - cells->bits_stored);
    bool expect_dirty = false, same = true;
    data[N_CELLS * bytes] = 0xA5;
    for (size_t i = 0; i < N_CELLS; i++) {
        raw[i] = ts_random_next(&seed) & ((UINT64_C(1) << width) - 1);
        if (clean)
            raw[i] &= field;
        put_cell(data + i * bytes, raw[i], width, cells->big_endian);
        expect_dirty |= dirty_oracle(raw[i], stored_oracle(raw[i], cells), cells);
    }
    const bool dirty = ts_dicom_cells_to_stored(data, N_CELLS, cells);
    for (size_t i = 0; i < N_CELLS; i++)
        same = same && load(data, ts_dicom_stored_dtype(cells), i) == stored_oracle(raw[i], cells);
    cr_assert(same && dirty == expect_dirty && data[N_CELLS * bytes] == 0xA5,
              "%d allocated, %d stored, high bit %d, signed %d, big endian %d: same %d, dirty %d",
              width, cells->bits_stored, cells->high_bit, cells->is_signed, cells->big_endian, same,
              dirty);
    return 1;
}

Test(dicom_cells, every_layout)
{
    const int widths[] = {8, 16, 32};
    size_t layouts = 0;
    for (size_t w = 0; w < 3; w++)
        for (int stored = 1; stored <= widths[w]; stored++)
            for (int high = stored - 1; high < widths[w]; high++)
                for (int flags = 0; flags < 8; flags++) {
                    const struct dicom_cells cells = {widths[w], stored, high, flags & 1,
                                                      flags & 2};
                    layouts += check_layout(&cells, flags & 4, layouts);
                }
    cr_assert_eq(layouts, 8u * (36 + 136 + 528));
}

Test(dicom_cells, by_hand)
{
    /* Signed 12 in 16: -1 as 0x0FFF (zeros above), as 0xFFFF (extended), 0x7FFF and 0x57FF with
     * garbage above. */
    uint16_t cells[] = {0x0FFF, 0xFFFF, 0x7FFF, 0x0800, 0xF800, 0x07FF, 0x57FF, 0x0000};
    const int16_t expected[] = {-1, -1, -1, -2048, -2048, 2047, 2047, 0};
    const struct dicom_cells signed_12 = {16, 12, 11, true, false};
    cr_assert(ts_dicom_cells_to_stored(cells, 8, &signed_12));
    cr_assert_arr_eq(cells, expected, sizeof expected);

    uint16_t clean[] = {0x0FFF, 0x0800, 0x07FF, 0xFFFF, 0xF800, 0x07FF};
    cr_assert_not(ts_dicom_cells_to_stored(clean, 3, &signed_12));
    cr_assert_not(ts_dicom_cells_to_stored(clean + 3, 3, &signed_12));

    uint16_t larger[] = {0xFC18, 100, 2402}; /* -1000 and 2402, which 12 bits do not hold */
    cr_assert(ts_dicom_cells_to_stored(larger, 3, &signed_12));
    uint32_t larger_32[] = {0xFFFFFC18, 100, 0x00800000};
    const struct dicom_cells signed_24 = {32, 24, 23, true, false};
    cr_assert(ts_dicom_cells_to_stored(larger_32, 3, &signed_24));
    uint8_t larger_8[] = {0xF0, 100, 0x40};
    const struct dicom_cells signed_7 = {8, 7, 6, true, false};
    cr_assert(ts_dicom_cells_to_stored(larger_8, 3, &signed_7));

    uint16_t upper[] = {0xABC0, 0xFFF5};
    const uint16_t expected_upper[] = {0xABC, 0xFFF};
    const struct dicom_cells upper_12 = {16, 12, 15, false, false};
    cr_assert(ts_dicom_cells_to_stored(upper, 2, &upper_12));
    cr_assert_arr_eq(upper, expected_upper, sizeof upper);

    _Alignas(2) unsigned char big[] = {0x12, 0x34, 0x80, 0x00};
    const int16_t expected_big[] = {0x1234, -32768};
    const struct dicom_cells big_16 = {16, 16, 15, true, true};
    cr_assert_not(ts_dicom_cells_to_stored(big, 2, &big_16));
    cr_assert_arr_eq(big, expected_big, sizeof expected_big);
}

Test(dicom_cells, stored_range)
{
    double low, high;
    ts_dicom_stored_range(&(struct dicom_cells){16, 12, 11, true, false}, &low, &high);
    cr_assert(low == -2048 && high == 2047);
    ts_dicom_stored_range(&(struct dicom_cells){32, 32, 31, false, false}, &low, &high);
    cr_assert(low == 0 && high == 4294967295.0);
    ts_dicom_stored_range(&(struct dicom_cells){32, 32, 31, true, false}, &low, &high);
    cr_assert(low == -2147483648.0 && high == 2147483647.0);
}

Test(dicom_cells, count_range)
{
    const int16_t values[] = {-2000, -2000, -1024, 0, -1999, 32767, -32768};
    const uint16_t raw[] = {63536, 0, 65535, 63536};
    cr_assert_eq(ts_dicom_mark_range(values, TS_I16, 7, -2000, -2000, NULL), 2);
    cr_assert_eq(ts_dicom_mark_range(values, TS_I16, 7, -2000, -1999, NULL), 3);
    cr_assert_eq(ts_dicom_mark_range(values, TS_I16, 7, INT32_MIN, INT32_MAX, NULL), 7);
    cr_assert_eq(ts_dicom_mark_range(values, TS_I16, 7, 40000, 50000, NULL), 0);
    cr_assert_eq(ts_dicom_mark_range(raw, TS_U16, 4, 63536, 63536, NULL), 2);
    cr_assert_eq(ts_dicom_mark_range(raw, TS_U16, 4, -5, 0, NULL), 1);
}

/* Words that are all in the range, partly, and not at all; the last one is not full. */
Test(dicom_cells, mark_range)
{
    enum { N = 64 * 3 + 5 };
    uint8_t values[N];
    uint64_t valid[4];
    for (int i = 0; i < N; i++)
        values[i] = i < 64 ? 7 : i < 128 ? (uint8_t)(i % 9) : i < 192 ? 1 : i == 194 ? 8 : 0;
    int64_t count = 0;
    const int64_t found = ts_dicom_mark_range(values, TS_U8, N, 7, 8, valid);
    for (int i = 0; i < N; i++) {
        const bool is_valid = valid[i / 64] >> i % 64 & 1;
        cr_assert_eq(is_valid, values[i] < 7, "%d", i);
        count += !is_valid;
    }
    cr_assert_eq(found, count);
    cr_assert_eq(valid[3] >> 5, 0);
}

/* Random stored values of every dtype to every dtype, with slopes and intercepts that fit. */
Test(dicom_cells, rescale)
{
    static _Alignas(64) unsigned char stored[N_CELLS * 4], out[N_CELLS * 8];
    uint64_t seed = 11;
    size_t pairs = 0, in_place = 0;
    for (int from = TS_U8; from <= TS_I32; from++)
        for (int step = TS_U8; step <= TS_F32 + 1; step++) {
            const int to = step <= TS_F32 ? step : TS_F64;
            double low, high, slope = 0.37219, intercept = -1024.25;
            ts_dtype_range(to, &low, &high);
            const bool floats = to == TS_F32 || to == TS_F64;
            if (!floats) {
                /* Values below 40, so that 3 v + 5 and -3 v + 5 fit everywhere. */
                slope = low < 0 ? -3 : 3;
                intercept = 5;
            }
            for (size_t i = 0; i < N_CELLS; i++) {
                uint64_t random = ts_random_next(&seed);
                int64_t value = floats ? (int64_t)random : (int64_t)(random % 40);
                memcpy(stored + i * ts_dtype_bytes(from), &value, ts_dtype_bytes(from));
            }
            ts_dicom_rescale(out, to, stored, from, N_CELLS, slope, intercept);
            for (size_t i = 0; i < N_CELLS; i++) {
                double in, got;
                ts_load_f64(&in, stored + i * ts_dtype_bytes(from), from, 1);
                ts_load_f64(&got, out + i * ts_dtype_bytes(to), to, 1);
                const double exact = in * slope + intercept;
                cr_assert_eq(got, to == TS_F32 ? (double)(float)exact : exact,
                             "%s to %s: %g gave %g", ts_dtype_name(from), ts_dtype_name(to), in,
                             got);
            }
            if (ts_dtype_bytes(from) == ts_dtype_bytes(to)) {
                ts_dicom_rescale(stored, to, stored, from, N_CELLS, slope, intercept);
                cr_assert_arr_eq(stored, out, N_CELLS * ts_dtype_bytes(to), "%s to %s in place",
                                 ts_dtype_name(from), ts_dtype_name(to));
                in_place++;
            }
            pairs++;
        }
    cr_assert_eq(pairs, 6 * 8);
    cr_assert_eq(in_place, 2 * 4 + 2 * 3);
}

Test(dicom_cells, rescale_extremes)
{
    const uint16_t in[] = {0, 1, 4095, 65535};
    const int32_t expected[] = {-1024, -1023, 3071, 64511};
    int32_t out[4];
    ts_dicom_rescale(out, TS_I32, in, TS_U16, 4, 1, -1024);
    cr_assert_arr_eq(out, expected, sizeof out);
    const int16_t negative[] = {-32768, -1, 32767};
    const uint16_t shifted[] = {0, 32767, 65535};
    uint16_t out_16[3];
    ts_dicom_rescale(out_16, TS_U16, negative, TS_I16, 3, 1, 32768);
    cr_assert_arr_eq(out_16, shifted, sizeof out_16);
}
