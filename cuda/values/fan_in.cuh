/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions do what stages/values/fan_in.h does, on the device: they join the partial results
 * of threads and blocks into one, in an order that depends only on how many there are. Numbers are
 * added; a struct needs an overload of `ts_cuda_join(type *into, const type *from)`.
 */
#ifndef CUDA_VALUES_FAN_IN_CUH
#define CUDA_VALUES_FAN_IN_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/values/fan_in.h"
}

/* Returns the first stride of a fan-in of n values: the largest power of two below n. */
static __host__ __device__ inline int64_t ts_cuda_stride_of(int64_t n)
{
    int64_t stride = 0;
    for (int64_t next = 1; next < n; next *= 2)
        stride = next;
    return stride;
}

template <typename number>
static __device__ inline void ts_cuda_join(number *into, const number *from)
{
    *into += *from;
}

/* Joins the values of threads 0 to n - 1 of the block into that of thread 0; of 256, value 128 is
 * joined to 0, 129 to 1, and so on. All threads call it. `shared` has room for half as many values
 * as n rounded up to a power of two, and is free again afterwards. */
template <typename type> static __device__ void ts_cuda_fan_in(type *value, type *shared, int n)
{
    const int thread = (int)threadIdx.x, warp = 32;
    int stride = (int)ts_cuda_stride_of(n);
    for (; stride >= warp; n = stride, stride /= 2) {
        if (thread >= stride && thread < n)
            shared[thread - stride] = *value;
        __syncthreads();
        if (thread < stride && thread + stride < n)
            ts_cuda_join(value, &shared[thread]);
        __syncthreads();
    }
    for (; thread < warp && stride > 0; n = stride, stride /= 2) { /* one warp is left */
        if (thread >= stride && thread < n)
            shared[thread - stride] = *value;
        __syncwarp();
        if (thread < stride && thread + stride < n)
            ts_cuda_join(value, &shared[thread]);
        __syncwarp();
    }
    __syncthreads();
}

/* ---- tables of counts ------------------------------------------------------------------------ */

/* Does one step of a fan-in of tables: table i adds table i + stride. A thread joins one bin of one
 * pair. blockIdx.z is the set of tables; sets are set_bins counts apart. */
template <typename type>
static __global__ void ts_cuda_tables_step(type *sets, int64_t set_bins, int64_t n_bins,
                                           int64_t stride, int64_t n_tables)
{
    type *tables = sets + blockIdx.z * set_bins;
    const int64_t bin = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, table = blockIdx.y;
    if (bin < n_bins && table + stride < n_tables)
        ts_cuda_join(&tables[table * n_bins + bin], &tables[(table + stride) * n_bins + bin]);
}

enum { CUDA_TABLE_COLUMNS = 32, CUDA_TABLE_ROWS = 32 };

/* A block joins 32 bins: row r of its threads adds the tables [r * run, (r + 1) * run), one after
 * the other; then the rows are joined by fan-in. */
template <typename type>
static __global__ void ts_cuda_tables_two_level(type *sets, int64_t set_bins, int64_t n_bins,
                                                int64_t run, int64_t n_tables)
{
    type *tables = sets + blockIdx.z * set_bins;
    __shared__ type rows[CUDA_TABLE_ROWS][CUDA_TABLE_COLUMNS];
    const int64_t bin = (int64_t)blockIdx.x * CUDA_TABLE_COLUMNS + threadIdx.x,
                  first = threadIdx.y * run;
    type sum = 0;
    for (int64_t i = first; bin < n_bins && i < first + run && i < n_tables; i++)
        ts_cuda_join(&sum, &tables[i * n_bins + bin]);
    rows[threadIdx.y][threadIdx.x] = sum;
    for (unsigned stride = CUDA_TABLE_ROWS / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.y < stride)
            ts_cuda_join(&rows[threadIdx.y][threadIdx.x], &rows[threadIdx.y + stride][threadIdx.x]);
    }
    if (threadIdx.y == 0 && bin < n_bins)
        tables[bin] = rows[0][threadIdx.x];
}

/* Joins n_tables <= 65535 tables of n_bins counts, one after the other in memory, into the first,
 * and does so for each of n_sets <= 65535 sets of tables; the other tables are overwritten. It only
 * enqueues; call ts_cuda_launched() after it. */
template <typename type>
static void ts_cuda_tables_join(type *sets, int64_t n_sets, int64_t n_tables, int64_t n_bins,
                                enum reduction_method method, cudaStream_t stream)
{
    const int64_t set_bins = n_tables * n_bins;
    if (method != REDUCTION_FAN_IN) {
        const dim3 block(CUDA_TABLE_COLUMNS, CUDA_TABLE_ROWS);
        const dim3 grid((unsigned)ts_cuda_parts(n_bins, CUDA_TABLE_COLUMNS), 1, (unsigned)n_sets);
        ts_cuda_tables_two_level<<<grid, block, 0, stream>>>(
            sets, set_bins, n_bins, ts_cuda_parts(n_tables, CUDA_TABLE_ROWS), n_tables);
        return;
    }
    for (int64_t n = n_tables, stride = ts_cuda_stride_of(n); stride > 0; n = stride, stride /= 2) {
        const dim3 grid((unsigned)ts_cuda_parts(n_bins, 256), (unsigned)stride, (unsigned)n_sets);
        ts_cuda_tables_step<<<grid, 256, 0, stream>>>(sets, set_bins, n_bins, stride, n);
    }
}

#endif
