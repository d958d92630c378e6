/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel-beam backprojection of stacks of slices, 128 at once where there are so many, else 64 or 32: the kernel,
 * what a thread computes, its memory traffic and its blocks are described in back_stack.cuh. Before it each group of
 * slices is laid side by side: its samples are read and written once more.
 */
#include "cuda/common/back_stack.cuh"
#include "cuda/common/reconstruction.cuh"

enum { MOST_BLOCKS = 1 << 30 };

/* Lanes for the next slices: padding costs less than a narrower kernel. */
static int lanes_for(int64_t slices_left)
{
    return slices_left > 64 ? 128 : slices_left > 32 ? 64 : 32;
}

size_t ts_cuda_back_stack_scratch(const struct stage_context *context, int64_t n)
{
    return ts_cuda_interleaved_bytes(context->in.axes[1].n, context->in.axes[2].n, lanes_for(n));
}

template <int V, bool WIDE>
static enum ts_status launch(const struct stage_context *context, const float *lines, float *out,
                             const struct cuda_back_views *table, struct back_size size, cudaStream_t stream)
{
    const int64_t across = ts_cuda_parts(size.n_columns, BACK_ACROSS * BACK_PIXELS),
                  blocks = across * ts_cuda_parts(size.n_rows, BACK_DOWN);
    enum ts_status status = ts_cuda_shared(context, (const void *)back_stack<V, WIDE>, back_shared(V));
    size.blocks_across = (int)across;
    for (; status == TS_OK && size.first_block < blocks; size.first_block += MOST_BLOCKS) {
        const int64_t left = blocks - size.first_block;
        back_stack<V, WIDE>
            <<<(unsigned)(left < MOST_BLOCKS ? left : MOST_BLOCKS), BACK_THREADS, back_shared(V), stream>>>(
                lines, out, table, size);
        status = ts_cuda_launched(context, "back_stack");
    }
    return status;
}

enum ts_status ts_cuda_back_stack(const struct stage_context *context, const struct ts_image *sinogram,
                                  struct ts_image *out, const struct cuda_back_views *table, void *scratch,
                                  cudaStream_t stream)
{
    const struct reconstruction_params *params = (const struct reconstruction_params *)context->params;
    const double spacing = context->in.axes[2].spacing > 0 ? context->in.axes[2].spacing : 1;
    const bool wide = params->pixel_size > spacing * (1 - 1e-9) && params->pixel_size != spacing;
    const int64_t nz = out->axes[0].n;
    float *lines = (float *)scratch;
    enum ts_status status = TS_OK;
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        const int lanes = lanes_for(nz - z);
        float *to = (float *)ts_slice_data(out, z);
        n = nz - z < lanes ? nz - z : lanes;
        struct back_size size = {(int)n, (int)sinogram->axes[2].n, (int)params->rows, (int)params->columns};
        size.whole = size.n_columns % BACK_PIXELS == 0 && (uintptr_t)out->data % sizeof(float4) == 0;
        status = ts_cuda_interleave(context, sinogram, ts_slice_data(sinogram, z), n, true, lanes, lines, stream);
        if (status == TS_OK)
            status = lanes == 128 ? (wide ? launch<4, true> : launch<4, false>)(context, lines, to, table, size, stream)
                     : lanes == 64
                         ? (wide ? launch<2, true> : launch<2, false>)(context, lines, to, table, size, stream)
                         : (wide ? launch<1, true> : launch<1, false>)(context, lines, to, table, size, stream);
    }
    return status;
}
