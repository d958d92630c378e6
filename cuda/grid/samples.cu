/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of a volume on another grid. A thread makes the pixels of one column in ROWS rows of a
 * slice, so that on an aligned grid it finds the taps of the column and of the slice once; on other
 * grids it finds all taps of each pixel. Positions and weights are those of the CPU, in double, and
 * the sums are made in float in its order. Memory traffic: each input pixel that has a weight is
 * read once from memory and by its neighbors from cache, and each output pixel is written once. The
 * 8 or 64 reads of a pixel from cache are the limit; a block of 32 x 8 threads reads from a compact
 * box of the input, most of which stays in the first cache.
 *
 * In a masked image all pixels are first computed in this way. A second kernel corrects those that
 * have an invalid sample, by the rules of stages/grid/samples.c, with a warp for each word of 32
 * bits that it writes. Most of its reads are bits.
 */
#include "cuda/grid/samples.cuh"

extern "C" {
#include "stages/engine/border.h"
}

enum { WARP = 32, HIGH = 8, ROWS = 4, AXES = 3 };

struct sampled_slab {
    struct sampling sampling;
    int64_t z_in, z_out, n; /* index of the first slice of the input slab and of the output slab;
                             * number of output slices */
    bool aligned;
};

static __device__ inline double position(const struct sampling &sampling, int d, int64_t z,
                                         int64_t y, int64_t x)
{
    const double *row = sampling.matrix[d];
    return sampling.offset[d] + (double)z * row[0] + (double)y * row[1] + (double)x * row[2];
}

/* Finds the taps of one axis. Returns false if the position is outside. */
template <int KIND>
static __device__ inline bool samples_find(const struct sampling &sampling, int d, int64_t z,
                                           int64_t y, int64_t x, struct taps &taps)
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
        constexpr T most = (T)(((uint64_t)1 << bits) - 1),
                    least = is_signed ? (T)(-(int64_t)most - 1) : (T)0;
        const float whole = rintf(value);
        return whole <= (float)least ? least : whole >= (float)most ? most : (T)whole;
    }
}

/* Returns the sum of the taps of a pixel; x is the outermost loop. */
template <typename T, int N>
static __device__ inline float value_of(const T *in, const struct taps taps[AXES], int64_t z_in,
                                        int64_t ny, int64_t nx)
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
                               (float)in[((taps[0].index[k] - z_in) * ny + taps[1].index[j]) * nx +
                                         taps[2].index[i]];
            along_y += taps[1].weight[j] * along_z;
        }
        sum += taps[2].weight[i] * along_y;
    }
    return sum;
}

/* Makes the pixels of one column in ROWS rows of a slice in each thread. */
template <typename T, int KIND, bool ALIGNED>
static __global__ void __launch_bounds__(WARP *HIGH)
    sample(const T *in, T *out, const __grid_constant__ struct sampled_slab slab, T outside)
{
    const struct sampling &sampling = slab.sampling;
    const int64_t nx = sampling.n_out[2], ny = sampling.n_out[1], across = ts_cuda_parts(nx, WARP),
                  down = ts_cuda_parts(ny, HIGH * ROWS), part = blockIdx.x;
    const int64_t x = part % across * WARP + threadIdx.x,
                  first = part / across % down * (HIGH * ROWS) + threadIdx.y,
                  slice = part / across / down, z = slab.z_out + slice;
    const int64_t ny_in = sampling.n_in[1], nx_in = sampling.n_in[2];
    struct taps taps[AXES];
    bool fixed = true;
    if (x >= nx)
        return;
    if (ALIGNED)
        fixed = samples_find<KIND>(sampling, 0, z, 0, 0, taps[0]) &&
                samples_find<KIND>(sampling, 2, z, 0, x, taps[2]);
    for (int row = 0; row < ROWS; row++) {
        const int64_t y = first + row * HIGH;
        if (y >= ny)
            return;
        bool inside = fixed && samples_find<KIND>(sampling, 1, z, y, x, taps[1]);
        if (!ALIGNED)
            inside = inside && samples_find<KIND>(sampling, 0, z, y, x, taps[0]) &&
                     samples_find<KIND>(sampling, 2, z, y, x, taps[2]);
        T value = outside;
        if constexpr (KIND == INTERPOLATION_NEAREST) {
            if (inside)
                value = in[((taps[0].index[0] - slab.z_in) * ny_in + taps[1].index[0]) * nx_in +
                           taps[2].index[0]];
        } else if (inside) {
            value = stored<T>(value_of < T, KIND == INTERPOLATION_LINEAR
                                                ? 2
                                                : 4 > (in, taps, slab.z_in, ny_in, nx_in));
        }
        out[(slice * ny + y) * nx + x] = value;
    }
}

/* ---- masked images --------------------------------------------------------------------------- */

enum { MEND_THREADS = 256, MEND_WARPS = MEND_THREADS / WARP, MOST_SLICES = 65535 };

/* The bits of both slabs, and their 32-bit words from one slice to the next. */
struct sampled_bits {
    const uint32_t *in;
    uint32_t *out;
    int64_t in_words, out_words;
};

static __device__ inline bool is_valid(const struct sampled_slab &slab,
                                       const struct sampled_bits &bits, int64_t z, int64_t y,
                                       int64_t x)
{
    const int64_t i = y * slab.sampling.n_in[2] + x;
    return bits.in[(z - slab.z_in) * bits.in_words + i / WARP] >> i % WARP & 1;
}

template <typename T>
static __device__ inline T sample_at(const T *in, const struct sampled_slab &slab, int64_t z,
                                     int64_t y, int64_t x)
{
    return in[((z - slab.z_in) * slab.sampling.n_in[1] + y) * slab.sampling.n_in[2] + x];
}

/* Returns true if every sample that has a weight is valid. */
template <int N>
static __device__ bool is_complete(const struct sampled_slab &slab, const struct sampled_bits &bits,
                                   const struct taps taps[AXES])
{
    bool complete = true;
    for (int k = 0; k < N; k++)
        for (int j = 0; complete && taps[0].weight[k] != 0 && j < N; j++)
            for (int i = 0; taps[1].weight[j] != 0 && i < N; i++)
                complete = complete &&
                           (taps[2].weight[i] == 0 || is_valid(slab, bits, taps[0].index[k],
                                                               taps[1].index[j], taps[2].index[i]));
    return complete;
}

/* Returns the linear mean of the valid samples around a pixel. */
template <typename T>
static __device__ float mean_of_valid(const T *in, const struct sampled_slab &slab,
                                      const struct sampled_bits &bits, const struct taps taps[AXES])
{
    float values[TAPS_CORNERS];
    unsigned valid = 0;
    for (int i = 0; i < TAPS_CORNERS; i++) {
        const int64_t z = taps[0].index[i & 1], y = taps[1].index[i >> 1 & 1],
                      x = taps[2].index[i >> 2];
        valid |= (unsigned)is_valid(slab, bits, z, y, x) << i;
        values[i] = (float)sample_at(in, slab, z, y, x);
    }
    return ts_taps_mean(taps, values, valid);
}

template <int KIND>
static __device__ inline bool find_all(const struct sampled_slab &slab, const int64_t at[AXES],
                                       struct taps taps[AXES])
{
    bool inside = true;
    for (int d = 0; d < AXES; d++)
        inside = inside && samples_find<KIND>(slab.sampling, d, at[0], at[1], at[2], taps[d]);
    return inside;
}

template <typename T, int KIND>
static __global__ void __launch_bounds__(MEND_THREADS)
    mend(const T *in, T *out, const __grid_constant__ struct sampled_slab slab,
         const __grid_constant__ struct sampled_bits bits)
{
    const int64_t nx = slab.sampling.n_out[2], n = slab.sampling.n_out[1] * nx,
                  word = (int64_t)blockIdx.x * MEND_WARPS + threadIdx.x / WARP,
                  i = word * WARP + threadIdx.x % WARP;
    for (int64_t slice = blockIdx.y; slice < slab.n; slice += gridDim.y) {
        const int64_t at[AXES] = {slab.z_out + slice, i / nx, i % nx};
        struct taps taps[AXES];
        bool valid = i < n && find_all<INTERPOLATION_NEAREST>(slab, at, taps);
        const bool inside = valid;
        valid = valid && is_valid(slab, bits, taps[0].index[0], taps[1].index[0], taps[2].index[0]);
        T *here = out + slice * n + i;
        if (inside && !valid) {
            *here = sample_at(in, slab, taps[0].index[0], taps[1].index[0], taps[2].index[0]);
        } else if (KIND != INTERPOLATION_NEAREST && valid) {
            find_all<KIND>(slab, at, taps);
            if (!is_complete < KIND == INTERPOLATION_LINEAR ? 2 : 4 > (slab, bits, taps)) {
                find_all<INTERPOLATION_LINEAR>(slab, at, taps);
                *here = stored<T>(mean_of_valid(in, slab, bits, taps));
            }
        }
        const uint32_t made = __ballot_sync(~0u, valid);
        if (threadIdx.x % WARP == 0 && bits.out && word < bits.out_words)
            bits.out[slice * bits.out_words + word] = made;
    }
}

template <typename T, int KIND>
static void launch_mend(const struct sampled_slab &slab, const struct ts_image *in,
                        const struct ts_image *out, cudaStream_t stream)
{
    const struct sampled_bits bits = {(const uint32_t *)in->valid, (uint32_t *)out->valid,
                                      (int64_t)(ts_valid_bytes(in) / sizeof(uint32_t)),
                                      (int64_t)(ts_valid_bytes(out) / sizeof(uint32_t))};
    const dim3 blocks((unsigned)ts_cuda_parts(bits.out_words, MEND_WARPS),
                      (unsigned)(slab.n < MOST_SLICES ? slab.n : MOST_SLICES));
    mend<T, KIND>
        <<<blocks, MEND_THREADS, 0, stream>>>((const T *)in->data, (T *)out->data, slab, bits);
}

/* ---- launching ------------------------------------------------------------------------------- */

template <typename T, int KIND>
static void samples_launch(const struct sampled_slab &slab, const struct ts_image *in,
                           const struct ts_image *out, cudaStream_t stream)
{
    const int64_t *n = slab.sampling.n_out;
    const unsigned blocks =
        (unsigned)(ts_cuda_parts(n[2], WARP) * ts_cuda_parts(n[1], HIGH * ROWS) * slab.n);
    const dim3 threads(WARP, HIGH);
    T outside;
    ts_constant_fill(&outside, out->dtype, slab.sampling.outside, 1);
    if (slab.aligned)
        sample<T, KIND, true>
            <<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, slab, outside);
    else
        sample<T, KIND, false>
            <<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, slab, outside);
    if (in->valid)
        launch_mend<T, KIND>(slab, in, out, stream);
}

enum ts_status ts_cuda_sampling(const struct stage_context *context,
                                const struct sampling *sampling, const struct ts_image *in,
                                const struct ts_image *out, const struct cuda_call *call)
{
    const struct sampled_slab slab = {*sampling, in->z_first, out->z_first, out->axes[0].n,
                                      ts_sampling_is_aligned(sampling)};
#define NEAREST(T) samples_launch<T, INTERPOLATION_NEAREST>(slab, in, out, call->stream)
#define LINEAR(T) samples_launch<T, INTERPOLATION_LINEAR>(slab, in, out, call->stream)
#define CUBIC(T) samples_launch<T, INTERPOLATION_CUBIC>(slab, in, out, call->stream)
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
