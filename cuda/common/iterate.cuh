/* SPDX-License-Identifier: Apache-2.0
 *
 * What iterative reconstructions share on the device: arrays of one group of slices as lanes (lanes.cuh), squares of
 * norms, and the state of each slice. Nothing goes through the host: a slice that is done keeps its image, and once all
 * of a group are done, `halt` makes the kernels that follow return at once.
 *
 * Squares: elements go to fixed chunks, in a chunk by their index modulo 8 to 8 sums in double, which are joined in
 * order, then the chunks in order: nothing depends on the number of lanes.
 */
#ifndef CUDA_COMMON_ITERATE_CUH
#define CUDA_COMMON_ITERATE_CUH

#include "cuda/common/joseph.cuh"

extern "C" {
#include "stages/common/iterate.h"
}

enum { ITERATE_SUMS = 8, ITERATE_CHUNKS = 512, ITERATE_LANES = 128, ITERATE_BLOCKS = 4096 };

/* Of a group; one number a lane. */
struct cuda_iterate {
    double square[ITERATE_LANES];                       /* joined last */
    double sinogram[ITERATE_LANES];                     /* square of ||b|| */
    double gamma[ITERATE_LANES], factor[ITERATE_LANES]; /* of cgls */
    int32_t done[ITERATE_LANES];
    int32_t halt;
};

/* Of a stage whose input is a sinogram and whose output the volume. Fewer slices leave lanes idle. */
static inline size_t ts_cuda_iterate_constants_bytes(const struct stage_context *context)
{
    const struct beam_scan scan = ts_beam_scan(&context->out, &context->in);
    return ts_cuda_joseph_constants_bytes(&scan);
}

static inline void ts_cuda_iterate_constants(const struct stage_context *context, void *host)
{
    const struct beam_scan scan = ts_beam_scan(&context->out, &context->in);
    ts_cuda_joseph_constants(&scan, host);
}

static inline int64_t ts_cuda_iterate_least_slices(const struct stage_context *context)
{
    (void)context;
    return 32;
}

static inline int64_t ts_cuda_iterate_chunk(int64_t n)
{
    return ts_cuda_parts(ts_cuda_parts(n, ITERATE_CHUNKS), ITERATE_SUMS) * ITERATE_SUMS;
}

static inline size_t ts_cuda_iterate_partial_bytes(void)
{
    return (size_t)ITERATE_CHUNKS * ITERATE_LANES * sizeof(double);
}

/* Of a block of lanes x ITERATE_SUMS threads: this thread's sum joined with its lane's others. partial[chunk][lane]. */
static __device__ __forceinline__ void ts_cuda_iterate_join(double sum, int lanes, double *partial)
{
    extern __shared__ double sums[];
    const int lane = (int)threadIdx.x % lanes;
    sums[threadIdx.x] = sum;
    __syncthreads();
    if ((int)threadIdx.x < lanes) {
        double total = 0;
        for (int k = 0; k < ITERATE_SUMS; k++)
            total += sums[k * lanes + lane];
        partial[(int64_t)blockIdx.x * lanes + lane] = total;
    }
}

/* The chunks in order; every thread of the lane's block calls it for its own lane. */
static __device__ __forceinline__ double ts_cuda_iterate_total(const double *partial, int64_t n_chunks, int lanes,
                                                               int lane)
{
    double total = 0;
#pragma unroll 8
    for (int64_t i = 0; i < n_chunks; i++)
        total += partial[i * lanes + lane];
    return total;
}

/* Where a group's slices write their tables: residual[lane][iteration], count[lane]. */
struct cuda_iterate_tables {
    double *residual;
    uint32_t *count;
};

static inline struct cuda_iterate_tables ts_cuda_iterate_tables(const struct stage_context *context, int64_t z)
{
    const struct ts_image *tables = context->tables;
    struct cuda_iterate_tables rows;
    rows.residual = (double *)ts_slice_data(&tables[ITERATE_RESIDUAL], z);
    rows.count = (uint32_t *)ts_slice_data(&tables[ITERATE_COUNT], z);
    return rows;
}

/* At the start of iteration i, by the thread of a lane that has a slice and is not done before: its residual; counts
 * the iteration unless it is done now. As stages/common/iterate.c. */
static __device__ __forceinline__ void ts_cuda_iterate_record(const struct cuda_iterate_tables *tables, int lane,
                                                              int64_t i, int64_t n, double square, double sinogram,
                                                              bool done)
{
    double *row = tables->residual + lane * n;
    if (i == 0) {
        tables->count[lane] = 0;
        for (int64_t k = 0; k < n; k++)
            row[k] = __longlong_as_double(0x7FF8000000000000);
    }
    row[i] = sinogram > 0 ? sqrt(square / sinogram) : square;
    tables->count[lane] += !done;
}

/* The rule of stages/common/iterate.c. */
static __device__ __forceinline__ bool ts_cuda_iterate_done(const struct iterate *iterate, double residual,
                                                            double sinogram, double n_rays)
{
    return iterate->stop == STOP_RESIDUAL      ? residual <= iterate->tolerance * iterate->tolerance * sinogram
           : iterate->stop == STOP_DISCREPANCY ? residual <= iterate->noise * iterate->noise * n_rays
                                               : false;
}

#endif
