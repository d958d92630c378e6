/* SPDX-License-Identifier: Apache-2.0
 *
 * These kernels compute a weighted sum of the 4, 8 or 24 neighbors of a pixel and itself, one
 * thread a pixel, in blocks of 16 x 16 threads as they were published. They differ in where the
 * neighbors come from:
 *
 *     plain    global memory and the first cache: 5, 9 or 25 loads a pixel
 *     tile     shared memory, into which the block first loads its 16 x 16 pixels and the border of
 *              1 or 2 around them: 1.27 or 1.56 loads a pixel; a barrier; and the 5, 9 or 25 loads
 *              of shared memory
 *     texture  the texture unit: as many fetches as plain has loads
 *
 * Device memory sees 4 bytes read and 4 written a pixel. The weights are arguments of the kernel,
 * which lie in constant memory; those of the corners are left out where the operator has 4
 * neighbors.
 */
#include "cuda/values/border.cuh"

extern "C" {
#include "lab/cuda/neighborhood_study.h"
#include "stages/filters/convolve.h"
}

enum { SIDE = 16, MOST_WEIGHTS = 25 };

struct neighborhood {
    int64_t nz, ny, nx;
    int border;
    float constant, scale;
    float weights[MOST_WEIGHTS];
};

/* Sums the weighted samples read(j, i) at distance j, i from the pixel. */
template <int REACH, bool CROSS, typename READ>
static __device__ float weigh(const struct neighborhood &it, READ read)
{
    float sum = 0;
#pragma unroll
    for (int j = -REACH; j <= REACH; j++)
#pragma unroll
        for (int i = -REACH; i <= REACH; i++)
            if (!CROSS || i == 0 || j == 0)
                sum += it.weights[(j + REACH) * (2 * REACH + 1) + i + REACH] * read(j, i);
    return it.scale * sum;
}

/* Returns the sample at (y, x) of a slice, which may be outside; fetch(index) reads one. */
template <typename FETCH>
static __device__ float sample(const struct neighborhood &it, int64_t slice, int64_t y, int64_t x,
                               FETCH fetch)
{
    y = ts_cuda_border_index(y, it.ny, it.border);
    x = ts_cuda_border_index(x, it.nx, it.border);
    return y < 0 || x < 0 ? it.constant : fetch(slice + y * it.nx + x);
}

struct pixel {
    int64_t slice, y, x; /* slice: the index of its first pixel */
};

static __device__ struct pixel first_pixel(const struct neighborhood &it)
{
    const unsigned columns = (unsigned)ts_cuda_parts(it.nx, SIDE),
                   rows = (unsigned)ts_cuda_parts(it.ny, SIDE);
    const struct pixel first = {(int64_t)(blockIdx.x / columns / rows) * it.ny * it.nx,
                                (int64_t)(blockIdx.x / columns % rows) * SIDE,
                                (int64_t)(blockIdx.x % columns) * SIDE};
    return first;
}

/* Neighbors are fetched one by one. Only pixels near an edge look for those outside. */
template <int REACH, bool CROSS, typename FETCH>
static __device__ void fetch_neighbors(const struct neighborhood &it, float *out, FETCH fetch)
{
    const struct pixel first = first_pixel(it);
    const int64_t y = first.y + threadIdx.y, x = first.x + threadIdx.x,
                  here = first.slice + y * it.nx + x;
    if (y >= it.ny || x >= it.nx)
        return;
    if (y >= REACH && y + REACH < it.ny && x >= REACH && x + REACH < it.nx)
        out[here] =
            weigh<REACH, CROSS>(it, [&](int j, int i) { return fetch(here + j * it.nx + i); });
    else
        out[here] = weigh<REACH, CROSS>(
            it, [&](int j, int i) { return sample(it, first.slice, y + j, x + i, fetch); });
}

template <int REACH, bool CROSS>
static __global__ void __launch_bounds__(SIDE *SIDE)
    weigh_plain(const float *in, float *out, const struct neighborhood it)
{
    fetch_neighbors<REACH, CROSS>(it, out, [=](int64_t index) { return in[index]; });
}

template <int REACH, bool CROSS>
static __global__ void __launch_bounds__(SIDE *SIDE)
    weigh_texture(struct cuda_texture texture, float *out, const struct neighborhood it)
{
    const int before = (int)texture.before;
    fetch_neighbors<REACH, CROSS>(it, out, [=](int64_t index) {
        return tex1Dfetch<float>(texture.object, before + (int)index);
    });
}

template <int REACH, bool CROSS>
static __global__ void __launch_bounds__(SIDE *SIDE)
    weigh_tile(const float *in, float *out, const struct neighborhood it)
{
    enum { WIDTH = SIDE + 2 * REACH };
    __shared__ float tile[WIDTH][WIDTH];
    const struct pixel first = first_pixel(it);
    const bool inside = first.y >= REACH && first.y + SIDE + REACH <= it.ny && first.x >= REACH &&
                        first.x + SIDE + REACH <= it.nx;
    const float *corner = in + first.slice + (first.y - REACH) * it.nx + first.x - REACH;
    for (int k = threadIdx.y * SIDE + threadIdx.x; k < WIDTH * WIDTH; k += SIDE * SIDE)
        tile[k / WIDTH][k % WIDTH] =
            inside ? corner[k / WIDTH * it.nx + k % WIDTH]
                   : sample(it, first.slice, first.y + k / WIDTH - REACH,
                            first.x + k % WIDTH - REACH, [=](int64_t index) { return in[index]; });
    __syncthreads();
    const int64_t y = first.y + threadIdx.y, x = first.x + threadIdx.x;
    if (y < it.ny && x < it.nx)
        out[first.slice + y * it.nx + x] = weigh<REACH, CROSS>(it, [&](int j, int i) {
            return tile[threadIdx.y + REACH + j][threadIdx.x + REACH + i];
        });
}

static struct neighborhood describe(const struct stage_context *context, int64_t nz, int *reach,
                                    bool *cross)
{
    const struct convolve_params *params = (const struct convolve_params *)context->params;
    struct neighborhood it = {nz, context->in.axes[1].n, context->in.axes[2].n, params->border};
    struct convolve_weights kernels[2];
    ts_convolve_kernels(params, kernels);
    *reach = (int)kernels->rows / 2;
    *cross = kernels->rows == 3;
    for (int i = 0; i < kernels->rows * kernels->columns; i++)
        it.weights[i] = (float)kernels->weights[i];
    for (int i = 0; i < 9; i += i == 2 ? 4 : 2) /* the corners of 3 x 3 */
        *cross = *cross && it.weights[i] == 0;
    it.constant = (float)params->constant;
    it.scale = (float)(1 / kernels->divisor);
    return it;
}

/* Launches KERNEL<REACH, CROSS>(from, ...) for the operator's neighbors. */
#define LAUNCH(KERNEL, from)                                                                       \
    const unsigned blocks =                                                                        \
        (unsigned)(ts_cuda_parts(it.nx, SIDE) * ts_cuda_parts(it.ny, SIDE) * it.nz);               \
    (reach == 2 ? KERNEL<2, false>                                                                 \
     : cross    ? KERNEL<1, true>                                                                  \
                : KERNEL<1, false>)<<<blocks, dim3(SIDE, SIDE), 0, call->stream>>>(                   \
        from, (float *)out->data, it);                                                             \
    return ts_cuda_launched(context, #KERNEL)

static enum ts_status map_plain(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    int reach;
    bool cross;
    const struct neighborhood it = describe(context, out->axes[0].n, &reach, &cross);
    LAUNCH(weigh_plain, (const float *)in->data);
}

static enum ts_status map_tile(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    int reach;
    bool cross;
    const struct neighborhood it = describe(context, out->axes[0].n, &reach, &cross);
    LAUNCH(weigh_tile, (const float *)in->data);
}

static enum ts_status map_texture(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, const struct cuda_call *call)
{
    int reach;
    bool cross;
    const struct neighborhood it = describe(context, out->axes[0].n, &reach, &cross);
    (void)in;
    LAUNCH(weigh_texture, call->textures[0]);
}

static bool always(const struct stage_context *)
{
    return true;
}

extern "C" {
const struct stage_cuda ts_cuda_neighbor_ways[NEIGHBOR_WAYS] = {
    {.map = map_plain}, {.map = map_tile}, {.map = map_texture, .textures = always}};
}
