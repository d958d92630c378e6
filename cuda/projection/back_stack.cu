/* SPDX-License-Identifier: Apache-2.0
 *
 * This backprojects a parallel beam, 128 slices at once (64 or 32 if there are fewer), by linear
 * interpolation. back_stack.cuh describes what a thread computes, its memory traffic and its
 * blocks; this file computes the places and weights of pixels in the views of a table. Each group
 * of slices is interleaved first: its samples are read and written once more.
 */
#include "cuda/projection/back_stack.cuh"

#include "cuda/projection/back_methods.cuh"

/* Finds the places of a warp's pixels. `column` is that of the pixel with the lowest place.
 * `toward` is 1 if places rise with columns, else -1. */
template <bool WIDE>
static __device__ __forceinline__ void back_find(const struct cuda_back_view *view, int row,
                                                 int column, int toward, int n_detectors,
                                                 struct back_place *place)
{
    const int64_t first = view->base + row * view->per_row + column * view->per_column,
                  step = toward * view->per_column;
    const int line = view->view * (n_detectors + 2 * INTERLEAVE_MARGIN) + INTERLEAVE_MARGIN;
    float below[BACK_PIXELS], above[BACK_PIXELS];
    int index[BACK_PIXELS];
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        const int64_t at = first + k * step, whole = at >> 32;
        const float past = ts_cuda_back_past(at);
        below[k] = ts_cuda_back_weight(view, past);
        above[k] = ts_cuda_back_weight(view, 1 - past);
        /* There are only zeros beyond the ends of the detector, so any of their indices will do. */
        index[k] = (int)(whole < -INTERLEAVE_MARGIN + 2      ? -INTERLEAVE_MARGIN + 2
                         : whole > n_detectors + BACK_PIXELS ? n_detectors + BACK_PIXELS
                                                             : whole);
    }
    place->below = make_float4(below[0], below[1], below[2], below[3]);
    place->above = make_float4(above[0], above[1], above[2], above[3]);
    place->at = WIDE ? make_int4(line + index[0], line + index[1], line + index[2], line + index[3])
                     : make_int4(line + index[0], ~back_pattern_of(index), 0, 0);
}

template <int V, bool WIDE>
static __global__ void __launch_bounds__(BACK_THREADS, BACK_BLOCKS)
    back_stack(const float *lines, float *out, const struct cuda_back_views *table,
               struct back_size size)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32);
    struct back_warp<back_place> warp;
    if (!back_begin<V>(&size, shared, &warp))
        return;
    lines += lane * V;
    for (int falling = 0; falling < 2; falling++) {
        const int64_t end = falling ? table->n : table->n_rising;
        for (int64_t first = falling ? table->n_rising : 0; first < end; first += BACK_CHUNK) {
            const int n = (int)(end - first < BACK_CHUNK ? end - first : BACK_CHUNK);
            __syncwarp();
            if (lane < n)
                back_find<WIDE>(&table->at[first + lane], warp.row,
                                warp.column + (falling ? BACK_PIXELS - 1 : 0), falling ? -1 : 1,
                                size.n_detectors, &warp.places[lane]);
            __syncwarp();
            back_add_places<V, WIDE ? BACK_WIDE : BACK_NEAR>(lines, &warp, n, falling);
        }
    }
    back_write<V>(&warp, &size, out);
}

size_t ts_cuda_back_stack_scratch(const struct stage_context *context, int64_t n)
{
    return ts_cuda_lines_bytes(context->in.axes[1].n, context->in.axes[2].n,
                               ts_cuda_group_width(n));
}

enum ts_status ts_cuda_back_stack(const struct stage_context *context,
                                  const struct ts_image *sinogram, struct ts_image *out,
                                  const struct cuda_back_views *table, void *scratch,
                                  cudaStream_t stream)
{
    const struct reconstruction_params *params =
        (const struct reconstruction_params *)context->params;
    const double spacing = ts_axis_spacing(&context->in.axes[2]);
    const bool wide = params->pixel_size > spacing * (1 - 1e-9) && params->pixel_size != spacing;
    struct back_kernels<const struct cuda_back_views *> kernels = {
        {back_stack<1, false>, back_stack<2, false>, back_stack<4, false>}, "back_stack", table,
            sizeof(struct back_place)
    };
    if (wide) {
        kernels.of_width[0] = back_stack<1, true>;
        kernels.of_width[1] = back_stack<2, true>;
        kernels.of_width[2] = back_stack<4, true>;
    }
    return back_run(context, &kernels, sinogram, out, (float *)scratch, stream);
}
