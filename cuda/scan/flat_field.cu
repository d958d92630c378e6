/* SPDX-License-Identifier: Apache-2.0
 *
 * flat_field on a CUDA device: t = (counts - dark) * (1 / (flat - dark)), by the operations of the
 * CPU code.
 *
 * A slab takes six launches. `calibrate`: a thread combines the frames of one detector pixel;
 * neighbors read neighbors. A median is found bit by bit in keys that order as the values do, so
 * that frames are only read, once for each bit. `zingers`: a block compares the frames of a slice.
 * `stand_in`: a block finds replacements for the dead pixels of a slice, which are few.
 * `bad_columns`: a block goes down the detector pixels of a slice until they vary, which is soon.
 * `divide`: a thread takes one column of detector pixels down VIEWS views with its dark and gain in
 * registers, UNROLL values in flight: it moves 2 + 4 bytes for a 16-bit value; for a dead pixel it
 * moves those of the pixel that replaces it. A block is 128 threads, so that short rows leave few
 * idle. `pile`: a block counts the values at full scale, of the few slices whose largest value is
 * one.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/flat_checks.h"
#include "stages/scan/flat_field.h"
}

#include "cuda/values/value_at.cuh"
#include "cuda/values/value_keys.cuh"

enum { THREADS = 128, VIEWS = 64, UNROLL = 8, NEAREST_THREADS = 256 };

/* ---- frames to one --------------------------------------------------------------------------- */

struct frames {
    const void *data; /* NULL: all values are 0 */
    enum ts_dtype dtype;
    int64_t n;
    const uint64_t *valid; /* NULL: all pixels are valid */
    int64_t valid_words;   /* words of a slice's bits */
    double largest;        /* largest value of the type; NaN for floats */
};

static __device__ double value_at(const struct frames &frames, int64_t i)
{
    return ts_cuda_value_at(frames.data, frames.dtype, i);
}

/* Signed integers are increased by 2^31 and become unsigned; all keys have 32 bits. */
static __device__ uint32_t key_at(const struct frames &frames, int64_t i)
{
    if (frames.dtype == TS_F32)
        return ts_cuda_order_key(((const float *)frames.data)[i]);
    return frames.dtype == TS_U32 ? ((const uint32_t *)frames.data)[i]
                                  : ts_cuda_order_key((int32_t)value_at(frames, i));
}

static __device__ double value_of_key(const struct frames &frames, uint32_t key)
{
    if (frames.dtype == TS_U32)
        return key;
    if (frames.dtype == TS_F32)
        return (double)__uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key);
    return (int32_t)(key ^ 0x80000000u);
}

static __device__ double mean(const struct frames &frames, int64_t at, int64_t step)
{
    double sum = 0;
    for (int64_t frame = 0; frame < frames.n; frame++)
        sum += value_at(frames, at + frame * step);
    return sum / (double)frames.n;
}

static __device__ double median(const struct frames &frames, int64_t at, int64_t step)
{
    const int64_t k = (frames.n - 1) / 2;
    uint32_t lower = 0, upper = 0xFFFFFFFFu;
    int64_t up_to = 0;
    for (int64_t frame = 0; frames.dtype == TS_F32 && frame < frames.n; frame++)
        if (isnan(value_at(frames, at + frame * step)))
            return NAN;
    for (int bit = 31; bit >= 0; bit--) {
        const uint32_t candidate = lower | 1u << bit;
        int64_t below = 0;
        for (int64_t frame = 0; frame < frames.n; frame++)
            below += key_at(frames, at + frame * step) < candidate;
        lower = below <= k ? candidate : lower;
    }
    for (int64_t frame = 0; frame < frames.n; frame++) {
        const uint32_t key = key_at(frames, at + frame * step);
        up_to += key <= lower;
        upper = key > lower && key < upper ? key : upper;
    }
    if (frames.n % 2 || up_to > frames.n / 2)
        return value_of_key(frames, lower);
    return 0.5 * (value_of_key(frames, lower) + value_of_key(frames, upper));
}

/* The bits of the valid pixels of the projections; NULL: all pixels are valid. */
struct mask {
    const uint64_t *valid;
    int64_t words; /* words of a slice's bits */
};

/* Returns true for a valid pixel i of slice z. */
static __device__ bool is_valid(const struct mask &mask, int64_t z, int64_t i)
{
    return !mask.valid || (mask.valid[z * mask.words + i / 64] >> i % 64 & 1);
}

struct pixels {
    float *offset, *gain; /* (slice, detector); the gain of a dead pixel is NaN */
    int32_t *source;      /* the pixel whose transmission a pixel gets */
    float *spreads, *means, *limits[2];
    unsigned char *varies;
    unsigned int *largest; /* of each slice, as the bits of a float */
};

/* Most values are not larger than one that was seen before, so they need no atomic. An infinite
 * value is the largest, as in the CPU code. */
static __device__ void keep_largest(unsigned int *largest, float value)
{
    if (value > 0 && __float_as_uint(value) > *(volatile unsigned int *)largest)
        atomicMax(largest, __float_as_uint(value));
}

/* Returns true if the pixel is invalid in one of the frames. */
static __device__ bool is_left_out(const struct frames &frames, int64_t n_detectors, int64_t z,
                                   int64_t d)
{
    for (int64_t frame = 0; frames.valid && frame < frames.n; frame++) {
        const int64_t i = frame * n_detectors + d;
        if (!(frames.valid[z * frames.valid_words + i / 64] >> i % 64 & 1))
            return true;
    }
    return false;
}

static __device__ void count_largest(const struct frames &frames, int64_t at, int64_t step,
                                     unsigned long long *sum)
{
    unsigned long long count = 0;
    for (int64_t frame = 0; !isnan(frames.largest) && frame < frames.n; frame++)
        count += value_at(frames, at + frame * step) == frames.largest;
    if (count > 0)
        atomicAdd(sum, count);
}

static __device__ void calibrate_pixel(const struct frames &flats, const struct frames &darks,
                                       int64_t n_detectors, bool take_median, int64_t z, int64_t d,
                                       const struct pixels &pixels, const struct mask &mask,
                                       unsigned long long *saturated)
{
    const int64_t i = z * n_detectors + d;
    const int64_t flat_at = z * flats.n * n_detectors + d, dark_at = z * darks.n * n_detectors + d;
    const double flat =
        take_median ? median(flats, flat_at, n_detectors) : mean(flats, flat_at, n_detectors);
    const double dark = !darks.data   ? 0
                        : take_median ? median(darks, dark_at, n_detectors)
                                      : mean(darks, dark_at, n_detectors);
    const float gain = (float)(1 / (flat - dark));
    pixels.offset[i] = (float)dark;
    const bool left_out =
        is_left_out(flats, n_detectors, z, d) || is_left_out(darks, n_detectors, z, d);
    pixels.gain[i] = gain > 0 && gain < INFINITY && !left_out ? gain : NAN;
    if (!is_valid(mask, z, d)) /* flats have the mask of the first view */
        return;
    count_largest(flats, flat_at, n_detectors, &saturated[z]);
    for (int64_t frame = 0; frame < flats.n; frame++)
        keep_largest(&pixels.largest[z], (float)value_at(flats, flat_at + frame * n_detectors));
}

static __global__ void __launch_bounds__(THREADS)
    calibrate(struct frames flats, struct frames darks, int64_t nz, int64_t n_detectors,
              bool take_median, struct pixels pixels, struct mask mask,
              unsigned long long *saturated)
{
    const int64_t d = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    for (int64_t z = blockIdx.y; d < n_detectors && z < nz; z += gridDim.y)
        calibrate_pixel(flats, darks, n_detectors, take_median, z, d, pixels, mask, saturated);
}

/* ---- frames that differ ---------------------------------------------------------------------- */

/* Returns the lower median of n non-negative numbers, bit by bit. All threads of the block call
 * it. */
static __device__ float median_of_row(const float *values, int64_t n)
{
    unsigned int lower = 0;
    __shared__ unsigned long long below;
    for (int bit = 31; bit >= 0; bit--) {
        const unsigned int candidate = lower | 1u << bit;
        unsigned long long own = 0;
        if (threadIdx.x == 0)
            below = 0;
        __syncthreads();
        for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS)
            own += __float_as_uint(ts_flat_positive(values[d])) < candidate;
        if (own > 0)
            atomicAdd(&below, own);
        __syncthreads();
        lower = below <= (unsigned long long)((n - 1) / 2) ? candidate : lower;
        __syncthreads();
    }
    return __uint_as_float(lower);
}

static __device__ void look_at_pixel(const struct frames &frames, int64_t at, int64_t step,
                                     int64_t i, const struct pixels &pixels, float *lowest_of)
{
    float lowest = 0, highest = 0, sum = 0;
    for (int64_t frame = 0; frame < frames.n; frame++) {
        const float value = (float)value_at(frames, at + frame * step);
        lowest = frame == 0 || value < lowest ? value : lowest;
        highest = frame == 0 || value > highest ? value : highest;
        sum = frame == 0 ? value : sum + value;
    }
    pixels.spreads[i] = highest - lowest;
    pixels.means[i] = sum / (float)frames.n;
    lowest_of[i] = lowest;
}

/* Writes the limits of one slice, and adds its number of zingers. */
static __device__ void find_zingers(const struct frames &frames, int64_t n, int64_t z,
                                    const struct pixels &pixels, float *limits,
                                    unsigned long long *count)
{
    for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS)
        look_at_pixel(frames, z * frames.n * n + d, n, z * n + d, pixels, limits);
    __syncthreads();
    const float spread = median_of_row(pixels.spreads + z * n, n),
                mean = median_of_row(pixels.means + z * n, n);
    for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS) {
        const int64_t i = z * n + d;
        const float limit = ts_flat_limit(spread, mean, pixels.means[i], frames.n);
        const bool zinger =
            frames.n > 1 && ts_flat_is_zinger(pixels.spreads[i], limit, pixels.gain[i], frames.n);
        limits[i] = zinger ? limits[i] + limit : INFINITY;
        if (zinger)
            atomicAdd(count, 1ull);
    }
    __syncthreads();
}

static __device__ double mean_below(const struct frames &frames, int64_t at, int64_t step,
                                    float limit)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t frame = 0; frame < frames.n; frame++) {
        const double value = value_at(frames, at + frame * step);
        if ((float)value <= limit) {
            sum += value;
            n++;
        }
    }
    return sum / (double)n;
}

/* The two flags say whether flats and darks are examined. */
static __global__ void __launch_bounds__(NEAREST_THREADS)
    zingers(struct frames flats, struct frames darks, bool looks_at_flats, bool looks_at_darks,
            bool clean, int64_t n, struct pixels pixels, uint64_t *table)
{
    const int64_t z = blockIdx.x;
    __shared__ unsigned long long count;
    if (threadIdx.x == 0)
        count = 0;
    for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS)
        pixels.limits[0][z * n + d] = pixels.limits[1][z * n + d] = INFINITY;
    __syncthreads();
    if (looks_at_flats)
        find_zingers(flats, n, z, pixels, pixels.limits[0], &count);
    if (looks_at_darks)
        find_zingers(darks, n, z, pixels, pixels.limits[1], &count);
    if (threadIdx.x == 0)
        table[z] = count;
    for (int64_t d = threadIdx.x; clean && d < n; d += NEAREST_THREADS) {
        const int64_t i = z * n + d;
        if (pixels.limits[0][i] == INFINITY && pixels.limits[1][i] == INFINITY)
            continue;
        const double dark =
            darks.data ? mean_below(darks, z * darks.n * n + d, n, pixels.limits[1][i]) : 0;
        const float gain =
            (float)(1 / (mean_below(flats, z * flats.n * n + d, n, pixels.limits[0][i]) - dark));
        pixels.offset[i] = (float)dark;
        pixels.gain[i] = gain > 0 && gain < INFINITY ? gain : NAN;
    }
}

/* ---- dead pixels ----------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(NEAREST_THREADS)
    stand_in(int64_t n, bool nearest, struct pixels pixels, uint64_t *n_dead)
{
    const float *gain = pixels.gain + blockIdx.x * n;
    __shared__ unsigned long long dead;
    if (threadIdx.x == 0)
        dead = 0;
    __syncthreads();
    for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS) {
        int64_t left = d, right = d, source = d;
        if (isnan(gain[d])) {
            atomicAdd(&dead, 1ull);
            while (nearest && left >= 0 && isnan(gain[left]))
                left--;
            while (nearest && right < n && isnan(gain[right]))
                right++;
            if (left >= 0 || right < n)
                source = right >= n || (left >= 0 && d - left <= right - d) ? left : right;
        }
        pixels.source[blockIdx.x * n + d] = (int32_t)source;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        n_dead[blockIdx.x] = dead;
}

/* ---- the map --------------------------------------------------------------------------------- */

/* Returns the largest value of an integer type. */
template <typename T> static __device__ long long largest_of_type()
{
    return (1ll << (8 * sizeof(T) - (std::is_signed<T>::value ? 1 : 0))) - 1;
}

template <typename T> static __device__ bool is_largest(T value)
{
    return std::is_integral<T>::value && (long long)value == largest_of_type<T>();
}

/* Counts the valid values of one column and finds the largest: for a dead pixel, whose values are
 * not read otherwise, or for a column with a mask. */
template <typename T>
static __device__ int count_column(const T *in, int64_t n_views, int64_t n_detectors, int64_t z,
                                   int64_t d, const struct mask &mask, float *largest)
{
    int count = 0;
    *largest = 0;
    for (int64_t first = (int64_t)blockIdx.z * VIEWS; first < n_views;
         first += (int64_t)gridDim.z * VIEWS)
        for (int64_t view = first; view < first + VIEWS && view < n_views; view++) {
            const T value = in[(z * n_views + view) * n_detectors + d];
            if (!is_valid(mask, z, view * n_detectors + d))
                continue;
            count += is_largest(value);
            *largest = (float)value > *largest ? (float)value : *largest;
        }
    return count;
}

template <typename T>
static __device__ void divide_column(const T *in, float *out, int64_t n_views, int64_t n_detectors,
                                     int64_t z, int64_t d, const struct pixels &pixels,
                                     const struct mask &mask, unsigned long long *saturated)
{
    const int64_t source = pixels.source[z * n_detectors + d];
    int count = 0;
    float largest = 0;
    const float offset = pixels.offset[z * n_detectors + source],
                gain = pixels.gain[z * n_detectors + source];
    for (int64_t first = (int64_t)blockIdx.z * VIEWS; first < n_views;
         first += (int64_t)gridDim.z * VIEWS) {
        const int64_t end = first + VIEWS < n_views ? first + VIEWS : n_views;
        const T *from = in + (z * n_views + first) * n_detectors + source;
        float *to = out + (z * n_views + first) * n_detectors + d;
        int64_t view = first;
        for (; view + UNROLL <= end;
             view += UNROLL, from += UNROLL * n_detectors, to += UNROLL * n_detectors) {
            T counts[UNROLL];
#pragma unroll
            for (int i = 0; i < UNROLL; i++)
                counts[i] = from[i * n_detectors];
#pragma unroll
            for (int i = 0; i < UNROLL; i++) {
                to[i * n_detectors] = ((float)counts[i] - offset) * gain;
                count += is_largest(counts[i]);
                largest = (float)counts[i] > largest ? (float)counts[i] : largest;
            }
        }
        for (; view < end; view++, from += n_detectors, to += n_detectors) {
            *to = ((float)*from - offset) * gain;
            count += is_largest(*from);
            largest = (float)*from > largest ? (float)*from : largest;
        }
    }
    if (source != d || mask.valid)
        count = count_column(in, n_views, n_detectors, z, d, mask, &largest);
    keep_largest(&pixels.largest[z], largest);
    if (count > 0)
        atomicAdd(&saturated[z], (unsigned long long)count);
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    divide(const T *in, float *out, int64_t nz, int64_t n_views, int64_t n_detectors,
           struct pixels pixels, struct mask mask, unsigned long long *saturated)
{
    const int64_t d = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    for (int64_t z = blockIdx.y; d < n_detectors && z < nz; z += gridDim.y)
        divide_column(in, out, n_views, n_detectors, z, d, pixels, mask, saturated);
}

/* ---- detector pixels that are stuck ---------------------------------------------------------- */

template <typename T> static __device__ bool differs(T a, T b)
{
    return a != b;
}

/* A NaN is the same as a NaN with the same bits, as in the CPU code. */
template <> __device__ bool differs(float a, float b)
{
    return __float_as_uint(a) != __float_as_uint(b);
}

template <typename T>
static __device__ bool varies_from_first(const T *in, int64_t n_views, int64_t n, int64_t z,
                                         int64_t d, const struct mask &mask)
{
    const T *at = in + z * n_views * n + d;
    if (n_views < BAD_LEAST_VIEWS || !is_valid(mask, z, d))
        return true;
    for (int64_t view = 1; view < n_views; view++)
        if (differs(at[view * n], at[0]))
            return true;
    return false;
}

template <typename T>
static __device__ bool transmission_stands_out(const T *in, int64_t n_views, int64_t n, int64_t z,
                                               int64_t d, const struct pixels &pixels)
{
    struct flat_near near = ts_flat_near(n, d);
    for (int64_t view = 0; view < n_views; view++)
        for (int64_t i = 0; i < near.n; i++) {
            const int64_t at = near.first + i;
            const float transmission =
                ((float)in[(z * n_views + view) * n + at] - pixels.offset[z * n + at]) *
                pixels.gain[z * n + at];
            if (fabsf(transmission) <= FLT_MAX)
                ts_bad_column_add(&near.columns[i], transmission);
        }
    return ts_flat_stands_out(&near);
}

template <typename T>
static __device__ float transmission_at(const T *counts, const float *offset, const float *gain,
                                        int64_t d)
{
    return ((float)counts[d] - offset[d]) * gain[d];
}

/* Does what widen() of stages/scan/flat_checks.c does. */
template <typename T>
static __device__ void flat_field_widen(const T *counts, const float *offset, const float *gain,
                                        int64_t n, int *first, int *last)
{
    const bool noiseless =
        (*first > 0 && !ts_flat_is_stuck(false, transmission_at(counts, offset, gain, 0))) ||
        (*last < n - 1 && !ts_flat_is_stuck(false, transmission_at(counts, offset, gain, n - 1)));
    if (!noiseless || *first > *last)
        return;
    while (*first > 0 && ts_flat_gets_thinner(transmission_at(counts, offset, gain, *first),
                                              transmission_at(counts, offset, gain, *first - 1)))
        --*first;
    while (*last < n - 1 && ts_flat_gets_thinner(transmission_at(counts, offset, gain, *last),
                                                 transmission_at(counts, offset, gain, *last + 1)))
        ++*last;
}

/* Counts the stuck and the uneven detector pixels of one slice in each block. */
template <typename T>
static __global__ void __launch_bounds__(NEAREST_THREADS)
    bad_columns(const T *in, int64_t n_views, int64_t n, bool count_dead, struct pixels pixels,
                struct mask mask, uint64_t *stuck, uint64_t *uneven)
{
    const int64_t z = blockIdx.x;
    const float *gain = pixels.gain + z * n, *offset = pixels.offset + z * n;
    unsigned char *varies = pixels.varies + z * n;
    __shared__ int first, last, low, high;
    __shared__ unsigned long long n_stuck, n_uneven;
    const T *counts = in + z * n_views * n; /* counts of the first view */
    if (threadIdx.x == 0) {
        first = INT32_MAX;
        last = -1;
        n_stuck = n_uneven = 0;
    }
    __syncthreads();
    for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS) {
        varies[d] = varies_from_first(in, n_views, n, z, d, mask);
        if (varies[d]) {
            atomicMin(&first, (int)d);
            atomicMax(&last, (int)d);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        low = first;
        high = last;
        flat_field_widen(counts, offset, gain, n, &low, &high);
    }
    __syncthreads();
    for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS) {
        const bool inside = d > first && d < last, thin = d >= low && d <= high && !inside;
        if (varies[d] || thin ||
            !ts_flat_is_stuck(inside, transmission_at(counts, offset, gain, d)))
            varies[d] = 1;
        else if (count_dead || !isnan(gain[d]))
            atomicAdd(&n_stuck, 1ull);
    }
    __syncthreads();
    for (int64_t d = threadIdx.x; d < n; d += NEAREST_THREADS)
        if (ts_flat_gain_stands_out(gain, varies, n, d) &&
            transmission_stands_out(in, n_views, n, z, d, pixels))
            atomicAdd(&n_uneven, 1ull);
    __syncthreads();
    if (threadIdx.x == 0) {
        stuck[z] = n_stuck;
        uneven[z] = n_uneven;
    }
}

/* ---- full scale ------------------------------------------------------------------------------ */

template <typename T>
static __global__ void __launch_bounds__(NEAREST_THREADS)
    pile(const T *in, struct frames flats, int64_t n_views, int64_t n, struct pixels pixels,
         struct mask mask, uint64_t *piled, double *full_scale)
{
    const int64_t z = blockIdx.x;
    const float largest = __uint_as_float(pixels.largest[z]);
    const float step = std::is_integral<T>::value && (double)largest == largest_of_type<T>()
                           ? 0
                           : ts_flat_full_scale_step(largest);
    __shared__ unsigned long long at, below;
    if (threadIdx.x == 0)
        at = below = 0;
    __syncthreads();
    unsigned long long own_at = 0, own_below = 0;
    for (int64_t i = threadIdx.x; step > 0 && i < n_views * n; i += NEAREST_THREADS) {
        const float value = (float)in[z * n_views * n + i];
        own_at += value == largest && is_valid(mask, z, i);
        own_below += value == largest - step && is_valid(mask, z, i);
    }
    for (int64_t i = threadIdx.x; step > 0 && i < flats.n * n; i += NEAREST_THREADS) {
        const float value = (float)value_at(flats, z * flats.n * n + i);
        own_at += value == largest && is_valid(mask, z, i % n);
        own_below += value == largest - step && is_valid(mask, z, i % n);
    }
    if (own_at > 0)
        atomicAdd(&at, own_at);
    if (own_below > 0)
        atomicAdd(&below, own_below);
    __syncthreads();
    if (threadIdx.x == 0) {
        piled[z] = ts_flat_is_piled(at, below) ? at : 0;
        full_scale[z] = ts_flat_is_piled(at, below) ? largest : 0;
    }
}

static size_t pixels_bytes(const struct stage_context *context, int64_t n)
{
    return ts_cuda_stride((size_t)(n * context->in.axes[2].n) * sizeof(float));
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    return 8 * pixels_bytes(context, n) + ts_cuda_stride((size_t)n * sizeof(unsigned int));
}

static struct frames frames_of(const struct stage_context *context, const struct ts_image *in,
                               int input)
{
    struct frames frames = {NULL, TS_U8, 0, NULL, 0, NAN};
    double low;
    if (context->references[input - 1]) {
        frames.data = in[input].data;
        frames.dtype = in[input].dtype;
        frames.n = in[input].axes[1].n;
        frames.valid = in[input].valid;
        frames.valid_words = (int64_t)(ts_valid_bytes(&in[input]) / sizeof(uint64_t));
        if (ts_dtype_is_integer(frames.dtype))
            ts_dtype_range(frames.dtype, &low, &frames.largest);
    }
    return frames;
}

static struct pixels pixels_of(const struct stage_context *context, int64_t nz, char *scratch)
{
    const size_t bytes = pixels_bytes(context, nz);
    struct pixels pixels;
    pixels.offset = (float *)scratch;
    pixels.gain = (float *)(scratch + bytes);
    pixels.source = (int32_t *)(scratch + 2 * bytes);
    pixels.spreads = (float *)(scratch + 3 * bytes);
    pixels.means = (float *)(scratch + 4 * bytes);
    pixels.limits[0] = (float *)(scratch + 5 * bytes);
    pixels.limits[1] = (float *)(scratch + 6 * bytes);
    pixels.varies = (unsigned char *)(scratch + 7 * bytes);
    pixels.largest = (unsigned int *)(scratch + 8 * bytes);
    return pixels;
}

/* Finds offset and gain of each detector pixel, and what is wrong with the frames. */
static enum ts_status calibrate_slab(const struct stage_context *context, const struct ts_image *in,
                                     int64_t nz, const struct pixels &pixels,
                                     const struct mask &mask, cudaStream_t stream)
{
    const struct flat_field_params *params = (const struct flat_field_params *)context->params;
    const int64_t n = context->in.axes[2].n, most = 65535 /* limit of blocks along y of a grid */;
    const dim3 columns((unsigned)ts_cuda_parts(n, THREADS), (unsigned)(nz < most ? nz : most));
    const struct frames flats = frames_of(context, in, FLAT_FIELD_FLATS),
                        darks = frames_of(context, in, FLAT_FIELD_DARKS);
    const bool median = params->combine == COMBINE_MEDIAN;
    calibrate<<<columns, THREADS, 0, stream>>>(
        flats, darks, nz, n, median, pixels, mask,
        (unsigned long long *)context->tables[TABLE_SATURATED].data);
    const enum ts_status status = ts_cuda_launched(context, "calibrate");
    if (status != TS_OK)
        return status;
    zingers<<<(unsigned)nz, NEAREST_THREADS, 0, stream>>>(
        flats, darks, !median || flats.n < 3, darks.data && (!median || darks.n < 3),
        params->combine == COMBINE_CLEAN, n, pixels,
        (uint64_t *)context->tables[TABLE_ZINGERS].data);
    return ts_cuda_launched(context, "zingers");
}

static enum ts_status flat_field_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call)
{
    const struct flat_field_params *params = (const struct flat_field_params *)context->params;
    const int64_t nz = out->axes[0].n, n_views = out->axes[1].n, n = out->axes[2].n;
    const int64_t most = 65535 /* limit of blocks along y and z of a grid */,
                  groups = ts_cuda_parts(n_views, VIEWS);
    const struct pixels pixels = pixels_of(context, nz, (char *)call->scratch);
    const struct mask mask = {in->valid, (int64_t)(ts_valid_bytes(in) / sizeof(uint64_t))};
    unsigned long long *saturated = (unsigned long long *)context->tables[TABLE_SATURATED].data;
    if (cudaMemsetAsync(saturated, 0, (size_t)nz * sizeof *saturated, call->stream) !=
            cudaSuccess ||
        cudaMemsetAsync(pixels.largest, 0, (size_t)nz * sizeof *pixels.largest, call->stream) !=
            cudaSuccess)
        return ts_cuda_launched(context, "memset");
    enum ts_status status = calibrate_slab(context, in, nz, pixels, mask, call->stream);
    if (status != TS_OK)
        return status;
    stand_in<<<(unsigned)nz, NEAREST_THREADS, 0, call->stream>>>(
        n, params->dead == DEAD_NEAREST, pixels, (uint64_t *)context->tables[TABLE_DEAD].data);
    status = ts_cuda_launched(context, "stand in");
    if (status != TS_OK)
        return status;
    const dim3 grid((unsigned)ts_cuda_parts(n, THREADS), (unsigned)(nz < most ? nz : most),
                    (unsigned)(groups < most ? groups : most));
    const struct frames flats = frames_of(context, in, FLAT_FIELD_FLATS);
#define DIVIDE(type)                                                                               \
    bad_columns<type><<<(unsigned)nz, NEAREST_THREADS, 0, call->stream>>>(                         \
        (const type *)in->data, n_views, n, params->dead == DEAD_NEAREST, pixels, mask,            \
        (uint64_t *)context->tables[TABLE_STUCK].data,                                             \
        (uint64_t *)context->tables[TABLE_UNEVEN].data);                                           \
    divide<type><<<grid, THREADS, 0, call->stream>>>((const type *)in->data, (float *)out->data,   \
                                                     nz, n_views, n, pixels, mask, saturated);     \
    pile<type><<<(unsigned)nz, NEAREST_THREADS, 0, call->stream>>>(                                \
        (const type *)in->data, flats, n_views, n, pixels, mask,                                   \
        (uint64_t *)context->tables[TABLE_PILED].data,                                             \
        (double *)context->tables[TABLE_FULL_SCALE].data)
    TS_CUDA_DTYPES(in->dtype, DIVIDE)
#undef DIVIDE
    return ts_cuda_launched(context, "divide");
}

const struct stage_cuda flat_field_cuda = {.scratch_bytes = scratch_bytes, .map = flat_field_map};
