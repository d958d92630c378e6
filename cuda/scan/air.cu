/* SPDX-License-Identifier: Apache-2.0
 *
 * air on a CUDA device: t = (x - dark) / (a - dark). A warp takes a row (z, view): its threads sum
 * the outer values on both sides, each every 32nd, then by halving, always in that order; then each
 * divides every 32nd value of the row, 8 in flight. 4 + 4 bytes move a float value: the division
 * finds in the cache what the sums read. Blocks are 128 threads, whose warps never wait for each
 * other.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/air.h"
}

enum { THREADS = 128, WARP = 32, ROWS = THREADS / WARP, WAVES = 4, FLIGHT = 8 };

struct air_job {
    int64_t n_rows, n_views, n, detectors;
    struct air_shape shape;
    unsigned long long *blocked; /* for each slice: number of rows without a transmission */
};

/* Returns the sum in every thread of the warp. */
template <typename T> static __device__ double sum_of(const T *row, int64_t n, int lane)
{
    double sum = 0;
    for (int64_t i = lane; i < n; i += WARP)
        sum += (double)row[i];
    for (int step = WARP / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
    return sum;
}

/* Writes the transmission of a row's n values, with FLIGHT loads at a time. Writes NaN
 * (0x7FC00000) if the line through the air is not positive (`blocked`). */
template <typename T>
static __device__ void divide_row(const T *in, float *out, int n, struct air_line line, float dark,
                                  int lane)
{
    for (int first = lane; first < n; first += WARP * FLIGHT) {
        float values[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            values[i] = first + i * WARP < n ? (float)in[first + i * WARP] : 0;
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int d = first + i * WARP;
            const float beam = line.first * (float)(n - 1 - d) + line.last * (float)d;
            if (d < n)
                __stcs(&out[d],
                       line.blocked ? __int_as_float(0x7FC00000) : (values[i] - dark) / beam);
        }
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    divide_by_air(const T *in, float *out, struct air_job job)
{
    const int lane = threadIdx.x % WARP;
    for (int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x / WARP; row < job.n_rows;
         row += (int64_t)gridDim.x * ROWS) {
        const T *from = in + row * job.n;
        const double left = sum_of(from, job.detectors, lane),
                     right = sum_of(from + job.n - job.detectors, job.detectors, lane);
        const struct air_line line = ts_air_line(&job.shape, left, right);
        if (line.blocked && lane == 0)
            atomicAdd(&job.blocked[row / job.n_views], 1ull);
        divide_row(from, out + row * job.n, (int)job.n, line, (float)job.shape.dark, lane);
    }
}

static enum ts_status air_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, const struct cuda_call *call)
{
    const struct air_params *params = (const struct air_params *)context->params;
    const struct air_job job = {out->axes[0].n * out->axes[1].n,
                                out->axes[1].n,
                                out->axes[2].n,
                                params->detectors,
                                ts_air_shape(params, out->axes[2].n),
                                (unsigned long long *)context->tables[0].data};
    const int64_t most = (int64_t)context->device->multiprocessors *
                         (context->device->threads / THREADS) * WAVES,
                  work = ts_cuda_parts(job.n_rows, ROWS);
    const unsigned blocks = (unsigned)(work < most ? work : most);
    cudaMemsetAsync(job.blocked, 0, (size_t)out->axes[0].n * sizeof *job.blocked, call->stream);
#define DIVIDE(type)                                                                               \
    divide_by_air<type>                                                                            \
        <<<blocks, THREADS, 0, call->stream>>>((const type *)in->data, (float *)out->data, job)
    TS_CUDA_DTYPES(in->dtype, DIVIDE)
#undef DIVIDE
    return ts_cuda_launched(context, "divide_by_air");
}

const struct stage_cuda air_cuda = {.map = air_map};
