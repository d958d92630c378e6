/* SPDX-License-Identifier: Apache-2.0
 *
 * Running sums over square windows, whose cost does not depend on the radius. For one position y of a window of rows
 *
 *     P(i) = sum over x < i of the column sums S(x) = sum over |dy| <= radius of in[y + dy][x], for
 *     -radius <= i <= n + radius,
 *
 * and the sum of the window around x is P(x + radius + 1) - P(x - radius) (F. C. Crow, 1984, one row at a time). One
 * row down, P(i) grows by the prefix sum of entering row minus leaving row, in one sweep. Outside [0, n], P follows
 * from itself by the border rule.
 *
 * Integers are exact: sums wrap and differences of them unwrap. Floats are summed in double, in an order that is the
 * same for every processor: after m rows of n samples of magnitude v, P errs by at most about 2^-53 m n window v. A
 * value that is not finite stays in P for good; ts_window_prefix_finite() reports that it happened.
 */
#ifndef STAGES_FILTERS_WINDOW_PREFIX_H
#define STAGES_FILTERS_WINDOW_PREFIX_H

#include "stages/filters/window_sum.h"

struct window_prefix_kernels;
struct window_prefix {
    const struct window_prefix_kernels *kernels;
    int64_t n, radius;
    enum ts_border border;
    double outside;    /* sum of a column outside the image, with border: constant */
    void *origin;      /* P(0) */
    void *differences; /* of two rows */
};

/* Returns the bytes of scratch of one window_prefix. */
size_t ts_window_prefix_bytes(int64_t n, int64_t radius);
/* `total` is the type of a window's sum, TOTAL_F32 for floats, whose sums are double. `scratch` is 64-byte aligned and
 * as large as ts_window_prefix_bytes() returns. */
void ts_window_prefix_init(struct window_prefix *state, enum window_value value, enum window_total total, int64_t n,
                           int64_t radius, enum ts_border border, double outside, void *scratch);
/* _clear sets P to 0, _add adds at most 4 rows of the first window to the column sums, and _start computes P of
 * them. */
void ts_window_prefix_clear(struct window_prefix *state);
void ts_window_prefix_add(struct window_prefix *state, const void *const *rows, int64_t n_rows);
void ts_window_prefix_start(struct window_prefix *state);
/* Slides the windows one row down. */
void ts_window_prefix_slide(struct window_prefix *state, const void *entering, const void *leaving);
/* Writes the sums of all windows of the row, for integers only: int32_t or int64_t, as `total` says. */
void ts_window_prefix_sums(const struct window_prefix *state, void *sums);
/* Writes out = scale * sum, for floats only; where `merge` is set only to elements of `out` that are finite already. */
void ts_window_prefix_means(const struct window_prefix *state, double scale, bool merge, float *out);
/* Writes the sums of the windows of samples [first, first + n) of the row. For floats only. */
void ts_window_prefix_doubles(const struct window_prefix *state, int64_t first, int64_t n, double *sums);
/* Returns true where all samples so far were finite. For floats only. */
bool ts_window_prefix_finite(const struct window_prefix *state);

#endif
