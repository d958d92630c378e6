/* SPDX-License-Identifier: Apache-2.0
 *
 * This fills the tables of a scan's rays: the angle of each view, the ray of each detector pixel relative to it, and
 * the runs of detector pixels whose rays share a major axis. They are worked out once for all blocks of pixels.
 */
#include "stages/projection/joseph_rays.h"

struct joseph_rays ts_joseph_rays(const struct beam_scan *scan, struct memory_layout *layout)
{
    const size_t views = (size_t)scan->n_views;
    struct joseph_rays rays = {.scan = scan, .fan = scan->beam.kind != TS_BEAM_PARALLEL};
    rays.angles = ts_layout_add(layout, views * sizeof *rays.angles);
    rays.detectors = ts_layout_add(layout, (size_t)scan->grid.n_detectors * sizeof *rays.detectors);
    rays.runs = ts_layout_add(layout, views * sizeof *rays.runs);
    rays.n_runs = ts_layout_add(layout, views * sizeof *rays.n_runs);
    return rays;
}

void ts_joseph_rays_fill(struct joseph_rays *rays)
{
    const struct beam_scan *scan = rays->scan;
    for (int64_t d = 0; d < scan->grid.n_detectors; d++)
        rays->detectors[d] = ts_beam_detector(scan, d);
    for (int64_t v = 0; v < scan->n_views; v++) {
        rays->angles[v] = ts_beam_angle(scan, v);
        rays->n_runs[v] = ts_beam_runs(scan, rays->detectors, rays->angles[v], rays->runs[v]);
    }
}

void ts_joseph_seen(const struct joseph_rays *rays, int64_t view, const struct slice_block *block, int64_t *first,
                    int64_t *end)
{
    const struct beam_geometry *grid = &rays->scan->grid;
    const double row_center = 0.5 * (double)(grid->n_rows - 1), column_center = 0.5 * (double)(grid->n_columns - 1);
    const double major[2] = {(double)block->m_first, (double)(block->m_first + block->n_major - 1)};
    const double minor[2] = {-1, (double)block->n_minor}, n = (double)grid->n_detectors;
    double low = INFINITY, high = -INFINITY;
    for (int corner = 0; corner < 4; corner++) {
        const double m = major[corner / 2], i = minor[corner % 2];
        const double row = block->along_rows ? m : i, column = block->along_rows ? i : m;
        const double shadow =
            ts_beam_shadow(rays->scan, rays->angles[view], (column - column_center) * grid->column_spacing,
                           (row_center - row) * grid->row_spacing);
        low = fmin(low, shadow);
        high = fmax(high, shadow);
    }
    /* One more detector pixel on both sides allows for rounding; rays that miss the lines add 0. */
    *first = low - 1 > 0 ? (int64_t)fmin(low - 1, n) : 0;
    *end = high + 2 < n ? (int64_t)fmax(high + 2, 0) : grid->n_detectors;
}

void ts_joseph_lengths(const struct joseph_rays *rays, int64_t view, float *lengths)
{
    const struct beam_geometry *grid = &rays->scan->grid;
    for (int64_t d = 0; d < grid->n_detectors; d++)
        lengths[d] = d == 0 || rays->fan ? (float)ts_beam_ray(grid, rays->angles[view], rays->detectors[d]).length_mm
                                         : lengths[0];
}

size_t ts_joseph_block_bytes(const struct beam_scan *scan)
{
    const size_t a = ts_slice_block_bytes(scan->grid.n_rows), b = ts_slice_block_bytes(scan->grid.n_columns);
    return a > b ? a : b;
}
