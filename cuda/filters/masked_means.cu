/* SPDX-License-Identifier: Apache-2.0
 *
 * masked_means.cuh: one pass along each axis, a thread for each pixel, which adds the 2 radius + 1 samples of its line.
 * Between the passes lie sums of values and of weights as double, 16 bytes a pixel, in two images of scratch that take
 * turns.
 *
 * Memory traffic: along z 2 radius + 1 values and bits are read and 16 bytes written; down and across 2 radius + 1 sums
 * are read, from the caches but for the first, and 16 bytes or a value written. Blocks have 32 x 8 threads, so that a
 * warp reads neighboring pixels of a row.
 */
#include "cuda/filters/masked_means.cuh"

enum { BLOCK_X = 32, BLOCK_Y = 8, MOST_BLOCKS_Z = 65535 };

struct means_job {
    int64_t nz, ny, nx, words; /* words of 64 bits of a slice */
    int64_t radius[3];
    const float *weights[3];
    const uint64_t *valid;
    int border;
    double constant;
};

static __device__ inline double weight_of(const struct means_job &job, int axis, int64_t i)
{
    return job.weights[axis] ? (double)job.weights[axis][i] : 1;
}

static __device__ inline bool is_valid(const struct means_job &job, int64_t z, int64_t i)
{
    return job.valid[z * job.words + i / 64] >> i % 64 & 1;
}

static __device__ inline void add(double2 *into, double2 sum, double weight)
{
    into->x += weight * sum.x;
    into->y += weight * sum.y;
}

/* Returns the sum over a line of pixels outside that all have the border's constant, along axes 0 to `axis`. */
static __device__ double2 outside(const struct means_job &job, int axis)
{
    double2 sum = make_double2(job.constant, 1);
    for (int a = 0; a <= axis; a++) {
        double2 along = make_double2(0, 0);
        for (int64_t i = 0; i <= 2 * job.radius[a]; i++)
            add(&along, sum, weight_of(job, a, i));
        sum = along;
    }
    return sum;
}

template <typename T> static __global__ void sum_along_z(const T *in, double2 *out, struct means_job job)
{
    const int64_t x = (int64_t)blockIdx.x * BLOCK_X + threadIdx.x, y = (int64_t)blockIdx.y * BLOCK_Y + threadIdx.y;
    const int64_t slice = job.ny * job.nx, at = y * job.nx + x;
    if (x >= job.nx || y >= job.ny)
        return;
    for (int64_t z = blockIdx.z; z < job.nz; z += gridDim.z) {
        double2 sum = make_double2(0, 0);
        for (int64_t k = 0; k <= 2 * job.radius[0]; k++)
            if (is_valid(job, z + k, at))
                add(&sum, make_double2((double)in[(z + k) * slice + at], 1), weight_of(job, 0, k));
        out[z * slice + at] = sum;
    }
}

static __global__ void sum_down(const double2 *in, double2 *out, struct means_job job)
{
    const int64_t x = (int64_t)blockIdx.x * BLOCK_X + threadIdx.x, y = (int64_t)blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x >= job.nx || y >= job.ny)
        return;
    for (int64_t z = blockIdx.z; z < job.nz; z += gridDim.z) {
        double2 sum = make_double2(0, 0);
        for (int64_t j = 0; j <= 2 * job.radius[1]; j++) {
            const int64_t from = ts_cuda_border_index(y + j - job.radius[1], job.ny, job.border);
            add(&sum, from < 0 ? outside(job, 0) : in[(z * job.ny + from) * job.nx + x], weight_of(job, 1, j));
        }
        out[(z * job.ny + y) * job.nx + x] = sum;
    }
}

/* Returns a mean as an element of the output. */
template <typename OUT> static __device__ inline OUT rounded(double mean)
{
    return (OUT)(std::is_same<OUT, float>::value ? mean : rint(mean));
}

template <typename T, typename OUT>
static __global__ void sum_across(const double2 *sums, const T *in, OUT *out, struct means_job job)
{
    const int64_t x = (int64_t)blockIdx.x * BLOCK_X + threadIdx.x, y = (int64_t)blockIdx.y * BLOCK_Y + threadIdx.y;
    const int64_t slice = job.ny * job.nx, at = y * job.nx + x;
    if (x >= job.nx || y >= job.ny)
        return;
    for (int64_t z = blockIdx.z; z < job.nz; z += gridDim.z) {
        double2 sum = make_double2(0, 0);
        if (!is_valid(job, z + job.radius[0], at)) {
            out[z * slice + at] = rounded<OUT>((double)in[(z + job.radius[0]) * slice + at]);
            continue;
        }
        for (int64_t i = 0; i <= 2 * job.radius[2]; i++) {
            const int64_t from = ts_cuda_border_index(x + i - job.radius[2], job.nx, job.border);
            add(&sum, from < 0 ? outside(job, 1) : sums[(z * job.ny + y) * job.nx + from], weight_of(job, 2, i));
        }
        out[z * slice + at] = rounded<OUT>(sum.x / sum.y);
    }
}

static size_t image_bytes(const struct stage_context *context, int64_t n)
{
    return ts_cuda_stride((size_t)n * ts_slice_count(&context->in) * sizeof(double2));
}

size_t ts_cuda_masked_means_bytes(const struct stage_context *context, int64_t n)
{
    return 2 * image_bytes(context, n);
}

template <typename T>
static void launch(const struct ts_image *in, struct ts_image *out, double2 *first, double2 *second,
                   const struct means_job &job, cudaStream_t stream)
{
    const dim3 threads(BLOCK_X, BLOCK_Y),
        blocks((unsigned)ts_cuda_parts(job.nx, BLOCK_X), (unsigned)ts_cuda_parts(job.ny, BLOCK_Y),
               (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    const T *values = (const T *)in->data;
    sum_along_z<<<blocks, threads, 0, stream>>>(values, first, job);
    sum_down<<<blocks, threads, 0, stream>>>(first, second, job);
    if (out->dtype == TS_F32)
        sum_across<<<blocks, threads, 0, stream>>>(second, values, (float *)out->data, job);
    else
        sum_across<<<blocks, threads, 0, stream>>>(second, values, (T *)out->data, job);
}

enum ts_status ts_cuda_masked_means(const struct stage_context *context, const struct masked_window *window,
                                    const struct ts_image *in, struct ts_image *out, const struct cuda_call *call)
{
    const int64_t n = out->axes[0].n;
    double2 *first = (double2 *)call->scratch, *second = (double2 *)((char *)call->scratch + image_bytes(context, n));
    struct means_job job = {};
    job.nz = n;
    job.ny = out->axes[1].n;
    job.nx = out->axes[2].n;
    job.words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid);
    job.valid = in->valid;
    job.border = window->border;
    job.constant = window->constant;
    for (int axis = 0; axis < 3; axis++) {
        job.radius[axis] = window->radius[axis];
        job.weights[axis] = window->weights[axis];
    }
#define LAUNCH(T) launch<T>(in, out, first, second, job, call->stream)
    TS_CUDA_DTYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "masked means");
}
