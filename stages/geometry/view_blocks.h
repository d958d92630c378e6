/* SPDX-License-Identifier: Apache-2.0
 *
 * Means of the rows of a scan over blocks of a 64th of the detector pixels and a 16th of the views.
 * Noise hardly changes them, and an object that the detector cuts off in only some directions is
 * still seen at an end of the rows.
 */
#ifndef STAGES_GEOMETRY_VIEW_BLOCKS_H
#define STAGES_GEOMETRY_VIEW_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/image.h"

/* A number of each view has these means over groups of successive views: the lowest and the highest
 * one, those next to them, which a few views do not make, their deviation from 0 and what noise
 * makes of it. */
struct view_groups {
    double least, low, high, most, deviation, noise;
};
/* There are at least 9 views. */
struct view_groups ts_view_groups(const double *values, int64_t n_views);

struct view_blocks {
    const float *p;                    /* (view, detector) */
    int64_t n_views, n, strip, groups; /* strip: detector pixels of a block; groups: number of
                                        * groups of views */
};

/* Fewer groups are made if a block would have less than `least_values` values. */
struct view_blocks ts_view_blocks(const float *p, int64_t n_views, int64_t n, int64_t least_values);
/* Returns the mean of a group of views over detector pixels [first, first + strip). */
double ts_view_block_mean(const struct view_blocks *blocks, int64_t group, int64_t first);
/* Finds the least and the largest of these means over all groups. */
void ts_view_blocks_range(const struct view_blocks *blocks, int64_t first, double *least,
                          double *most);
/* Returns the least of all these means of light, less than the largest and divided by it: what is
 * seen beside air. Returns 0 if noise may be the cause, of single values or of whole columns. */
double ts_view_blocks_contrast(const struct view_blocks *light);
/* Returns whether light rises outward at both ends: an object goes on beyond them, and falls off.
 */
bool ts_view_ends_rise(const struct view_blocks *light);
/* How much of the object the first and the last end of the rows see, as fractions of the most that
 * any block sees: from 0 (air) to 1. Line integrals and transmissions are compared with those of
 * air. For counts and intensities, whose value in air is not known, it is their change from view to
 * view. */
struct view_ends {
    double first, last;
};
struct view_ends ts_view_ends(const float *p, int64_t n_views, int64_t n,
                              enum ts_quantity quantity);
/* Returns true if the object continues beyond an end that sees this fraction of the most that any
 * block sees: from a tenth on. */
bool ts_view_end_is_cut_off(double share);

#endif
