/* SPDX-License-Identifier: Apache-2.0
 *
 * air on a CUDA device: t = (x - dark) / (a - dark). A block takes a row (z, view) at a time: its first warp sums the
 * outer detectors on the left, its second those on the right, lane by lane and then by halving, always in that order;
 * then each thread divides every 128th value. 4 + 4 bytes of memory traffic a float value: what a row's sums read, its
 * division finds in the cache. 128 threads a block: with 64 registers a thread 8 rows are in work on a multiprocessor,
 * and some divide while others sum.
 */
#include "cuda/launch.cuh"

extern "C" {
#include "stages/air.h"
}

enum { THREADS = 128, WARP = 32, WAVES = 4, UNROLL = 4 };

struct air_job {
    int64_t n_rows, n_views, n, detectors;
    double dark;
    unsigned long long *blocked; /* of each slice */
};

/* In lane 0; the others' numbers mean nothing. */
template <typename T> static __device__ double mean_of(const T *row, int64_t n)
{
    double sum = 0;
    for (int64_t i = threadIdx.x % WARP; i < n; i += WARP)
        sum += (double)row[i];
    for (int step = WARP / 2; step > 0; step /= 2)
        sum += __shfl_down_sync(0xFFFFFFFFu, sum, step);
    return sum / (double)n;
}

template <typename T>
static __device__ void divide_row(const T *in, float *out, const struct air_job &job, const struct air_line &line)
{
    const int n = (int)job.n;
    const float dark = (float)job.dark;
#pragma unroll UNROLL
    for (int d = threadIdx.x; d < n; d += THREADS) {
        const double beam = line.first * (double)(n - 1 - d) + line.last * (double)d;
        out[d] = line.blocked ? __int_as_float(0x7FC00000) : ((float)in[d] - dark) / (float)beam;
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) divide_by_air(const T *in, float *out, struct air_job job)
{
    __shared__ double means[2];
    for (int64_t row = blockIdx.x; row < job.n_rows; row += gridDim.x) {
        const T *from = in + row * job.n;
        const int warp = threadIdx.x / WARP;
        if (warp < 2) {
            const double mean = mean_of(warp == 0 ? from : from + job.n - job.detectors, job.detectors);
            if (threadIdx.x % WARP == 0)
                means[warp] = mean;
        }
        __syncthreads();
        const struct air_line line = ts_air_line(means[0] - job.dark, means[1] - job.dark, job.n, job.detectors);
        if (line.blocked && threadIdx.x == 0)
            atomicAdd(&job.blocked[row / job.n_views], 1ull);
        divide_row(from, out + row * job.n, job, line);
        __syncthreads(); /* the means are read before they are those of the next row */
    }
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct air_params *params = (const struct air_params *)context->params;
    const struct air_job job = {out->axes[0].n * out->axes[1].n,
                                out->axes[1].n,
                                out->axes[2].n,
                                params->detectors,
                                params->dark,
                                (unsigned long long *)context->tables[0].data};
    const int64_t most = (int64_t)context->device->multiprocessors * (context->device->threads / THREADS) * WAVES;
    const unsigned blocks = (unsigned)(job.n_rows < most ? job.n_rows : most);
    cudaMemsetAsync(job.blocked, 0, (size_t)out->axes[0].n * sizeof *job.blocked, call->stream);
#define DIVIDE(type)                                                                                                   \
    divide_by_air<type><<<blocks, THREADS, 0, call->stream>>>((const type *)in->data, (float *)out->data, job)
    TS_CUDA_DTYPES(in->dtype, DIVIDE)
#undef DIVIDE
    return ts_cuda_launched(context, "divide_by_air");
}

extern const struct stage_cuda air_cuda;
const struct stage_cuda air_cuda = {.map = map};
