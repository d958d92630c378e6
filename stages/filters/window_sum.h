/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over a window of odd width that slides along one axis of an image, a whole row at a time, so
 * that every loop runs along x and vectorizes:
 *
 *     down the rows:  out[j][x] = scale * sum over k < window of rows[j + k][x]
 *     along a line:   out[x]    =         sum over k < window of line[x + k]
 *
 * Down the rows there are two methods. `direct` adds the rows anew for each output (windows up to
 * 9). The other costs the same for any window. Integers add the entering row and subtract the
 * leaving one. Floats are never subtracted, because that keeps a NaN for ever and loses digits:
 * their rows are cut into blocks of `window` rows at places fixed by the image, and a window is the
 * end of one block plus the start of the next, both running sums in double (M. van Herk, 1992, for
 * maxima); where they fit the first cache, sums of groups of rows take the place of blocks. So a
 * NaN reaches its own windows alone, and the sums depend on nothing but the window's rows.
 *
 * Along a line narrow windows are added directly. Above, integers take the difference of two prefix
 * sums; for floats the window is a product of factors and remainders (sums of 5 samples, then 3 of
 * those 5 apart, and so on): a few passes that subtract nothing.
 *
 * With u = 2^-24, float results have an error of at most 1u down the rows (groups: 8u, direct: 6u)
 * and 13u along a line (windows up to 81: 7u), relative to the largest magnitude in the window.
 */
#ifndef STAGES_FILTERS_WINDOW_SUM_H
#define STAGES_FILTERS_WINDOW_SUM_H

#include "stages/engine/stage.h"

enum { WINDOW_DIRECT_MAX = 9, WINDOW_TAPS_MAX = 5 }; /* DIRECT: rows; TAPS: integers along a line */

/* Values have one of the image dtypes (numbered as enum ts_dtype), or are 64-bit sums of an earlier
 * pass. */
enum window_value {
    WINDOW_U8,
    WINDOW_I8,
    WINDOW_U16,
    WINDOW_I16,
    WINDOW_U32,
    WINDOW_I32,
    WINDOW_F32,
    WINDOW_I64
};
enum window_total { TOTAL_F32, TOTAL_I32, TOTAL_I64 };

struct window_rows_kernels;
/* Sums down the rows, one output row after the other. */
struct window_rows {
    const struct window_rows_kernels *kernels;
    bool direct;
    int64_t window, n; /* n: samples of a row */
    double scale;      /* for floats; integer sums are not scaled */
    void *sums;        /* running sums */
    double *suffixes;  /* only for floats: sums from each row of the present block to its end */
    int64_t base;      /* output row that suffixes[0] belongs to */
    int64_t group; /* only for floats: rows of a group, whose sums then replace suffixes; 0: blocks
                    * are used */
};

/* Returns the bytes of scratch of a window_rows that makes at most n_out rows in one sweep. */
size_t ts_window_rows_bytes(int64_t window, int64_t n, int64_t n_out);
/* Begins sums down the rows. `scratch` has ts_window_rows_bytes() bytes and is 64-byte aligned. */
void ts_window_rows_init(struct window_rows *state, enum window_value value,
                         enum window_total total, bool direct, int64_t window, int64_t n,
                         double scale, void *scratch);
/* Writes output row j of a sweep of n_out rows (j = 0, 1, ... in order) from rows[j] .. rows[j +
 * window - 1]. `first` is the index in the image of output row 0. */
void ts_window_rows_step(struct window_rows *state, const void *const *rows, int64_t first,
                         int64_t j, int64_t n_out, void *out);

/* The factors by which a window's sum along a line is built. */
struct window_line {
    int64_t window;
    int n_factors;
    int8_t factors[8];
};
/* Factors an odd window. */
struct window_line ts_window_line_plan(int64_t window);
/* Sets the `radius` samples on both sides of n totals by the border rule. */
void ts_window_extend(enum window_total total, void *samples, int64_t n, int64_t radius,
                      enum ts_border border, double constant);
/* Computes out[x], x < n, from line[0 .. n + window - 2]. It overwrites the line, and `spare` of
 * the same length. */
void ts_window_line(enum window_total total, const struct window_line *plan, void *line,
                    void *spare, int64_t n, void *out);

/* ---- integer means -----------------------------------------------------------------------------
 *
 * This divides exact sums of integers to rounded means. */

/* Sets out[i] to sums[i] / count, rounded to the nearest integer, for i < n; count is odd. The sums
 * have 32 or 64 bits as `total` says, always 64 for 32-bit values. `largest` is the largest
 * magnitude that a sum of 8- or 16-bit values may have. It does nothing for floats, and cannot
 * fail. */
void ts_integer_means(enum ts_dtype dtype, enum window_total total, int64_t count, double largest,
                      const void *sums, void *out, int64_t n);

#endif
