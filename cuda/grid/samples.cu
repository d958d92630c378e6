/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of a volume on another grid. A thread makes the pixels of one column in ROWS rows of a slice, so that on an
 * aligned grid it finds the taps of the column and of the slice once; on other grids it finds all taps of each pixel.
 * Positions and weights are those of the CPU, in double, and the sums are made in float in its order. Memory traffic:
 * each input pixel that has a weight is read once from memory and by its neighbors from cache, and each output pixel is
 * written once. The 8 or 64 reads of a pixel from cache are the limit; a block of 32 x 8 threads reads from a compact
 * box of the input, most of which stays in the first cache.
 */
#include "cuda/grid/samples.cuh"

extern "C" {
#include "stages/engine/border.h"
}

enum { WARP = 32, HIGH = 8, ROWS = 4, AXES = 3 };

struct sampled_slab {
    struct sampling sampling;
    int64_t z_in, z_out, n; /* the first slices of the slabs; the output's slices */
    bool aligned;
};

static __device__ inline double position(const struct sampling &sampling, int d, int64_t z, int64_t y, int64_t x)
{
    const double *row = sampling.matrix[d];
    return sampling.offset[d] + (double)z * row[0] + (double)y * row[1] + (double)x * row[2];
}

/* Finds the taps of an axis; false outside. */
template <int KIND>
static __device__ inline bool find(const struct sampling &sampling, int d, int64_t z, int64_t y, int64_t x,
                                   struct taps &taps)
{
    const double t = position(sampling, d, z, y, x);
    if (!ts_taps_inside(t, sampling.n_in[d]))
        return false;
    ts_taps_find(t, sampling.n_in[d], KIND, &taps);
    return true;
}

/* Rounds half to even and saturates. */
template <typename T> static __device__ inline T stored(float value)
{
    if constexpr (std::is_same<T, float>::value) {
        return value;
    } else {
        constexpr bool is_signed = std::is_signed<T>::value;
        constexpr int bits = 8 * (int)sizeof(T) - (is_signed ? 1 : 0);
        constexpr T most = (T)(((uint64_t)1 << bits) - 1), least = is_signed ? (T)(-(int64_t)most - 1) : (T)0;
        const float whole = rintf(value);
        return whole <= (float)least ? least : whole >= (float)most ? most : (T)whole;
    }
}

/* The sum of the taps of a pixel, x outermost. */
template <typename T, int N>
static __device__ inline float value_of(const T *in, const struct taps taps[AXES], int64_t z_in, int64_t ny, int64_t nx)
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        float along_y = 0;
        if (taps[2].weight[i] == 0)
            continue;
#pragma unroll
        for (int j = 0; j < N; j++) {
            float along_z = 0;
            if (taps[1].weight[j] == 0)
                continue;
#pragma unroll
            for (int k = 0; k < N; k++)
                if (taps[0].weight[k] != 0)
                    along_z += taps[0].weight[k] *
                               (float)in[((taps[0].index[k] - z_in) * ny + taps[1].index[j]) * nx + taps[2].index[i]];
            along_y += taps[1].weight[j] * along_z;
        }
        sum += taps[2].weight[i] * along_y;
    }
    return sum;
}

template <typename T, int KIND, bool ALIGNED>
static __global__ void __launch_bounds__(WARP *HIGH)
    sample(const T *in, T *out, const __grid_constant__ struct sampled_slab slab, T outside)
{
    const struct sampling &sampling = slab.sampling;
    const int64_t nx = sampling.n_out[2], ny = sampling.n_out[1], across = ts_cuda_parts(nx, WARP),
                  down = ts_cuda_parts(ny, HIGH * ROWS), part = blockIdx.x;
    const int64_t x = part % across * WARP + threadIdx.x, first = part / across % down * (HIGH * ROWS) + threadIdx.y,
                  slice = part / across / down, z = slab.z_out + slice;
    const int64_t ny_in = sampling.n_in[1], nx_in = sampling.n_in[2];
    struct taps taps[AXES];
    bool fixed = true;
    if (x >= nx)
        return;
    if (ALIGNED)
        fixed = find<KIND>(sampling, 0, z, 0, 0, taps[0]) && find<KIND>(sampling, 2, z, 0, x, taps[2]);
    for (int row = 0; row < ROWS; row++) {
        const int64_t y = first + row * HIGH;
        if (y >= ny)
            return;
        bool inside = fixed && find<KIND>(sampling, 1, z, y, x, taps[1]);
        if (!ALIGNED)
            inside = inside && find<KIND>(sampling, 0, z, y, x, taps[0]) && find<KIND>(sampling, 2, z, y, x, taps[2]);
        T value = outside;
        if constexpr (KIND == INTERPOLATION_NEAREST) {
            if (inside)
                value = in[((taps[0].index[0] - slab.z_in) * ny_in + taps[1].index[0]) * nx_in + taps[2].index[0]];
        } else if (inside) {
            value = stored<T>(value_of < T, KIND == INTERPOLATION_LINEAR ? 2 : 4 > (in, taps, slab.z_in, ny_in, nx_in));
        }
        out[(slice * ny + y) * nx + x] = value;
    }
}

template <typename T, int KIND>
static void launch(const struct sampled_slab &slab, const struct ts_image *in, const struct ts_image *out,
                   cudaStream_t stream)
{
    const int64_t *n = slab.sampling.n_out;
    const unsigned blocks = (unsigned)(ts_cuda_parts(n[2], WARP) * ts_cuda_parts(n[1], HIGH * ROWS) * slab.n);
    const dim3 threads(WARP, HIGH);
    T outside;
    ts_constant_fill(&outside, out->dtype, slab.sampling.outside, 1);
    if (slab.aligned)
        sample<T, KIND, true><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, slab, outside);
    else
        sample<T, KIND, false><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, slab, outside);
}

enum ts_status ts_cuda_sampling(const struct stage_context *context, const struct sampling *sampling,
                                const struct ts_image *in, const struct ts_image *out, const struct cuda_call *call)
{
    const struct sampled_slab slab = {*sampling, in->z_first, out->z_first, out->axes[0].n,
                                      ts_sampling_is_aligned(sampling)};
#define NEAREST(T) launch<T, INTERPOLATION_NEAREST>(slab, in, out, call->stream)
#define LINEAR(T) launch<T, INTERPOLATION_LINEAR>(slab, in, out, call->stream)
#define CUBIC(T) launch<T, INTERPOLATION_CUBIC>(slab, in, out, call->stream)
    if (sampling->interpolation == INTERPOLATION_NEAREST) {
        TS_CUDA_WORDS(out->dtype, NEAREST);
    } else if (sampling->interpolation == INTERPOLATION_LINEAR) {
        TS_CUDA_DTYPES(out->dtype, LINEAR);
    } else {
        TS_CUDA_DTYPES(out->dtype, CUBIC);
    }
#undef NEAREST
#undef LINEAR
#undef CUBIC
    return ts_cuda_launched(context, "sample");
}
