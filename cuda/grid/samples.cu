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
 *
 * Coefficients (stages/grid/splines.h) are made before in three passes, one for each axis, in two
 * buffers of the slab's coefficients in turn. A thread makes a coefficient, and finds its samples
 * in the cache; each pass reads and writes the slab once.
 */
#include "cuda/grid/samples.cuh"

#include "cuda/values/value_range.cuh"

extern "C" {
#include "stages/engine/border.h"
#include "stages/grid/splines.h"
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
    ts_sampling_taps(&sampling, d, t, KIND, &taps);
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

template <int KIND>
static constexpr int TAPS =
    KIND == INTERPOLATION_LINEAR || KIND == INTERPOLATION_LABELS ? 2 : TAPS_MOST;

/* Returns the label of a pixel. */
template <typename T>
static __device__ inline T label_of(const T *in, const struct taps taps[AXES], int64_t z_in,
                                    int64_t ny, int64_t nx)
{
    T samples[TAPS_CORNERS];
    double values[TAPS_CORNERS];
    for (int i = 0; i < TAPS_CORNERS; i++) {
        samples[i] = in[((taps[0].index[i & 1] - z_in) * ny + taps[1].index[i >> 1 & 1]) * nx +
                        taps[2].index[i >> 2]];
        values[i] = (double)samples[i];
    }
    const int chosen = ts_taps_label(taps, values);
    return chosen < 0 ? (T)0 : samples[chosen];
}

/* Clips to the range of the input or of the nearest input slice; NaN stays. */
static __device__ inline float clipped(const struct sampling &sampling, int64_t z, float value)
{
    const float *range = sampling.range;
    if (!range)
        return value;
    if (sampling.clips_slices) {
        const double t = position(sampling, 0, z, 0, 0);
        range +=
            2 * ts_edge_index((int64_t)floor(t + 0.5 + TAPS_SLACK), sampling.n_in[0], EDGE_NEAREST);
    }
    return value < range[0] ? range[0] : value > range[1] ? range[1] : value;
}

/* Makes the pixels of one column in ROWS rows of a slice in each thread. `in` has the output's
 * type, or coefficients. */
template <typename IN, typename T, int KIND, bool ALIGNED>
static __global__ void __launch_bounds__(WARP *HIGH)
    sample(const IN *in, T *out, const __grid_constant__ struct sampled_slab slab, T outside)
{
    const struct sampling &sampling = slab.sampling;
    const int64_t nx = sampling.n_out[2], ny = sampling.n_out[1], across = ts_cuda_parts(nx, WARP),
                  down = ts_cuda_parts(ny, HIGH * ROWS), part = blockIdx.x;
    const int64_t x = part % across * WARP + threadIdx.x,
                  first = part / across % down * (HIGH * ROWS) + threadIdx.y,
                  slice = part / across / down, z = slab.z_out + slice;
    const int64_t ny_in = sampling.n_in[1] + 2 * sampling.pad,
                  nx_in = sampling.n_in[2] + 2 * sampling.pad;
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
        } else if constexpr (KIND == INTERPOLATION_LABELS) {
            if (inside)
                value = label_of(in, taps, slab.z_in, ny_in, nx_in);
        } else if (inside) {
            const float sum = value_of<IN, TAPS<KIND>>(in, taps, slab.z_in, ny_in, nx_in);
            value = stored<T>(clipped(sampling, z, sum));
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
            const T nearest =
                sample_at(in, slab, taps[0].index[0], taps[1].index[0], taps[2].index[0]);
            find_all<KIND>(slab, at, taps);
            if (!is_complete<TAPS<KIND>>(slab, bits, taps)) {
                find_all<INTERPOLATION_LINEAR>(slab, at, taps);
                *here = KIND == INTERPOLATION_LABELS
                            ? nearest
                            : stored<T>(mean_of_valid(in, slab, bits, taps));
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

/* ---- coefficients ---------------------------------------------------------------------------- */

enum { FILTER_THREADS = 256 };

/* A pass along lines of n samples, of which `from` are in memory, from sample in_first on, `stride`
 * elements apart. It makes `count` coefficients of each, from out_first on. */
struct spline_line {
    int64_t slices, n, stride, from, count, out_first, in_first;
    int edge, radius;
};

/* `in` is [slices][from][stride], `out` [slices][count][stride]. */
template <typename T>
static __global__ void __launch_bounds__(FILTER_THREADS)
    filter(const T *in, float *out, const float *weights,
           const __grid_constant__ struct spline_line line)
{
    const int64_t at = (int64_t)blockIdx.x * FILTER_THREADS + threadIdx.x;
    if (at >= line.slices * line.count * line.stride)
        return;
    const int64_t inner = at % line.stride, i = at / line.stride % line.count + line.out_first,
                  slice = at / line.stride / line.count;
    const T *from = in + slice * line.from * line.stride + inner;
    float sum = 0;
    for (int k = line.radius; k > 0; k--) {
        const int64_t before = ts_edge_index(i - k, line.n, line.edge) - line.in_first,
                      after = ts_edge_index(i + k, line.n, line.edge) - line.in_first;
        sum += weights[k] * ((float)from[before * line.stride] + (float)from[after * line.stride]);
    }
    sum += weights[0] *
           (float)from[(ts_edge_index(i, line.n, line.edge) - line.in_first) * line.stride];
    out[at] = sum;
}

template <typename T>
static void launch_filter(const void *in, float *out, const float *weights,
                          const struct spline_line &line, cudaStream_t stream)
{
    const int64_t n = line.slices * line.count * line.stride;
    filter<T><<<(unsigned)ts_cuda_parts(n, FILTER_THREADS), FILTER_THREADS, 0, stream>>>(
        (const T *)in, out, weights, line);
}

static size_t coefficient_bytes(const struct sampling &sampling, int64_t n)
{
    const size_t count =
        (size_t)(ts_spline_slices(&sampling, n) * (sampling.n_in[1] + 2 * TAPS_PAD) *
                 (sampling.n_in[2] + 2 * TAPS_PAD));
    return ts_spline_is_needed(&sampling) ? (count * sizeof(float) + 255) / 256 * 256 : 0;
}

/* Makes the coefficients of slices [span.first, span.end), in the first of two buffers. */
static void make_coefficients(const struct sampling &sampling, const struct stage_slices &span,
                              const struct ts_image *in, float *first, float *second,
                              const struct cuda_call *call)
{
    const int64_t *n = sampling.n_in, slices = span.end - span.first;
    const float *weights[AXES] = {(const float *)call->constants};
    for (int d = 1; d < AXES; d++)
        weights[d] = weights[d - 1] + ts_spline_radius(&sampling, d - 1) + 1;
    struct spline_line line = {.slices = 1,
                               .n = n[0],
                               .stride = n[1] * n[2],
                               .from = 0,
                               .count = slices,
                               .out_first = span.first,
                               .in_first = in->z_first,
                               .edge = sampling.edge,
                               .radius = (int)ts_spline_radius(&sampling, 0)};
#define FILTER_Z(T) launch_filter<T>(in->data, first, weights[0], line, call->stream)
    TS_CUDA_DTYPES(in->dtype, FILTER_Z);
#undef FILTER_Z
    line.out_first = -TAPS_PAD;
    line.in_first = 0;
    line.slices = slices;
    line.n = line.from = n[1];
    line.count = n[1] + 2 * TAPS_PAD;
    line.stride = n[2];
    line.radius = (int)ts_spline_radius(&sampling, 1);
    launch_filter<float>(first, second, weights[1], line, call->stream);
    line.slices = slices * line.count;
    line.n = line.from = n[2];
    line.count = n[2] + 2 * TAPS_PAD;
    line.stride = 1;
    line.radius = (int)ts_spline_radius(&sampling, 2);
    launch_filter<float>(second, first, weights[2], line, call->stream);
}

size_t ts_cuda_sampling_constants_bytes(const struct sampling *sampling)
{
    size_t count = 0;
    for (int d = 0; d < AXES; d++)
        count += (size_t)ts_spline_radius(sampling, d) + 1;
    return ts_spline_is_needed(sampling) ? count * sizeof(float) : 0;
}

void ts_cuda_sampling_constants(const struct sampling *sampling, void *host)
{
    struct spline_kernels kernels;
    float *weights = (float *)host;
    if (!ts_spline_is_needed(sampling))
        return;
    for (int d = 0; d < AXES; d++) {
        kernels.radius[d] = ts_spline_radius(sampling, d);
        kernels.weights[d] = weights;
        weights += kernels.radius[d] + 1;
    }
    ts_spline_kernels(sampling, &kernels);
}

/* ---- the ranges of slices -------------------------------------------------------------------- */

static size_t partial_bytes(void)
{
    return ts_cuda_stride(sizeof(struct cuda_value_range));
}

static __global__ void copy_ranges(const char *partials, float *ranges, int64_t n, size_t stride,
                                   enum ts_dtype dtype)
{
    const int64_t i = (int64_t)blockIdx.x * FILTER_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const struct value_range range = ts_cuda_value_range_collect(
        (const struct cuda_value_range *)(partials + i * (int64_t)stride), dtype);
    ranges[2 * i] = range.n_finite ? (float)range.low : -INFINITY;
    ranges[2 * i + 1] = range.n_finite ? (float)range.high : INFINITY;
}

size_t ts_cuda_sampling_scratch(const struct sampling *sampling, int64_t n)
{
    const size_t slice = partial_bytes() + 2 * sizeof(float);
    return 2 * coefficient_bytes(*sampling, n) +
           (sampling->clips_slices ? (size_t)sampling->n_in[0] * slice : 0);
}

/* Finds the ranges of the slices of the slab, and returns where that of slice 0 is or would be. */
static enum ts_status find_ranges(const struct stage_context *context, const struct ts_image *in,
                                  char *scratch, const struct cuda_call *call, const float **ranges)
{
    const int64_t n = in->axes[0].n;
    float *found = (float *)(scratch + (size_t)n * partial_bytes());
    cudaMemsetAsync(scratch, 0, (size_t)n * partial_bytes(), call->stream);
    const enum ts_status status =
        ts_cuda_value_range_add(context, in, scratch, true, partial_bytes(), call);
    copy_ranges<<<(unsigned)ts_cuda_parts(n, FILTER_THREADS), FILTER_THREADS, 0, call->stream>>>(
        scratch, found, n, partial_bytes(), in->dtype);
    *ranges = found - 2 * in->z_first;
    return status;
}

/* ---- launching ------------------------------------------------------------------------------- */

template <typename IN, typename T, int KIND>
static void launch_sample(const struct sampled_slab &slab, const void *values,
                          const struct ts_image *out, cudaStream_t stream)
{
    const int64_t *n = slab.sampling.n_out;
    const unsigned blocks =
        (unsigned)(ts_cuda_parts(n[2], WARP) * ts_cuda_parts(n[1], HIGH * ROWS) * slab.n);
    const dim3 threads(WARP, HIGH);
    T outside;
    ts_constant_fill(&outside, out->dtype, slab.sampling.outside, 1);
    if (slab.aligned)
        sample<IN, T, KIND, true>
            <<<blocks, threads, 0, stream>>>((const IN *)values, (T *)out->data, slab, outside);
    else
        sample<IN, T, KIND, false>
            <<<blocks, threads, 0, stream>>>((const IN *)values, (T *)out->data, slab, outside);
}

template <typename T, int KIND>
static void samples_launch(const struct sampled_slab &slab, const struct ts_image *in,
                           const struct ts_image *out, cudaStream_t stream)
{
    launch_sample<T, T, KIND>(slab, in->data, out, stream);
    if (in->valid)
        launch_mend<T, KIND>(slab, in, out, stream);
}

/* Takes taps from coefficients; pixels of masked images are mended with the samples themselves. */
template <typename T, int KIND, int MENDED>
static void coefficients_launch(const struct sampled_slab &slab, const struct sampled_slab &plain,
                                const float *values, const struct ts_image *in,
                                const struct ts_image *out, cudaStream_t stream)
{
    launch_sample<float, T, KIND>(slab, values, out, stream);
    if (in->valid)
        launch_mend<T, MENDED>(plain, in, out, stream);
}

static enum ts_status from_coefficients(const struct stage_context *context,
                                        const struct sampled_slab &plain, const struct ts_image *in,
                                        const struct ts_image *out, const struct cuda_call *call)
{
    struct sampled_slab slab = plain;
    const struct stage_slices span =
        ts_sampling_span(&plain.sampling, out->z_first, out->z_first + out->axes[0].n);
    float *first = (float *)call->scratch,
          *second = first + coefficient_bytes(plain.sampling, out->axes[0].n) / sizeof(float);
    make_coefficients(plain.sampling, span, in, first, second, call);
    slab.sampling.pad = TAPS_PAD;
    slab.z_in = span.first + TAPS_PAD;
#define LINEAR(T)                                                                                  \
    coefficients_launch<T, INTERPOLATION_LINEAR, INTERPOLATION_LINEAR>(slab, plain, first, in,     \
                                                                       out, call->stream)
#define CUBIC(T)                                                                                   \
    coefficients_launch<T, INTERPOLATION_CUBIC, INTERPOLATION_CUBIC>(slab, plain, first, in, out,  \
                                                                     call->stream)
#define BSPLINE(T)                                                                                 \
    coefficients_launch<T, INTERPOLATION_BSPLINE3, INTERPOLATION_CUBIC>(slab, plain, first, in,    \
                                                                        out, call->stream)
    if (plain.sampling.interpolation == INTERPOLATION_LINEAR) {
        TS_CUDA_DTYPES(out->dtype, LINEAR);
    } else if (plain.sampling.interpolation == INTERPOLATION_CUBIC) {
        TS_CUDA_DTYPES(out->dtype, CUBIC);
    } else {
        TS_CUDA_DTYPES(out->dtype, BSPLINE);
    }
#undef LINEAR
#undef CUBIC
#undef BSPLINE
    return ts_cuda_launched(context, "sample");
}

enum ts_status ts_cuda_sampling(const struct stage_context *context,
                                const struct sampling *sampling, const struct ts_image *in,
                                const struct ts_image *out, const struct cuda_call *call)
{
    struct sampled_slab slab = {*sampling, in->z_first, out->z_first, out->axes[0].n,
                                ts_sampling_is_aligned(sampling)};
    if (sampling->clips_slices) {
        const enum ts_status status = find_ranges(
            context, in, (char *)call->scratch + 2 * coefficient_bytes(*sampling, out->axes[0].n),
            call, &slab.sampling.range);
        if (status != TS_OK)
            return status;
    }
    if (ts_spline_is_needed(sampling))
        return from_coefficients(context, slab, in, out, call);
#define NEAREST(T) samples_launch<T, INTERPOLATION_NEAREST>(slab, in, out, call->stream)
#define LINEAR(T) samples_launch<T, INTERPOLATION_LINEAR>(slab, in, out, call->stream)
#define CUBIC(T) samples_launch<T, INTERPOLATION_CUBIC>(slab, in, out, call->stream)
#define LABELS(T) samples_launch<T, INTERPOLATION_LABELS>(slab, in, out, call->stream)
    if (sampling->interpolation == INTERPOLATION_NEAREST) {
        TS_CUDA_WORDS(out->dtype, NEAREST);
    } else if (sampling->interpolation == INTERPOLATION_LINEAR) {
        TS_CUDA_DTYPES(out->dtype, LINEAR);
    } else if (sampling->interpolation == INTERPOLATION_LABELS) {
        TS_CUDA_DTYPES(out->dtype, LABELS);
    } else { /* a spline of an image on its own grid has the taps of a cubic */
        TS_CUDA_DTYPES(out->dtype, CUBIC);
    }
#undef NEAREST
#undef LINEAR
#undef CUBIC
#undef LABELS
    return ts_cuda_launched(context, "sample");
}
