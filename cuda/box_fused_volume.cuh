/* SPDX-License-Identifier: Apache-2.0
 *
 * box in 3D in one pass for radius 1 to 4. A warp owns a tile of 30 x 4 columns and ROWS rows, as in
 * box_fused_small.cuh, and marches through a chunk of slices: it makes the 2D sums of the entering slice in registers,
 * while the next slice is under way, and keeps those of the last 2 radius + 1 slices in shared memory, each lane its
 * own. Device memory sees one read and one write a pixel, plus 2 radius slices a chunk; the tiles' halos come from the
 * caches.
 *
 * Floats: the sums of the slices are added anew for each output, in the order of the slices, so that neither a chunk's
 * start nor a NaN of another window shows. Integers (8 and 16 bits) add the entering slice and subtract the leaving
 * one, exactly.
 */
#ifndef CUDA_BOX_FUSED_VOLUME_CUH
#define CUDA_BOX_FUSED_VOLUME_CUH

#include "cuda/box_fused_small.cuh"

enum { VOLUME_WARPS = 1, VOLUME_ROWS = 8 };

struct volume_plan {
    struct small_plan small; /* nz: output slices; tiles are of one warp */
    int chunk, chunks;       /* slices */
    struct box_divisor divisor;
};

/* Four sums of a row. */
template <typename V> struct __align__(16) volume_sums
{
    V values[4];
};

/* 2D sums of the tile. */
template <typename T, int R, typename V>
static __device__ __forceinline__ void volume_slice(const box_quad<T> (&quads)[VOLUME_ROWS + 2 * R], uint32_t sign,
                                                    V (&sums)[VOLUME_ROWS][4])
{
    small_tile<R, VOLUME_ROWS>(quads, sign, sums);
#pragma unroll
    for (int j = 0; j < VOLUME_ROWS; j++)
        small_row<R>(sums[j]);
}

/* totals: integers, sums over the last slices; the entering sums go to slot `slot` of the ring. */
static __device__ __forceinline__ void volume_add(uint32_t (&totals)[VOLUME_ROWS][4],
                                                  const uint32_t (&sums)[VOLUME_ROWS][4], volume_sums<uint32_t> *ring,
                                                  int slot, int slots, int seen)
{
#pragma unroll
    for (int j = 0; j < VOLUME_ROWS; j++) {
        volume_sums<uint32_t> *const at = ring + (slot * VOLUME_ROWS + j) * 32;
        volume_sums<uint32_t> entering, leaving = {};
        if (seen >= slots)
            leaving = *at;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            entering.values[i] = sums[j][i];
            totals[j][i] += sums[j][i] - leaving.values[i];
        }
        *at = entering;
    }
}

/* Floats: sums over the slots, in the order of the slices; `slot` is the youngest one's. */
static __device__ __forceinline__ void volume_add(float (&totals)[VOLUME_ROWS][4], const float (&sums)[VOLUME_ROWS][4],
                                                  volume_sums<float> *ring, int slot, int slots, int seen)
{
#pragma unroll
    for (int j = 0; j < VOLUME_ROWS; j++) {
        volume_sums<float> entering;
        for (int i = 0; i < 4; i++)
            entering.values[i] = sums[j][i];
        ring[(slot * VOLUME_ROWS + j) * 32] = entering;
        for (int i = 0; i < 4; i++)
            totals[j][i] = 0;
    }
    if (seen < slots - 1)
        return;
    for (int k = 1, from = slot; k <= slots; k++) {
        from = from + 1 < slots ? from + 1 : 0;
#pragma unroll
        for (int j = 0; j < VOLUME_ROWS; j++) {
            const volume_sums<float> older = ring[(from * VOLUME_ROWS + j) * 32];
            for (int i = 0; i < 4; i++)
                totals[j][i] += older.values[i];
        }
    }
}

template <typename T> static __device__ __forceinline__ T volume_mean(uint32_t total, const struct volume_plan *plan)
{
    return (T)((__umulhi(total + plan->divisor.half, plan->divisor.factor) >> plan->divisor.shift) ^ plan->small.sign);
}
template <typename T> static __device__ __forceinline__ T volume_mean(float total, const struct volume_plan *plan)
{
    return total * plan->small.scale;
}

template <typename T> struct volume_tile {
    const T *in; /* first slice that the chunk needs */
    T *out;      /* of the lane, in the chunk's first slice */
    int64_t slice;
    int first, column, slices;
    bool writes;
};

/* Slice k, which is in `now`, while the next one is on its way to `next`. Returns the ring's next slot. */
template <typename T, int R, typename V>
static __device__ __forceinline__ int volume_step(const struct volume_tile<T> *tile, const struct volume_plan *plan,
                                                  const struct small_columns_from *from, T outside, int k, int slot,
                                                  volume_sums<V> *ring, const box_quad<T> (&now)[VOLUME_ROWS + 2 * R],
                                                  box_quad<T> (&next)[VOLUME_ROWS + 2 * R], V (&totals)[VOLUME_ROWS][4])
{
    const struct small_plan *const small = &plan->small;
    if (k + 1 < tile->slices)
        small_load(tile->in + (k + 1) * tile->slice, tile->first - R, from, outside, small, next);
    V sums[VOLUME_ROWS][4];
    volume_slice<T, R>(now, small->sign, sums);
    volume_add(totals, sums, ring, slot, 2 * R + 1, k);
#pragma unroll
    for (int j = 0; j < VOLUME_ROWS && k >= 2 * R; j++) {
        box_quad<T> means;
        for (int i = 0; i < 4; i++)
            means.values[i] = volume_mean<T>(totals[j][i], plan);
        T *row = tile->out + (k - 2 * R) * tile->slice + (int64_t)j * small->nx;
        if (tile->writes && tile->first + j < small->ny) {
            if (small->aligned) {
                *(typename box_raw<sizeof(T)>::type *)row = means.raw;
            } else {
                for (int i = 0; i < 4 && tile->column + i < small->nx; i++)
                    row[i] = means.values[i];
            }
        }
    }
    return slot == 2 * R ? 0 : slot + 1;
}

template <typename T, int R>
static __global__ void __launch_bounds__(32 * VOLUME_WARPS)
    fused_volume(const T *in, T *out, const __grid_constant__ struct volume_plan plan, T outside)
{
    extern __shared__ __align__(16) char shared[];
    typedef typename small_sum<T>::type V;
    const struct small_plan *const small = &plan.small;
    const int lane = threadIdx.x & 31, halo = (R + 3) / 4;
    volume_sums<V> *ring = (volume_sums<V> *)shared + lane;
    const unsigned tile = blockIdx.x / small->strips;
    const int first = (int)(tile % small->tiles) * VOLUME_ROWS;
    const int column = (int)(blockIdx.x % small->strips) * small_width(R) + 4 * (lane - halo);
    const int64_t z_first = (int64_t)(tile / small->tiles) * plan.chunk;
    const int slices = (int)min((int64_t)plan.chunk, small->nz - z_first) + 2 * R;
    const int64_t slice = (int64_t)small->ny * small->nx;
    const struct small_columns_from from = small_columns_of(column, small->nx + R, small);
    const bool writes = lane >= halo && lane < 32 - halo && column < small->nx;
    in += z_first * slice;
    const struct volume_tile<T> tile_of_warp = {
        in, out + z_first *slice + (int64_t)first * small->nx + column, slice, first, column, slices, writes
    };
    box_quad<T> even[VOLUME_ROWS + 2 * R], odd[VOLUME_ROWS + 2 * R];
    V totals[VOLUME_ROWS][4] = {};
    small_load(in, first - R, &from, outside, small, even);
    for (int k = 0, slot = 0; k < slices; k += 2) {
        slot = volume_step<T, R>(&tile_of_warp, &plan, &from, outside, k, slot, ring, even, odd, totals);
        if (k + 1 < slices)
            slot = volume_step<T, R>(&tile_of_warp, &plan, &from, outside, k + 1, slot, ring, odd, even, totals);
    }
}

#endif
