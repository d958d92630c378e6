/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes box in 2D as box_running.cu does, by running sums along the rows and then down the columns, but a
 * thread of the first pass reads its own row, through the texture unit. The threads of a warp read addresses a row
 * apart, each one sample further from step to step, so that the sectors that a step brings into the texture cache serve
 * the next ones; no sample goes through shared memory, which holds the results alone. The sums are added in the same
 * order, so that the bytes are those of box_running.cu.
 *
 * Memory traffic: each pass reads a pixel twice and writes it once, whatever the radius. A block is one warp, because
 * warps share nothing; columns have 128 threads a block.
 */
#include "cuda/filters/box_running.cuh"

/* Reads sample x of one row of a texture. */
template <typename T> struct texture_row {
    cudaTextureObject_t texture;
    int first;
    __device__ T operator()(int64_t x) const
    {
        return tex1Dfetch<T>(texture, first + (int)x);
    }
};

/* Sums along the rows of one texture; `out` is that of its first row. */
template <typename T, typename SUM, typename OUT>
static __global__ void __launch_bounds__(BOX_RUN_TILE)
    run_texture_rows(struct cuda_texture texture, OUT *out, struct box_sizes sizes, T outside, struct box_mean mean)
{
    const int64_t first = (int64_t)blockIdx.x * BOX_RUN_TILE, left = texture.n - first;
    const struct texture_row<T> row = {
        texture.object, (int)(texture.before + (first + threadIdx.x) * sizes.nx)
    };
    box_carry_rows<SUM>(row, out + first * sizes.nx, left < BOX_RUN_TILE ? (int)left : BOX_RUN_TILE, sizes, outside,
                        mean);
}

template <typename T, typename SUM> static enum ts_status run_textures(const struct box_launch *launch)
{
    typedef box_between<T, SUM> BETWEEN;
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_passes<T, SUM> passes = box_passes_of<T, SUM>(launch);
    const unsigned column_blocks = (unsigned)ts_cuda_parts(sizes.nz * sizes.nx, BOX_COLUMN_THREADS);
    for (int i = 0; i < launch->n_textures; i++) {
        const struct cuda_texture texture = launch->textures[i];
        run_texture_rows<T, SUM, BETWEEN>
            <<<(unsigned)ts_cuda_parts(texture.n, BOX_RUN_TILE), BOX_RUN_TILE, 0, launch->stream>>>(
                texture, passes.rows + texture.first * sizes.nx, sizes, (T)params->constant, passes.line);
    }
    box_run_columns<BETWEEN, SUM, T, true, false><<<column_blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>(
        passes.rows, (T *)launch->out, sizes, passes.outside_columns, passes.last);
    return ts_cuda_launched(launch->context, "run_texture_rows");
}
BOX_LAUNCHER(ts_cuda_box_texture, run_textures)
