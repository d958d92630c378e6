/* SPDX-License-Identifier: Apache-2.0
 *
 * The connected parts of a mask in bits. A run is a stretch of voxels of a row, and runs that touch
 * belong to one part. Parts do not depend on the number of threads: the root of each is its first
 * run in the order of voxels.
 */
#ifndef STAGES_REGIONS_MASK_RUNS_H
#define STAGES_REGIONS_MASK_RUNS_H

#include "stages/regions/mask_bits.h"

struct mask_runs {
    struct mask_grid grid;
    uint32_t n;
    uint32_t *row; /* runs row[r] to row[r + 1] - 1 are those of row r = z * ny + y */
    struct mask_run {
        uint32_t begin, end; /* voxels [begin, end) of the row */
        uint32_t root;       /* the first run of its part; its own number if it is that */
    } * runs;
};

/* 4 joins voxels of a slice only, that have an edge in common; 6, 18 and 26 join those with a face,
 * an edge or a corner in common. */
enum mask_neighbors { MASK_4 = 4, MASK_6 = 6, MASK_18 = 18, MASK_26 = 26 };

/* Finds the runs of a mask and joins them, on the context's threads. If memory is out, that is
 * reported and there is nothing to clear. */
enum ts_status ts_mask_runs_init(struct mask_runs *runs, const struct stage_context *context,
                                 const uint64_t *bits, enum mask_neighbors neighbors);
void ts_mask_runs_clear(struct mask_runs *runs);
/* Writes the runs of one row of bits to runs[first], runs[first + 1], ..., and returns how many
 * they are; a row has at most MASK_ROW_RUNS(nx). */
#define MASK_ROW_RUNS(nx) (((nx) + 1) / 2)
uint32_t ts_mask_find_runs(const uint64_t *row, const struct mask_grid *grid, uint32_t first,
                           struct mask_run *runs);
/* Sets or clears the bits of a run of row r. */
void ts_mask_run_write(const struct mask_runs *runs, int64_t r, const struct mask_run *run,
                       bool value, uint64_t *bits);

/* A part: the number of its voxels, and its first run. */
struct mask_part {
    uint64_t voxels;
    uint32_t first;
};
/* Lists the parts, the largest first, and equally large ones in the order of their first voxels;
 * free(*parts). */
enum ts_status ts_mask_parts(const struct mask_runs *runs, struct ts_diag *diag,
                             struct mask_part **parts, uint32_t *n);
/* Leaves of a mask only its largest part. */
enum ts_status ts_mask_keep_largest(const struct stage_context *context,
                                    enum mask_neighbors neighbors, uint64_t *bits);
/* Adds to a mask the parts of what is not in it that do not reach the border of the volume, or, if
 * `across` is false, of each slice. A volume of one slice has its border in the slice. */
enum ts_status ts_mask_fill_holes(const struct stage_context *context, bool across, uint64_t *bits);
/* Refuses a parameter `neighbors` that is not 6, 18 or 26 (code neighbors-number). For
 * resolve(). */
enum ts_status ts_mask_check_neighbors(const struct stage_context *context, int64_t neighbors);
/* Refuses a volume whose rows may have more runs than can be counted (code mask-size). For
 * resolve(). */
enum ts_status ts_mask_check_runs(const struct stage_context *context);

#endif
