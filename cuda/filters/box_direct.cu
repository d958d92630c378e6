/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes box by its definition: one thread adds the whole window of one pixel. Memory traffic: each sample is
 * read (2 radius + 1)^2 times, or ^3, nearly always from a cache; device memory sees one read and one write a pixel
 * while the rows of a window stay in the caches. Blocks of 32 x 8: a warp reads along x, and 8 rows share their windows
 * through the first cache.
 *
 *     direct    any radius
 *     unrolled  radius 1: loops of 3 known when compiling, floats summed as float (6 roundings at most)
 */
#include "cuda/filters/box.cuh"

/* Returns the sum of 2 radius + 1 samples of one row around x. */
template <typename T, typename SUM>
static __device__ SUM row_sum(const T *row, int64_t x, struct box_sizes sizes, T outside)
{
    SUM sum = 0;
    if (x >= sizes.radius && x + sizes.radius < sizes.nx) {
        for (int64_t i = x - sizes.radius; i <= x + sizes.radius; i++)
            sum += (SUM)row[i];
    } else {
        for (int64_t i = x - sizes.radius; i <= x + sizes.radius; i++) {
            const int64_t from = ts_cuda_border_index(i, sizes.nx, sizes.border);
            sum += (SUM)(from < 0 ? outside : row[from]);
        }
    }
    return sum;
}

template <typename T, typename SUM>
static __global__ void __launch_bounds__(BOX_BLOCK_X *BOX_BLOCK_Y)
    direct(const T *in, T *out, struct box_sizes sizes, T outside, struct box_mean mean)
{
    const struct box_pixel at = box_pixel_of_thread(sizes);
    if (!at.inside)
        return;
    SUM sum = 0;
    for (int64_t z = at.z; z <= at.z + 2 * sizes.reach; z++)
        for (int64_t j = at.y - sizes.radius; j <= at.y + sizes.radius; j++) {
            const int64_t y = ts_cuda_border_index(j, sizes.ny, sizes.border);
            sum += y < 0 ? (SUM)(2 * sizes.radius + 1) * (SUM)outside
                         : row_sum<T, SUM>(in + (z * sizes.ny + y) * sizes.nx, at.x, sizes, outside);
        }
    box_store(out + (at.z * sizes.ny + at.y) * sizes.nx + at.x, sum, mean);
}

template <typename T>
using unrolled_sum = typename std::conditional<std::is_same<T, float>::value, float,
                                               typename std::conditional<sizeof(T) == 4, int64_t, int32_t>::type>::type;

template <typename T, int REACH>
static __global__ void __launch_bounds__(BOX_BLOCK_X *BOX_BLOCK_Y)
    unrolled(const T *in, T *out, struct box_sizes sizes, T outside, struct box_mean mean)
{
    typedef unrolled_sum<T> SUM;
    const struct box_pixel at = box_pixel_of_thread(sizes);
    if (!at.inside)
        return;
    int64_t columns[3], rows[3];
    for (int i = 0; i < 3; i++) {
        columns[i] = ts_cuda_border_index(at.x + i - 1, sizes.nx, sizes.border);
        rows[i] = ts_cuda_border_index(at.y + i - 1, sizes.ny, sizes.border);
    }
    SUM sum = 0;
#pragma unroll
    for (int k = 0; k <= 2 * REACH; k++) {
        SUM slice = 0;
#pragma unroll
        for (int j = 0; j < 3; j++) {
            const T *row = in + ((at.z + k) * sizes.ny + (rows[j] < 0 ? 0 : rows[j])) * sizes.nx;
            SUM samples[3];
#pragma unroll
            for (int i = 0; i < 3; i++)
                samples[i] = (SUM)(rows[j] < 0 || columns[i] < 0 ? outside : row[columns[i]]);
            slice += samples[0] + samples[1] + samples[2];
        }
        sum += slice;
    }
    T *to = out + (at.z * sizes.ny + at.y) * sizes.nx + at.x;
    if constexpr (sizeof(SUM) == 4 && sizeof(T) == 4)
        *to = (T)(sum * (SUM)mean.scale);
    else
        box_store(to, sum, mean);
}

template <typename T, typename SUM> static enum ts_status launch_direct(const struct box_launch *launch)
{
    const struct box_params *params = (const struct box_params *)launch->context->params;
    direct<T, SUM><<<box_blocks(launch->sizes), dim3(BOX_BLOCK_X, BOX_BLOCK_Y), 0, launch->stream>>>(
        (const T *)launch->in, (T *)launch->out, launch->sizes, (T)params->constant, launch->mean);
    return ts_cuda_launched(launch->context, "direct");
}
BOX_LAUNCHER(ts_cuda_box_direct, launch_direct)

enum ts_status ts_cuda_box_unrolled(const struct box_launch *launch)
{
    const struct box_params *params = (const struct box_params *)launch->context->params;
#define LAUNCH(T)                                                                                                      \
    (launch->sizes.reach                                                                                               \
         ? unrolled<T, 1>                                                                                              \
         : unrolled<T, 0>)<<<box_blocks(launch->sizes), dim3(BOX_BLOCK_X, BOX_BLOCK_Y), 0, launch->stream>>>(          \
        (const T *)launch->in, (T *)launch->out, launch->sizes, (T)params->constant, launch->mean)
    TS_CUDA_DTYPES(launch->context->in.dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(launch->context, "unrolled");
}
