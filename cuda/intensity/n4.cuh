/* SPDX-License-Identifier: Apache-2.0
 *
 * The constants of n4 on the device, and the functions that launch its iterations. n4.cu and
 * n4_fit.cu both use them.
 */
#ifndef CUDA_INTENSITY_N4_CUH
#define CUDA_INTENSITY_N4_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/intensity/n4.h"
}

enum {
    N4_THREADS = 128, /* of kernels over samples and voxels, along x */
    N4_ROWS = 16,     /* the most rows of a chunk */
    N4_BLOCK = 256    /* threads of other kernels */
};

/* The rows of a slice in chunks, each of at most N4_ROWS rows of one span: chunk i has rows
 * [first[i], first[i + 1]). */
struct n4_chunks {
    int32_t n, *first;
};

/* The function constants() of the stage fills this: the weights of the splines (taps) for the
 * samples of each level and for all voxels of the last, how both are cut into chunks, and the
 * cosines that the transform of the padded histogram needs. */
struct n4_constants {
    struct n4_taps samples[N4_LEVELS_MAX][3], voxels[3];
    struct n4_chunks sample_chunks[N4_LEVELS_MAX], voxel_chunks;
    double *cosines;
};
/* Returns how many chunks the rows of samples at a level, or of all voxels, have, and writes their
 * first rows unless `first` is NULL. */
int32_t ts_cuda_n4_cut(const struct n4_axis *axis, int level, bool all_voxels, int32_t *first);
/* Lays them out, and sets the numbers of chunks. */
struct n4_constants ts_cuda_n4_constants(const struct stage_context *context,
                                         const struct n4_grid *grid, struct memory_layout *layout);

/* Enqueues the sums over z and x of a lattice's points at slices [z_first, z_first + nz): rows of
 * nx places, one for each point along y. With an `update` (NULL: none), that of its points goes to
 * `change`. Does nothing where *done is not 0 (NULL: it is 0). */
struct n4_row_sums {
    const double *lattice, *update;
    struct n4_taps z_taps, x_taps;
    int64_t points[3], z_first, nz, nx;
    float *field, *change;
    const int32_t *done;
};
enum ts_status ts_cuda_n4_rows(const struct stage_context *context, const struct n4_row_sums *sums,
                               struct CUstream_st *stream);

/* Returns the bytes of scratch of ts_cuda_n4_fit, which enqueues all iterations. It writes the
 * record (ts_n4_record) from the samples, NaN for those that do not count, and their weights (NULL:
 * all are 1). */
size_t ts_cuda_n4_fit_bytes(const struct stage_context *context);
enum ts_status ts_cuda_n4_fit(const struct stage_context *context, const float *samples,
                              const float *weights, double *record, const struct cuda_call *call);

#endif
