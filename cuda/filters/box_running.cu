/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes box by running sums, coarse-grained: one thread carries the sum of a window along a whole row, then one
 * down a whole column (and in 3D first one along z), adds the entering sample and subtracts the leaving one (McDonnell,
 * 1981). The passes meet in scratch. Memory traffic: each pass reads a pixel twice and writes it once, whatever the
 * radius.
 *
 * A warp does 32 rows: neighboring threads would read addresses a row apart, so entering and leaving samples and the
 * results go through tiles of 32 x 32 in shared memory (33 wide, against bank conflicts), which are read and written
 * along x. A block is one warp, because warps share nothing. Columns need no tile; 128 threads a block.
 *
 * Floats are summed in double. NaN and infinities are counted beside the sum, so that they leave with their window.
 * Along z the first slice of a run depends on the slab, and with it the last bits of a float sum. Floats there are cut
 * into blocks of a window's length at places fixed by the volume: a window is the end of one block plus the start of
 * the next (M. van Herk, 1992, for maxima).
 */
#include "cuda/filters/box_running.cuh"

template <typename IN, typename SUM, typename OUT>
static __global__ void __launch_bounds__(BOX_RUN_TILE)
    run_rows(const IN *in, OUT *out, struct box_sizes sizes, IN outside, struct box_mean mean)
{
    __shared__ IN entering[BOX_RUN_TILE][BOX_RUN_TILE + 1], leaving[BOX_RUN_TILE][BOX_RUN_TILE + 1];
    __shared__ OUT results[BOX_RUN_TILE][BOX_RUN_TILE + 1];
    const int lane = threadIdx.x, radius = sizes.radius, window_size = 2 * radius + 1;
    const int64_t first = (int64_t)blockIdx.x * BOX_RUN_TILE, left = sizes.nz * sizes.ny - first, nx = sizes.nx;
    const int rows = left < BOX_RUN_TILE ? (int)left : BOX_RUN_TILE;
    in += first * nx;
    out += first * nx;
    struct box_running<SUM> window;
    box_start(&window);
    for (int64_t k = -radius; k < nx + radius; k += BOX_RUN_TILE) {
        const int64_t enters = k + lane < nx + radius ? ts_cuda_border_index(k + lane, nx, sizes.border) : -1;
        const int64_t gone = k + lane - window_size;
        const int64_t leaves = gone >= -radius && gone < nx ? ts_cuda_border_index(gone, nx, sizes.border) : -1;
        for (int i = 0; i < rows; i++) {
            entering[i][lane] = enters < 0 ? outside : in[i * nx + enters];
            leaving[i][lane] = leaves < 0 ? outside : in[i * nx + leaves];
        }
        __syncwarp();
        for (int j = 0; j < BOX_RUN_TILE && lane < rows; j++) {
            box_slide(&window, entering[lane][j], false);
            if (k + j - window_size >= -radius)
                box_slide(&window, leaving[lane][j], true);
            box_finish<false>(&results[lane][j], box_value(window), mean);
        }
        __syncwarp();
        const int64_t x = k - radius + lane;
        for (int i = 0; i < rows && x >= 0 && x < nx; i++)
            out[i * nx + x] = results[i][lane];
        __syncwarp();
    }
}

/* Sums floats along z. The block of a window's length that ends before slice `cut` gives the sums to its end, which
 * wait in out; the next block adds those from its start. z_first is the index in the volume of output slice 0. */
static __global__ void __launch_bounds__(BOX_COLUMN_THREADS)
    run_blocks(const float *in, float *out, struct box_sizes sizes, int64_t z_first, struct box_mean mean)
{
    const int64_t thread = (int64_t)blockIdx.x * BOX_COLUMN_THREADS + threadIdx.x, slice = sizes.ny * sizes.nx;
    if (thread >= slice)
        return;
    const int64_t window = 2 * sizes.radius + 1;
    in += thread;
    out += thread;
    /* Window k is in[k .. k + window - 1]; cuts stand where z_first + k is a multiple of the window. */
    for (int64_t cut = (window - z_first % window) % window; cut - window < sizes.nz; cut += window) {
        const int64_t first = cut - window < 0 ? 0 : cut - window;
        double sum = 0;
        for (int64_t k = cut - 1; k >= first; k--) {
            sum += (double)in[k * slice];
            if (k < sizes.nz)
                out[k * slice] = (float)(sum * mean.scale);
        }
        sum = 0;
        for (int64_t k = first; k < cut && k < sizes.nz; k++) {
            const int64_t end = k + window;
            for (int64_t i = k == first ? cut : end - 1; i < end; i++)
                sum += (double)in[i * slice];
            out[k * slice] = (float)((double)out[k * slice] + (sum * mean.scale));
        }
    }
}

template <typename T, typename BETWEEN, typename SUM>
static void run_along_z(const struct box_launch *launch, BETWEEN *slices, struct box_mean line)
{
    const unsigned blocks = (unsigned)ts_cuda_parts(launch->sizes.ny * launch->sizes.nx, BOX_COLUMN_THREADS);
    if constexpr (sizeof(BETWEEN) == sizeof(SUM))
        box_run_columns<T, SUM, BETWEEN, false, true><<<blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>(
            (const T *)launch->in, slices, launch->sizes, (T)0, line);
    else
        run_blocks<<<blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>((const float *)launch->in, slices, launch->sizes,
                                                                      launch->z_first, line);
}

template <typename T, typename SUM> static enum ts_status run(const struct box_launch *launch)
{
    typedef box_between<T, SUM> BETWEEN;
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_passes<T, SUM> passes = box_passes_of<T, SUM>(launch);
    const unsigned row_blocks = (unsigned)ts_cuda_parts(sizes.nz * sizes.ny, BOX_RUN_TILE);
    const unsigned column_blocks = (unsigned)ts_cuda_parts(sizes.nz * sizes.nx, BOX_COLUMN_THREADS);
    if (sizes.reach) {
        run_along_z<T, BETWEEN, SUM>(launch, passes.slices, passes.line);
        run_rows<BETWEEN, SUM, BETWEEN><<<row_blocks, BOX_RUN_TILE, 0, launch->stream>>>(
            passes.slices, passes.rows, sizes, passes.outside_rows, passes.line);
    } else {
        run_rows<T, SUM, BETWEEN><<<row_blocks, BOX_RUN_TILE, 0, launch->stream>>>(
            (const T *)launch->in, passes.rows, sizes, (T)params->constant, passes.line);
    }
    box_run_columns<BETWEEN, SUM, T, true, false><<<column_blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>(
        passes.rows, (T *)launch->out, sizes, passes.outside_columns, passes.last);
    return ts_cuda_launched(launch->context, "box_run_columns");
}
BOX_LAUNCHER(ts_cuda_box_running, run)
