/* SPDX-License-Identifier: Apache-2.0
 *
 * What Joseph's projector and its adjoint share on the CPU: the rays of a scan as tables, and where the rays of a run
 * of detectors cross the lines of a block of pixels. Inline, so that each loop that includes it is compiled for several
 * levels of the processor.
 */
#ifndef STAGES_PROJECTION_JOSEPH_RAYS_H
#define STAGES_PROJECTION_JOSEPH_RAYS_H

#include <math.h>

#include "stages/geometry/beam.h"
#include "stages/projection/slice_block.h"

enum {
    BLOCK_MAJOR = 16,  /* rows or columns of a block at most */
    DETECTOR_RUN = 64, /* detectors whose crossings are worked out at once */
    JOSEPH_ALIGNMENT = 64
};

/* One sample of every lane; the compiler splits it where the processor's vectors are shorter. */
typedef float lanes_16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float lanes_4 __attribute__((vector_size(16), aligned(4), may_alias));

struct joseph_rays {
    const struct beam_scan *scan;
    struct beam_angle *angles;       /* n_views */
    struct beam_detector *detectors; /* n_detectors */
    struct beam_run (*runs)[BEAM_RUNS];
    int *n_runs; /* of each view */
    bool fan;
};

/* Where the rays of a run of detectors cross the lines of a block: sample index within the block, and weight of the
 * next. */
struct crossings {
    int32_t index[BLOCK_MAJOR][DETECTOR_RUN];
    float weight[BLOCK_MAJOR][DETECTOR_RUN];
};

size_t ts_joseph_rays_bytes(const struct beam_scan *scan);
/* Fills the tables in `room`. */
struct joseph_rays ts_joseph_rays(const struct beam_scan *scan, void *room);
/* Detectors [*first, *end) that a block's lines can show anything to. */
void ts_joseph_seen(const struct joseph_rays *rays, int64_t view, const struct slice_block *block, int64_t *first,
                    int64_t *end);

static inline size_t joseph_rounded(size_t bytes)
{
    return (bytes + JOSEPH_ALIGNMENT - 1) / JOSEPH_ALIGNMENT * JOSEPH_ALIGNMENT;
}

/* Lines of a block, fixed by the image alone, because it fixes the order of sums. */
static inline int64_t joseph_block_lines(int64_t n_minor)
{
    return n_minor <= 512 ? BLOCK_MAJOR : n_minor <= 1024 ? BLOCK_MAJOR / 2 : BLOCK_MAJOR / 4;
}

static inline size_t joseph_block_bytes(int64_t n_minor)
{
    return joseph_rounded((size_t)(joseph_block_lines(n_minor) * (n_minor + 2 * BLOCK_MARGIN)) * BLOCK_LANES *
                          sizeof(float));
}

/* A run of rays: where each crosses line 0, and how far that moves from line to line. */
struct ray_run {
    double base[DETECTOR_RUN], step[DETECTOR_RUN];
};

/* Of n detectors from `first` on, 1 to DETECTOR_RUN; then the last ray again up to a multiple of `whole`. */
static inline __attribute__((always_inline)) void find_rays(const struct joseph_rays *rays, int64_t view,
                                                            const struct slice_block *block, int64_t first, int64_t n,
                                                            int64_t whole, struct ray_run *run)
{
    const struct beam_angle angle = rays->angles[view];
    for (int64_t d = 0; d < n; d++) {
        const struct beam_ray ray =
            ts_beam_ray_along(&rays->scan->grid, angle, rays->detectors[first + d], block->along_rows);
        run->base[d] = ray.base;
        run->step[d] = ray.per_major;
    }
    for (int64_t d = n; d < (n + whole - 1) / whole * whole; d++) {
        run->base[d] = run->base[n - 1];
        run->step[d] = run->step[n - 1];
    }
}

/* Of n detectors from `first` on, 1 to DETECTOR_RUN. The samples i and i + 1 of a crossing lie within the block's
 * margins. */
static inline __attribute__((always_inline)) void find_crossings(const struct joseph_rays *rays, int64_t view,
                                                                 const struct slice_block *block, int64_t first,
                                                                 int64_t n, struct crossings *crossings)
{
    const double low = -BLOCK_MARGIN, high = (double)block->n_minor;
    const int64_t whole = (n + 3) / 4 * 4; /* for loops in steps of 4 */
    struct ray_run run;
    find_rays(rays, view, block, first, n, 4, &run);
    const double *base = run.base, *step = run.step;
    for (int64_t m = 0; m < block->n_major; m++) {
        const double line = (double)(block->m_first + m);
        const double a = base[0] + line * step[0], b = base[n - 1] + line * step[n - 1];
        /* Rays do not cross among the pixels: those between lie between. */
        const bool inside = fmin(a, b) >= low && fmax(a, b) <= high;
        const int32_t start = (int32_t)(m * block->stride);
        for (int64_t d = 0; d < whole; d++) {
            double at = base[d] + line * step[d];
            if (!inside) /* decided once for the run */
                at = at < low ? low : at > high ? high : at;
            const int32_t below = (int32_t)(at + BLOCK_MARGIN); /* of a positive number: floor */
            crossings->index[m][d] = start + below;
            crossings->weight[m][d] = (float)(at + BLOCK_MARGIN - (double)below);
        }
    }
}

#endif
