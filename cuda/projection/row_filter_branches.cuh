/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of row_filter_fused.cu for rows of more than 2,048 samples: each warp computes a branch of 1,024
 * frequencies, and the warps of a row add up their branches.
 */
#ifndef CUDA_PROJECTION_ROW_FILTER_BRANCHES_CUH
#define CUDA_PROJECTION_ROW_FILTER_BRANCHES_CUH

#include "cuda/projection/row_filter_warp.cuh"

/* Makes a branch's samples out of those of the row, which lie in the shared memory of N warps. */
template <int N>
static __device__ __forceinline__ void mix(const struct fused_rows *rows, const float *segments, int branch, int lane,
                                           float2 *x)
{
    const float4 *mixing = (const float4 *)(rows->mixing + branch * N * 32);
#pragma unroll
    for (int q = 0; q < N; q++) {
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            const float4 turn = __ldg(mixing + q * 16 + i / 2);
            const float a = segments[q * (FUSED_BYTES / 4) + i * 32 + lane],
                        b = segments[q * (FUSED_BYTES / 4) + i * 32 + 32 + lane];
            x[i] = q ? make_float2(__fmaf_rn(a, turn.x, x[i].x), __fmaf_rn(a, turn.y, x[i].y))
                     : make_float2(a * turn.x, a * turn.y);
            x[i + 1] = q ? make_float2(__fmaf_rn(b, turn.z, x[i + 1].x), __fmaf_rn(b, turn.w, x[i + 1].y))
                         : make_float2(b * turn.z, b * turn.w);
        }
    }
}

/* Adds up the branches: samples lane + 32 i + 1024 q of the row, for a share of i. */
template <int N>
static __device__ __forceinline__ void join(const struct fused_rows *rows, const float2 *branches, int64_t row,
                                            int branch, int lane)
{
    float *to = rows->out + row * rows->n + lane;
#pragma unroll(16 / N)
    for (int i = branch * (32 / N); i < (branch + 1) * (32 / N); i++) {
        float sum[N];
#pragma unroll
        for (int b = 0; b < N; b++) {
            const float2 value = branches[b * 32 * FUSED_PITCH + i * 32 + lane];
#pragma unroll
            for (int q = 0; q < N; q += 2) {
                const float4 turn = __ldg((const float4 *)(rows->mixing_back + (i * N + b) * N + q));
                sum[q] = __fmaf_rn(turn.x, value.x, b ? __fmaf_rn(-turn.y, value.y, sum[q]) : -turn.y * value.y);
                sum[q + 1] =
                    __fmaf_rn(turn.z, value.x, b ? __fmaf_rn(-turn.w, value.y, sum[q + 1]) : -turn.w * value.y);
            }
        }
#pragma unroll
        for (int q = 0; q < N; q++)
            if (q < N / 2 || lane + 32 * i + BRANCH_SAMPLES * q < rows->n)
                to[32 * i + BRANCH_SAMPLES * q] = sum[q];
    }
}

static __host__ __device__ constexpr int branch_threads(int n)
{
    return 32 * (n > FUSED_WARPS ? n : FUSED_WARPS);
}

/* Each warp computes a branch, N warps a row. Every warp of the block takes as many turns, because they wait for each
 * other; rows past the last one are that one again. */
template <int N>
static __global__ void __launch_bounds__(branch_threads(N), 32 * FUSED_WARPS * FUSED_BLOCKS / branch_threads(N))
    filter_branches(struct fused_rows rows)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32), branch = warp % N;
    const int at_once = (int)blockDim.x / (32 * N);
    float2 *exchange = (float2 *)shared + warp * 32 * FUSED_PITCH, *branches = exchange - branch * 32 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * at_once;
    const int segment = lane + BRANCH_SAMPLES * branch, n = rows.n - segment;
    int64_t row = (int64_t)blockIdx.x * at_once + warp / N;
    uint32_t bits[32];
    fetch<32, 32, 0>(&rows, (row < rows.n_rows ? row : rows.n_rows - 1) * rows.n + segment, n, bits);
    for (; row - warp / N < rows.n_rows; row += step) {
        float2 x[32];
        float samples[32];
        convert(rows.dtype, bits, samples);
#pragma unroll
        for (int i = 0; i < 32; i++)
            ((float *)exchange)[i * 32 + lane] = samples[i];
        __syncthreads();
        mix<N>(&rows, (const float *)branches, branch, lane, x);
        row_fft<32, -1>(x);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++)
            exchange[i * FUSED_PITCH + lane] = x[i];
        fetch<32, 32, 0>(&rows, (row + step < rows.n_rows ? row + step : rows.n_rows - 1) * rows.n + segment, n, bits);
        __syncwarp();
        filter_turned(rows.tables + branch, lane, exchange, x);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 32; i++)
            x[i] = exchange[i * FUSED_PITCH + lane];
        __syncwarp();
        row_fft<32, 1>(x);
#pragma unroll
        for (int i = 0; i < 32; i++)
            exchange[i * 32 + lane] = x[i];
        __syncthreads();
        if (row < rows.n_rows)
            join<N>(&rows, branches, row, branch, lane);
        __syncthreads();
    }
}

#endif
