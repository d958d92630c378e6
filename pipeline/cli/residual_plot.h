/* SPDX-License-Identifier: Apache-2.0
 *
 * The residuals that iterative reconstructions recorded, as a line chart.
 */
#ifndef PIPELINE_CLI_RESIDUAL_PLOT_H
#define PIPELINE_CLI_RESIDUAL_PLOT_H

#include "core/diag.h"

enum { RESIDUAL_CURVES = 16 };

struct residual_curve {
    const char *name;
    int64_t slices, iterations;
    const float *values; /* [slice][iteration]; NaN from where a slice was done */
};

/* Writes an SVG of at most RESIDUAL_CURVES: for each the median of its slices, and the range from the least to the
 * largest; the residuals' axis is logarithmic, and values that are not above 0 are left out. TS_RUN_FAILED where the
 * file cannot be written (not-written), or is there and is not to be replaced (output-exists). */
enum ts_status ts_residual_plot(const char *path, bool replace, const struct residual_curve *curves, int n,
                                struct ts_diag *diag);

#endif
