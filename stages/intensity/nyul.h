/* SPDX-License-Identifier: Apache-2.0
 *
 * nyul maps the percentiles of an image to those of a standard scale. The layout of what the
 * reduction finds is here because the CPU code and cuda/intensity/nyul.cu both use it, and the
 * percentiles because a fit of the scale takes the same.
 */
#ifndef STAGES_INTENSITY_NYUL_H
#define STAGES_INTENSITY_NYUL_H

#include "core/host_device.h"
#include "stages/counting/percentile.h"
#include "stages/engine/stage.h"

enum { NYUL_PERCENTILES = 13, NYUL_KNOTS = 11 };

/* 1, 99, the deciles and the quartiles, rising. */
extern const double ts_nyul_percents[NYUL_PERCENTILES];

struct nyul_params {
    const char *landmarks_file; /* read before the plan is made (pipeline/chain/param_file.h) */
    struct ts_numbers landmarks, percentiles;
    const char *landmarks_sha256;
    struct ts_reference mask;
};

/* Line k goes through (at[k], to[k]); the map uses it from at[k] on, and the first one below. */
struct nyul_lines {
    double at[NYUL_KNOTS], to[NYUL_KNOTS], slope[NYUL_KNOTS - 1];
};

struct nyul_result {
    struct nyul_lines lines;
    double percentiles[NYUL_PERCENTILES];
    struct percentile_search search; /* the struct ends before this if no second round is needed */
};

/* Returns true if the percentiles follow from the counts of 8- and 16-bit values. */
bool ts_nyul_by_value(const struct stage_context *context);

/* Maps a value. NaN stays NaN, and a line without slope has one value. */
TS_HOST_DEVICE double ts_nyul_value(const struct nyul_lines *lines, double x)
{
    int line = 0;
    for (int k = 1; k < NYUL_KNOTS - 1; k++)
        line += x >= lines->at[k];
    const double slope = lines->slope[line], rise = slope * (x - lines->at[line]);
    return lines->to[line] + (slope > 0 || x != x ? rise : 0);
}

#endif
