/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of masked_windows.cuh. Means: one pass along each axis, a thread for each pixel,
 * which adds the 2 radius + 1 samples of its line. Between the passes, the sums of values and of
 * weights are kept as doubles in two images of scratch that take turns. Medians: a block brings a
 * tile with the border of its windows into shared memory, as 32-bit keys with a byte beside each
 * that says whether it is valid. A thread finds the median of one pixel bit by bit: the highest key
 * that has at most half of the valid keys below it.
 *
 * Memory traffic: a mean reads 2 radius + 1 values and bits along z, then as many sums down and
 * across, mostly from the caches, and writes 16 bytes in each pass; a median reads a value and its
 * bit, those of the border again, and writes a value. Blocks have 32 x 8 threads, so that a warp
 * reads neighboring pixels of a row; for cubes 16 x 8, whose largest tile has 30 x 22 x 15 keys of
 * 5 bytes.
 */
#include "cuda/filters/masked_windows.cuh"

extern "C" {
#include "stages/filters/median.h"
}

/* ---- means ----------------------------------------------------------------------------------- */

enum { BLOCK_X = 32, BLOCK_Y = 8 };

struct means_job {
    int64_t nz, ny, nx, words; /* words: 64-bit words of a slice's bits */
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

static __device__ inline void masked_windows_add(double2 *into, double2 sum, double weight)
{
    into->x += weight * sum.x;
    into->y += weight * sum.y;
}

/* Returns the sums over pixels outside, which all have the border's constant, along axes 0 to
 * `axis`. */
static __device__ double2 outside(const struct means_job &job, int axis)
{
    double2 sum = make_double2(job.constant, 1);
    for (int a = 0; a <= axis; a++) {
        double2 along = make_double2(0, 0);
        for (int64_t i = 0; i <= 2 * job.radius[a]; i++)
            masked_windows_add(&along, sum, weight_of(job, a, i));
        sum = along;
    }
    return sum;
}

template <typename T>
static __global__ void sum_along_z(const T *in, double2 *out, struct means_job job)
{
    const int64_t x = (int64_t)blockIdx.x * BLOCK_X + threadIdx.x,
                  y = (int64_t)blockIdx.y * BLOCK_Y + threadIdx.y;
    const int64_t slice = job.ny * job.nx, at = y * job.nx + x;
    if (x >= job.nx || y >= job.ny)
        return;
    for (int64_t z = blockIdx.z; z < job.nz; z += gridDim.z) {
        double2 sum = make_double2(0, 0);
        for (int64_t k = 0; k <= 2 * job.radius[0]; k++)
            if (is_valid(job, z + k, at))
                masked_windows_add(&sum, make_double2((double)in[(z + k) * slice + at], 1),
                                   weight_of(job, 0, k));
        out[z * slice + at] = sum;
    }
}

static __global__ void sum_down(const double2 *in, double2 *out, struct means_job job)
{
    const int64_t x = (int64_t)blockIdx.x * BLOCK_X + threadIdx.x,
                  y = (int64_t)blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x >= job.nx || y >= job.ny)
        return;
    for (int64_t z = blockIdx.z; z < job.nz; z += gridDim.z) {
        double2 sum = make_double2(0, 0);
        for (int64_t j = 0; j <= 2 * job.radius[1]; j++) {
            const int64_t from = ts_cuda_border_index(y + j - job.radius[1], job.ny, job.border);
            masked_windows_add(&sum,
                               from < 0 ? outside(job, 0) : in[(z * job.ny + from) * job.nx + x],
                               weight_of(job, 1, j));
        }
        out[(z * job.ny + y) * job.nx + x] = sum;
    }
}

/* Returns a mean as a value of the output's type. */
template <typename OUT> static __device__ inline OUT rounded(double mean)
{
    return (OUT)(std::is_same<OUT, float>::value ? mean : rint(mean));
}

template <typename T, typename OUT>
static __global__ void sum_across(const double2 *sums, const T *in, OUT *out, struct means_job job)
{
    const int64_t x = (int64_t)blockIdx.x * BLOCK_X + threadIdx.x,
                  y = (int64_t)blockIdx.y * BLOCK_Y + threadIdx.y;
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
            masked_windows_add(&sum,
                               from < 0 ? outside(job, 1) : sums[(z * job.ny + y) * job.nx + from],
                               weight_of(job, 2, i));
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
static void launch_means(const struct ts_image *in, struct ts_image *out, double2 *first,
                         double2 *second, const struct means_job &job, cudaStream_t stream)
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

enum ts_status ts_cuda_masked_means(const struct stage_context *context,
                                    const struct masked_window *window, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const int64_t n = out->axes[0].n;
    double2 *first = (double2 *)call->scratch,
            *second = (double2 *)((char *)call->scratch + image_bytes(context, n));
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
#define LAUNCH(T) launch_means<T>(in, out, first, second, job, call->stream)
    TS_CUDA_DTYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "masked means");
}

/* ---- medians --------------------------------------------------------------------------------- */

enum { THREADS_Y = 8, FLAT_X = 32, CUBE_X = 16 };

struct masked_job {
    struct median_job median;
    const uint64_t *valid;
    int64_t words; /* 64-bit words of a slice's bits */
    int depth;     /* slices of a window */
};

/* Turns a signed 32-bit key into an unsigned one of the same order. Shorter keys are unsigned
 * already. */
template <typename T> static __device__ inline uint32_t ordered(int32_t key)
{
    return sizeof(T) == 4 ? (uint32_t)key ^ 0x80000000u : (uint32_t)key;
}

/* Brings the tile of output slice z to shared memory. */
template <typename T>
static __device__ void load_tile(const T *in, int64_t z, int64_t first_x, int64_t first_y,
                                 int stride, int plane, const struct masked_job &job,
                                 uint32_t *keys, uint8_t *valid)
{
    const struct median_job &median = job.median;
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < job.depth * plane;
         i += blockDim.x * THREADS_Y) {
        const int64_t row = ts_cuda_border_index(first_y + i % plane / stride - median.radius,
                                                 median.ny, median.border);
        const int64_t column =
            ts_cuda_border_index(first_x + i % stride - median.radius, median.nx, median.border);
        const int64_t slice = z + i / plane, at = row * median.nx + column;
        const bool outside = row < 0 || column < 0;
        keys[i] = ordered<T>(
            outside ? median.constant
                    : ts_cuda_key_of<T>(in[slice * median.ny * median.nx + at], median.flip));
        valid[i] = outside || (job.valid[slice * job.words + at / 64] >> at % 64 & 1);
    }
}

/* Returns the key that would be at place n / 2 if the n valid keys of a window were sorted. */
template <typename T>
static __device__ uint32_t middle_key(const uint32_t *keys, const uint8_t *valid, int stride,
                                      int plane, int size, int depth)
{
    uint32_t found = 0, n = 0;
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++)
                n += valid[z * plane + y * stride + x];
    for (int bit = 8 * (int)sizeof(T) - 1; bit >= 0; bit--) {
        const uint32_t higher = found | 1u << bit;
        uint32_t below = 0;
        for (int z = 0; z < depth; z++)
            for (int y = 0; y < size; y++)
                for (int x = 0; x < size; x++) {
                    const int at = z * plane + y * stride + x;
                    below += valid[at] && keys[at] < higher;
                }
        found = below <= n / 2 ? higher : found;
    }
    return found;
}

template <typename T>
static __global__ void __launch_bounds__(FLAT_X *THREADS_Y)
    map_masked(const T *in, T *out, struct masked_job job)
{
    extern __shared__ uint32_t keys[];
    const struct median_job &median = job.median;
    const int size = 2 * median.radius + 1, stride = (int)blockDim.x + 2 * median.radius,
              plane = stride * (THREADS_Y + 2 * median.radius);
    uint8_t *valid = (uint8_t *)(keys + job.depth * plane);
    const int64_t first_x = blockIdx.x % median.tiles_x * (int64_t)blockDim.x,
                  first_y = blockIdx.x / median.tiles_x * (int64_t)THREADS_Y;
    const int64_t x = first_x + threadIdx.x, y = first_y + threadIdx.y;
    const int here = threadIdx.y * stride + threadIdx.x,
              center = here + job.depth / 2 * plane + median.radius * stride + median.radius;
    for (int64_t z = blockIdx.y; z < median.nz; z += gridDim.y) {
        load_tile(in, z, first_x, first_y, stride, plane, job, keys, valid);
        __syncthreads();
        if (x < median.nx && y < median.ny) {
            const uint32_t key = valid[center] ? middle_key<T>(keys + here, valid + here, stride,
                                                               plane, size, job.depth)
                                               : keys[center];
            out[(z * median.ny + y) * median.nx + x] =
                ts_cuda_value_of<T>((int32_t)ordered<T>((int32_t)key), median.flip);
        }
        __syncthreads();
    }
}

template <typename T>
static enum ts_status launch_median(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, struct masked_job job,
                                    cudaStream_t stream)
{
    const int x = job.depth > 1 ? CUBE_X : FLAT_X, halo = 2 * job.median.radius;
    const size_t bytes = (sizeof(uint32_t) + sizeof(uint8_t)) *
                         (size_t)((x + halo) * (THREADS_Y + halo) * job.depth);
    job.median.tiles_x = (unsigned)ts_cuda_parts(job.median.nx, x);
    const dim3 threads((unsigned)x, THREADS_Y),
        blocks((unsigned)(job.median.tiles_x * ts_cuda_parts(job.median.ny, THREADS_Y)),
               (unsigned)(job.median.nz < MOST_BLOCKS_Z ? job.median.nz : MOST_BLOCKS_Z));
    if (bytes > 48 << 10) {
        const enum ts_status status = ts_cuda_shared(context, (const void *)map_masked<T>, bytes);
        if (status != TS_OK)
            return status;
    }
    map_masked<<<blocks, threads, bytes, stream>>>((const T *)in->data, (T *)out->data, job);
    return ts_cuda_launched(context, "median map_masked");
}

enum ts_status ts_cuda_median_masked(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct median_job *median,
                                     const struct cuda_call *call)
{
    const struct median_params *params = (const struct median_params *)context->params;
    struct masked_job job = {};
    enum ts_status status = TS_OK;
    job.median = *median;
    job.valid = in->valid;
    job.words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid);
    job.depth = params->dimensions == MEDIAN_3D ? 2 * median->radius + 1 : 1;
#define LAUNCH(T) status = launch_median<T>(context, in, out, job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return status;
}
