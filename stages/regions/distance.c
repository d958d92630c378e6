/* SPDX-License-Identifier: Apache-2.0
 *
 * distance: the square of the distance is found axis by axis. Along z it is that of the nearest
 * slice in which the column has a voxel of the mask, which a slab finds in the bits of the volume
 * that a reduction collects. Along y, and then along x, it is the lowest of parabolas
 * (distance.h). So no slab needs more of the image than its own slices.
 */
#include "stages/regions/distance.h"

#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/distances.h"

static const struct choice of_choices[] = {
    {"outside", DISTANCE_OUTSIDE, "from the nearest voxel of the mask; 0 in the mask"},
    {"inside", DISTANCE_INSIDE, "from the nearest voxel outside of the mask; 0 there"},
    {"signed", DISTANCE_SIGNED, "outside as it is, inside negative"},
    {0},
};

static const struct param distance_params[] = {
    PARAM(struct distance_params, of, .choices = of_choices, .init.choice = DISTANCE_OUTSIDE,
          .doc = "which voxels have a distance, and from what"),
    MASK_LABEL_PARAM(struct distance_params),
};

STAGE_PARAMS_OF(distance_params)

/* ---- plan ------------------------------------------------------------------------------------ */

static enum ts_status distance_resolve(const struct stage_context *context, void *values)
{
    const struct distance_params *params = values;
    if (ts_mask_check_label(context, &params->label) != TS_OK ||
        ts_stage_needs_upright(context, "measures across slices", "`unshear` before it") != TS_OK)
        return TS_BAD_CHAIN;
    return ts_stage_needs_mm(context, false);
}

static enum ts_status distance_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    out->quantity = TS_INTENSITY;
    out->unit = "mm";
    return TS_OK;
}

/* ---- reduction ------------------------------------------------------------------------------- */

struct mask_values ts_distance_values(const struct stage_context *context)
{
    return ts_mask_values(context->in.dtype, &params_of(context)->label);
}

static void distance_reduce(const struct stage_context *context, int input,
                            const struct ts_image *slices, void *partial)
{
    (void)input;
    ts_mask_volume_reduce(slices, ts_distance_values(context), partial);
}

static size_t result_bytes(const struct stage_context *context)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    return ts_mask_bytes(&grid, grid.nz);
}

static enum ts_status distance_finish(const struct stage_context *context,
                                      const void *const totals[], void *result,
                                      const struct ts_image *tables)
{
    (void)tables;
    memcpy(result, ((const struct mask_volume *)totals[0])->bits, result_bytes(context));
    return TS_OK;
}

static const struct stage_reduction reduction = {
    .exact = true,
    .feeds_map = true,
    .partial_bytes = ts_mask_volume_bytes,
    .reduce = distance_reduce,
    .merge = ts_mask_volume_merge,
    .result_bytes = result_bytes,
    .finish = distance_finish,
};

/* ---- map ------------------------------------------------------------------------------------- */

enum { COLUMNS = 8, NO_SLICE = INT32_MAX };

/* The buffers of a thread: a slice of squared distances, COLUMNS of its columns side by side, and
 * an envelope. */
struct buffers {
    double *slice, *columns, *begin;
    int32_t *site;
};

struct job {
    struct mask_grid grid; /* of the volume */
    const uint64_t *bits;
    bool complement; /* true: distances from what is not in the mask */
    int64_t first, n;
    double mm[3];
    int32_t *gaps; /* in slices, of the slab's voxels from the nearest in their column */
    struct buffers buffers;
};

static void lay_out(struct job *job, const struct stage_context *context,
                    struct memory_layout *layout)
{
    const struct mask_grid *grid = &job->grid;
    const int64_t longest = grid->ny > grid->nx ? grid->ny : grid->nx;
    const size_t threads = (size_t)context->threads;
    struct buffers *buffers = &job->buffers;
    job->gaps = ts_layout_add(layout, (size_t)(job->n * grid->ny * grid->nx) * sizeof *job->gaps);
    buffers->slice =
        ts_layout_add(layout, threads * (size_t)(grid->ny * grid->nx) * sizeof(double));
    buffers->columns = ts_layout_add(layout, threads * COLUMNS * (size_t)grid->ny * sizeof(double));
    buffers->begin = ts_layout_add(layout, threads * (size_t)longest * sizeof(double));
    buffers->site = ts_layout_add(layout, threads * (size_t)longest * sizeof *buffers->site);
}

static size_t distance_scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    struct job job = {.grid = ts_mask_grid(&context->in), .n = n};
    lay_out(&job, context, &layout);
    return layout.bytes;
}

/* Returns word i of row y of slice z of what distances are measured from. */
static uint64_t word_of(const struct job *job, int64_t z, int64_t y, int64_t i)
{
    const uint64_t word = job->bits[(z * job->grid.ny + y) * job->grid.n_words + i];
    return job->complement ? ~word : word;
}

/* Sets nearest[k] to the nearest slice beyond slice z, going by `step`, in which voxel k of the
 * word is one to measure from. */
static void find_beyond(const struct job *job, int64_t z, int64_t step, int64_t y, int64_t i,
                        int64_t nearest[64])
{
    const int64_t behind = (i + 1) * 64 - job->grid.nx;
    uint64_t left = UINT64_MAX >> (behind > 0 ? behind : 0);
    for (int k = 0; k < 64; k++)
        nearest[k] = -1;
    for (z += step; left && z >= 0 && z < job->grid.nz; z += step)
        for (uint64_t found = word_of(job, z, y, i) & left; found; found &= found - 1) {
            nearest[__builtin_ctzll(found)] = z;
            left &= ~(found & -found);
        }
}

/* Goes through the slices of the slab by `step`, from the one after slice `before`, and writes or
 * lowers their gaps in the columns of a word. */
static void sweep_word(const struct job *job, int64_t before, int64_t step, int64_t y, int64_t i)
{
    int64_t nearest[64];
    const int64_t x = i * 64, n = job->grid.nx - x < 64 ? job->grid.nx - x : 64;
    find_beyond(job, before + step, -step, y, i, nearest);
    for (int64_t z = before + step; z >= job->first && z < job->first + job->n; z += step) {
        const uint64_t word = word_of(job, z, y, i);
        int32_t *gaps = job->gaps + ((z - job->first) * job->grid.ny + y) * job->grid.nx + x;
        for (int64_t k = 0; k < n; k++) {
            nearest[k] = word >> k & 1 ? z : nearest[k];
            const int32_t gap = nearest[k] < 0 ? NO_SLICE : (int32_t)((z - nearest[k]) * step);
            gaps[k] = step > 0 || gap < gaps[k] ? gap : gaps[k];
        }
    }
}

static double square_of_gap(int32_t gap, double mm)
{
    const double length = (double)gap * mm;
    return gap == NO_SLICE ? (double)INFINITY : length * length;
}

/* Writes the distances along y and z of COLUMNS columns of a slice from their gaps. */
static void do_columns(const struct job *job, const int32_t *gaps, int64_t x,
                       const struct buffers *buffers)
{
    const int64_t ny = job->grid.ny, nx = job->grid.nx, n = nx - x < COLUMNS ? nx - x : COLUMNS;
    for (int64_t y = 0; y < ny; y++)
        for (int64_t c = 0; c < n; c++)
            buffers->columns[c * ny + y] = square_of_gap(gaps[y * nx + x + c], job->mm[0]);
    for (int64_t c = 0; c < n; c++) {
        const struct distance_line line = {buffers->columns + c * ny,
                                           1,
                                           ny,
                                           job->mm[1] * job->mm[1],
                                           buffers->site,
                                           buffers->begin,
                                           1};
        const int64_t n_sites = ts_distance_envelope(&line);
        for (int64_t y = 0, k = 0; y < ny; y++)
            buffers->slice[y * nx + x + c] = ts_distance_lowest(&line, n_sites, y, &k);
    }
}

/* Writes a slice of the output: the distances, or, for the complement of signed ones, less them. */
static void do_slice(const struct job *job, int64_t z, bool subtract, const struct buffers *buffers,
                     float *out)
{
    const int64_t ny = job->grid.ny, nx = job->grid.nx;
    for (int64_t x = 0; x < nx; x += COLUMNS)
        do_columns(job, job->gaps + z * ny * nx, x, buffers);
    for (int64_t y = 0; y < ny; y++, out += nx) {
        const struct distance_line line = {
            buffers->slice + y * nx, 1, nx, job->mm[2] * job->mm[2], buffers->site,
            buffers->begin,          1};
        const int64_t n_sites = ts_distance_envelope(&line);
        for (int64_t x = 0, k = 0; x < nx; x++) {
            const float distance = (float)sqrt(ts_distance_lowest(&line, n_sites, x, &k));
            out[x] = subtract ? out[x] - distance : distance;
        }
    }
}

static void measure(const struct job *job, bool subtract, int threads, struct ts_image *out)
{
    const int64_t ny = job->grid.ny, nx = job->grid.nx, longest = ny > nx ? ny : nx;
#pragma omp parallel num_threads(threads)
    {
        const int64_t t = omp_get_thread_num();
        const struct buffers mine = {
            job->buffers.slice + t * ny * nx, job->buffers.columns + t * COLUMNS * ny,
            job->buffers.begin + t * longest, job->buffers.site + t * longest};
#pragma omp for schedule(static)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t i = 0; i < job->grid.n_words; i++) {
                sweep_word(job, job->first - 1, 1, y, i);
                sweep_word(job, job->first + job->n, -1, y, i);
            }
#pragma omp for schedule(static)
        for (int64_t z = 0; z < job->n; z++)
            do_slice(job, z, subtract, &mine, ts_slice_data(out, z));
    }
}

static enum ts_status distance_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    const int32_t of = params_of(context)->of;
    struct memory_layout layout = {.base = scratch};
    struct job job = {.grid = ts_mask_grid(&context->in),
                      .bits = context->result,
                      .first = out->z_first,
                      .n = out->axes[0].n};
    (void)in;
    ts_mask_mm(context, job.mm);
    lay_out(&job, context, &layout);
    if (of != DISTANCE_INSIDE)
        measure(&job, false, context->threads, out);
    job.complement = true;
    if (of != DISTANCE_OUTSIDE)
        measure(&job, of == DISTANCE_SIGNED, context->threads, out);
    return TS_OK;
}

const struct stage distance_stage = {
    .name = "distance",
    .summary = "the exact distance of each voxel from a mask, in mm",
    .doc =
        "The mask is the voxels that are not 0, or those of one `label`. The distance is "
        "Euclidean, "
        "from center to center, in mm of the image's own spacing, as f32: with `of: outside` from "
        "the nearest voxel of the mask, as `scipy.ndimage.distance_transform_edt` of what is not "
        "in the mask with `sampling`; with `of: inside` from the nearest voxel that is not in it; "
        "`of: signed` is both, negative in the mask, and never 0: from a voxel of the mask to its "
        "neighbor outside it goes from minus one voxel to one voxel.\n\n"
        "What is outside of the image is neither mask nor background. If there is no voxel to "
        "measure from, distances are infinite. Invalid voxels and NaN count as background, get a "
        "distance like it, and stay invalid. A volume whose slices are sheared is refused.\n\n"
        "Squared distances are in double and exact but for rounding, axis by axis, as the lowest "
        "of parabolas (P. Felzenszwalb and D. Huttenlocher, 2012; C. Maurer, R. Qi and V. "
        "Raghavan, "
        "2003).\n\n"
        "Cost: two passes, and a bit for each voxel of the volume in memory; beside the output 4 "
        "bytes for each voxel of a slab, and 8 for each of a slice and thread (on a CUDA device 28 "
        "for each of a slab). The time does not depend on how far voxels are from the mask; "
        "`signed` takes twice that of the others.",
    MASK_STAGE_TAKES,
    STAGE_PARAMS(distance_params, struct distance_params),
    .resolve = distance_resolve,
    .shape = distance_shape,
    .reduction = &reduction,
    .scratch_bytes = distance_scratch_bytes,
    .map = distance_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(distance_cuda),
    .bench = "label=100|label=100 of=signed",
    .tolerance = {.relative = 1.2e-7, .why = "rounding to f32"},
};
