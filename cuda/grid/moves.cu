/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves of pixels on a CUDA device. If the input's rows become the output's rows, a warp copies a
 * row; its threads copy neighboring pixels, eight of them in flight. If they become columns, a
 * block of 256 threads moves a tile of 32 x 32 pixels through shared memory, so that both sides are
 * read and written in whole sectors. Memory traffic: each pixel that is kept is read once and
 * written once. Blocks are small, so that the device can hold as many warps as possible.
 */
#include "cuda/grid/moves.cuh"

enum { WARP = 32, ROWS = 8, FLIGHT = 8, TILE = 32 };

template <typename T>
static __global__ void __launch_bounds__(WARP *ROWS)
    move_rows(const T *in, T *out, struct moved_slab slab)
{
    const int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y, nx = slab.n[2];
    if (row >= slab.n[0] * slab.n[1])
        return;
    in += slab.base + row / slab.n[1] * slab.step[0] + row % slab.n[1] * slab.step[1];
    out += row * nx;
    for (int64_t first = threadIdx.x; first < nx; first += WARP * FLIGHT) {
        T values[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * WARP < nx)
                values[i] = in[(first + i * WARP) * slab.step[2]];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * WARP < nx)
                out[first + i * WARP] = values[i];
    }
}

/* Output axis `near` is the one along which the input's neighbors are; `far` is the third axis. */
template <typename T>
static __global__ void __launch_bounds__(TILE *ROWS)
    move_tiles(const T *in, T *out, struct moved_slab slab, int near, int far)
{
    __shared__ T tile[TILE][TILE + 1];
    const int64_t strides[2] = {slab.n[1] * slab.n[2], slab.n[2]}, nx = slab.n[2], n = slab.n[near];
    const int64_t across = ts_cuda_parts(nx, TILE), down = ts_cuda_parts(n, TILE),
                  part = blockIdx.x;
    const int64_t x = part % across * TILE, first = part / across % down * TILE,
                  other = part / across / down;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    in += slab.base + other * slab.step[far] + first * slab.step[near] + x * slab.step[2];
    out += other * strides[far] + first * strides[near] + x;
    for (int k = ty; k < TILE && x + k < nx; k += ROWS)
        if (first + tx < n)
            tile[k][tx] = in[k * slab.step[2] + tx * slab.step[near]];
    __syncthreads();
    for (int k = ty; k < TILE && first + k < n; k += ROWS)
        if (x + tx < nx)
            out[k * strides[near] + tx] = tile[tx][k];
}

enum ts_status ts_cuda_moves(const struct stage_context *context, const struct moves *moves,
                             const struct ts_image *in, const struct ts_image *out,
                             const struct cuda_call *call)
{
    const struct moved_slab slab = ts_moves_slab(moves, in, out);
    const int near = moves->from[0] == 2 ? 0 : 1, far = 1 - near;
    const int64_t n_tiles =
        slab.n[far] * ts_cuda_parts(slab.n[near], TILE) * ts_cuda_parts(slab.n[2], TILE);
    const bool rows = moves->from[2] == 2;
    const unsigned blocks = (unsigned)(rows ? ts_cuda_parts(slab.n[0] * slab.n[1], ROWS) : n_tiles);
    const dim3 threads(WARP, ROWS);
#define ROW(T)                                                                                     \
    move_rows<T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data, slab)
#define TILES(T)                                                                                   \
    move_tiles<T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data, slab, \
                                                        near, far)
    if (rows) {
        TS_CUDA_WORDS(out->dtype, ROW);
    } else {
        TS_CUDA_WORDS(out->dtype, TILES);
    }
#undef ROW
#undef TILES
    return ts_cuda_launched(context, rows ? "move_rows" : "move_tiles");
}
