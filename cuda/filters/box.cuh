/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of the stage box share this: sizes, types of sums, and the mean of a sum.
 *
 * Sums of 8- and 16-bit integers are int32_t if the largest sum fits, else int64_t; sums of 32-bit
 * integers are int64_t, sums of floats are double. Integer means are the nearest integer, with the
 * operations of stages/filters/box.c. A pass over one axis that is not the last keeps integer sums
 * as they are, and floats as means rounded to float.
 */
#ifndef CUDA_FILTERS_BOX_CUH
#define CUDA_FILTERS_BOX_CUH

#include "cuda/values/border.cuh"

extern "C" {
#include "stages/filters/box.h"
}

/* The output is nz x ny x nx, the input has `reach` more slices at both ends (0: 2D). */
struct box_sizes {
    int64_t nz, ny, nx;
    int radius, reach, border;
};

struct box_mean {
    double scale;  /* 1 / count */
    int64_t count; /* number of samples in a sum */
};

/* This describes the work of a method's launcher. */
struct box_launch {
    const struct stage_context *context;
    const void *in;
    void *out;
    char *scratch;
    cudaStream_t stream;
    struct box_sizes sizes;
    int64_t z_first;      /* index in the volume of the first output slice */
    struct box_mean mean; /* the mean over the whole window */
    bool wide;            /* true if sums of 8- and 16-bit values need int64_t */
    const struct cuda_texture *textures;
    int n_textures;
};

/* The type of what is kept between two passes: sums of integers, or means of floats. */
template <typename T, typename SUM>
using box_between = typename std::conditional<std::is_same<T, float>::value, float, SUM>::type;

static inline __device__ void box_store(float *out, double sum, struct box_mean mean)
{
    *out = (float)(sum * mean.scale);
}

template <typename T, typename SUM>
static inline __device__ void box_store(T *out, SUM sum, struct box_mean mean)
{
    if (sizeof(T) < 4) {
        *out = (T)__double2int_rn((double)sum * mean.scale);
    } else {
        const int64_t quotient = __double2ll_rn((double)sum * mean.scale);
        const int64_t twice = 2 * ((int64_t)sum - quotient * mean.count);
        *out = (T)(quotient + (twice > mean.count ? 1 : 0) - (twice < -mean.count ? 1 : 0));
    }
}

/* Stores the result of a pass that is not the last. */
template <typename SUM> static inline __device__ void box_keep(SUM *out, SUM sum, struct box_mean)
{
    *out = sum;
}
static inline __device__ void box_keep(float *out, double sum, struct box_mean mean)
{
    *out = (float)(sum * mean.scale);
}

template <bool LAST, typename OUT, typename SUM>
static inline __device__ void box_finish(OUT *out, SUM sum, struct box_mean mean)
{
    if constexpr (LAST)
        box_store(out, sum, mean);
    else
        box_keep(out, sum, mean);
}

/* Blocks of 32 x 8 threads over the rows of an image, one pixel a thread, in a grid of one
 * dimension. */
enum { BOX_BLOCK_X = 32, BOX_BLOCK_Y = 8 };

struct box_pixel {
    int64_t z, y, x;
    bool inside;
};

static inline __device__ struct box_pixel box_pixel_of_thread(struct box_sizes sizes)
{
    const unsigned columns = (unsigned)ts_cuda_parts(sizes.nx, BOX_BLOCK_X);
    const unsigned rows = (unsigned)ts_cuda_parts(sizes.ny, BOX_BLOCK_Y);
    const unsigned row = blockIdx.x / columns;
    struct box_pixel pixel;
    pixel.x = (int64_t)(blockIdx.x % columns) * BOX_BLOCK_X + threadIdx.x;
    pixel.y = (int64_t)(row % rows) * BOX_BLOCK_Y + threadIdx.y;
    pixel.z = row / rows;
    pixel.inside = pixel.x < sizes.nx && pixel.y < sizes.ny;
    return pixel;
}

static inline unsigned box_blocks(struct box_sizes sizes)
{
    return (unsigned)(ts_cuda_parts(sizes.nx, BOX_BLOCK_X) * ts_cuda_parts(sizes.ny, BOX_BLOCK_Y) *
                      sizes.nz);
}

/* `count` is the number of samples of the whole window, or of a window along one axis. */
static inline struct box_mean box_mean_of(double count)
{
    const struct box_mean mean = {1.0 / count, (int64_t)count};
    return mean;
}

/* The studies call this from outside the library. */
#pragma GCC visibility push(default)
/* Describes a call of map() to a launcher. */
struct box_launch ts_cuda_box_launch(const struct stage_context *context, const struct ts_image *in,
                                     const struct ts_image *out, const struct cuda_call *call);
#pragma GCC visibility pop

/* Returns the bytes of one image between two passes. */
static inline size_t box_between_bytes(const struct box_launch *launch)
{
    return (size_t)(launch->sizes.nz * launch->sizes.ny * launch->sizes.nx) *
           ts_box_between_bytes(launch->context->in.dtype, (double)launch->mean.count);
}

/* For methods that go axis by axis (z in 3D, x, y): the images between two passes, in scratch,
 * which hold sums of integers or means of floats. outside_rows and outside_columns are the values
 * beyond the rows and columns that a pass reads; the first pass over an image reads the constant
 * itself. */
template <typename T, typename SUM> struct box_passes {
    typedef box_between<T, SUM> between;
    between *slices, *rows; /* results of the pass along z, and of the pass along x */
    between outside_rows, outside_columns;
    struct box_mean line, last; /* the mean of a pass that is not the last, and that of the last
                                 * one, along y */
};

template <typename T, typename SUM>
static inline struct box_passes<T, SUM> box_passes_of(const struct box_launch *launch) {
    typedef box_between<T, SUM> between;
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const bool sums = (T)0.5 == 0;
    const between window = (between)(2 * launch->sizes.radius + 1), factor = sums ? window : 1;
    struct box_passes<T, SUM> passes;
    passes.rows = (between *)launch->scratch;
    passes.slices = (between *)(launch->scratch + ts_cuda_stride(box_between_bytes(launch)));
    passes.outside_rows = (between)params->constant * factor;
    passes.outside_columns =
        launch->sizes.reach ? passes.outside_rows * factor : passes.outside_rows;
    passes.line = box_mean_of((double)window);
    passes.last = sums ? launch->mean : passes.line;
    return passes;
}

/* Launchers of the methods: `fused` is in box_fused.cu, `direct` and the others in box.cu. */
enum ts_status
ts_cuda_box_fused(const struct box_launch *launch);
enum ts_status ts_cuda_box_direct(const struct box_launch *launch);

#endif
