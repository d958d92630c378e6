/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the kernels of row_filter_fused.cu for rows that one warp filters alone. Rows of up to 1,024 samples take
 * 32 samples a thread, for one or more rows; rows of up to 2,048 take 64 a thread, in two halves. Longer rows need
 * several warps: row_filter_branches.cuh.
 */
#ifndef CUDA_PROJECTION_ROW_FILTER_ROWS_CUH
#define CUDA_PROJECTION_ROW_FILTER_ROWS_CUH

#include "cuda/projection/row_filter_warp.cuh"

/* Loads the samples of 32 / R rows, R a thread of each. Rows past the last one are that one again. */
template <int R>
static __device__ __forceinline__ void fetch_rows(const struct fused_rows *rows, int64_t first, int lane,
                                                  uint32_t bits[32])
{
#pragma unroll
    for (int part = 0; part < 32 / R; part++) {
        const int64_t row = first + part < rows->n_rows ? first + part : rows->n_rows - 1;
        fetch<R, 32, (R > 4 ? R / 2 : 0)>(rows, row * rows->n + lane, rows->n - lane, bits + part * R);
    }
}

/* grid: any number of blocks. A warp filters 32 / R rows at a time, while the next ones are loaded. */
template <int R>
static __global__ void __launch_bounds__(32 * FUSED_WARPS, FUSED_BLOCKS) filter_rows(struct fused_rows rows)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    float2 *exchange = (float2 *)shared + warp * 32 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * FUSED_WARPS * (32 / R);
    const bool whole = rows.n == 32 * R;
    int64_t first = ((int64_t)blockIdx.x * FUSED_WARPS + warp) * (32 / R);
    uint32_t bits[32];
    fetch_rows<R>(&rows, first, lane, bits);
    for (; first < rows.n_rows; first += step) {
        float2 x[32];
        float samples[32];
        convert(rows.dtype, bits, samples);
#pragma unroll
        for (int part = 0; part < 32 / R; part++) {
            row_fft_quarter_real<R>(samples + part * R, x + part * R);
#pragma unroll
            for (int i = 0; i < R; i++)
                exchange[(part * R + row_fft_reversed(i, R)) * FUSED_PITCH + lane] = x[part * R + i];
        }
        fetch_rows<R>(&rows, first + step, lane, bits);
        __syncwarp();
        filter_turned(rows.tables, lane, exchange, x);
        __syncwarp();
#pragma unroll
        for (int part = 0; part < 32 / R; part++) {
            float *to = rows.out + (first + part) * rows.n + lane;
#pragma unroll
            for (int i = 0; i < R; i++)
                x[part * R + i] = exchange[(part * R + row_fft_reversed(i, R)) * FUSED_PITCH + lane];
            row_fft_quarter_back<R>(x + part * R, samples);
            if (first + part < rows.n_rows)
#pragma unroll
                for (int i = 0; i < R; i++)
                    if ((R > 4 && i < R / 2) || whole || 32 * i < rows.n - lane)
                        to[32 * i] = samples[i];
        }
        __syncwarp();
    }
}

/* Replace 32 pairs of the thread by a + w b and a - w b, where the thread's frequency decides w; and by a + b and
 * (a - b) / w on the way back. */
static __device__ __forceinline__ void join_halves(float4 *a, float4 *b, float2 w)
{
#pragma unroll 4
    for (int i = 0; i < 16; i++) {
        const float4 p = a[i], q = b[i];
        float2 p0 = make_float2(p.x, p.y), p1 = make_float2(p.z, p.w), q0 = make_float2(q.x, q.y),
               q1 = make_float2(q.z, q.w);
        row_fft_pair(&p0, &q0, w.x, w.y);
        row_fft_pair(&p1, &q1, w.x, w.y);
        a[i] = make_float4(p0.x, p0.y, p1.x, p1.y);
        b[i] = make_float4(q0.x, q0.y, q1.x, q1.y);
    }
}

static __device__ __forceinline__ void part_halves(float4 *a, float4 *b, float2 w)
{
#pragma unroll 4
    for (int i = 0; i < 16; i++) {
        const float4 p = a[i], q = b[i];
        const float2 even = row_fft_product(make_float2(p.x - q.x, p.y - q.y), w.x, -w.y),
                     odd = row_fft_product(make_float2(p.z - q.z, p.w - q.w), w.x, -w.y);
        a[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
        b[i] = make_float4(even.x, even.y, odd.x, odd.y);
    }
}

static __device__ __forceinline__ void fetch_half(const struct fused_rows *rows, int64_t row, int half, int lane,
                                                  uint32_t bits[32])
{
    const int first = lane + 32 * half;
    fetch<32, 64, 16>(rows, (row < rows->n_rows ? row : rows->n_rows - 1) * rows->n + first, rows->n - first, bits);
}

/* Rows of up to 2,048 samples, 64 a thread: the even ones and the odd ones (thread + 32 (2 i + half)) one after the
 * other, and so the frequencies k and k + 32 that come of both. Both go through loops, because code for each would not
 * stay in the instruction cache. */
static __global__ void __launch_bounds__(32 * HALVES_WARPS, FUSED_WARPS *FUSED_BLOCKS / HALVES_WARPS)
    filter_halves(struct fused_rows rows)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    float2 *exchange = (float2 *)shared + warp * 64 * FUSED_PITCH;
    float4 *low = (float4 *)(exchange + lane * FUSED_PITCH), *high = low + 16 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * HALVES_WARPS;
    const bool whole = rows.n == 2048;
    int64_t row = (int64_t)blockIdx.x * HALVES_WARPS + warp;
    float2 turn;
    uint32_t bits[32];
    sincospif(-((float)lane - 0.25F) / 32, &turn.y, &turn.x);
    fetch_half(&rows, row, 0, lane, bits);
    for (; row < rows.n_rows; row += step) {
        float2 x[32];
        float samples[32];
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            convert(rows.dtype, bits, samples);
            fetch_half(&rows, half ? row + step : row, 1 - half, lane, bits);
            row_fft_quarter_real<32>(samples, x);
#pragma unroll
            for (int i = 0; i < 32; i++)
                exchange[(32 * half + row_fft_reversed(i, 32)) * FUSED_PITCH + lane] = x[i];
        }
        __syncwarp();
        join_halves(low, high, turn);
#pragma unroll 1
        for (int half = 0; half < 2; half++)
            filter_turned(rows.tables + half, lane, exchange + 32 * half * FUSED_PITCH, x);
        part_halves(low, high, turn);
        __syncwarp();
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            const int first = lane + 32 * half;
            float *to = rows.out + row * rows.n + first;
#pragma unroll
            for (int i = 0; i < 32; i++)
                x[i] = exchange[(32 * half + row_fft_reversed(i, 32)) * FUSED_PITCH + lane];
            row_fft_quarter_back<32>(x, samples);
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (i < 16 || whole || 64 * i < rows.n - first)
                    to[64 * i] = samples[i];
        }
        __syncwarp();
    }
}

#endif
