/* SPDX-License-Identifier: Apache-2.0
 *
 * flat_field on a CUDA device: t = (counts - dark) * (1 / (flat - dark)), by the operations of the CPU code.
 *
 * A slab takes three launches. `calibrate`: a thread combines the frames of one detector pixel; neighbors read
 * neighbors. A median is found bit by bit in keys that order as the values do, so that frames are only read, once for
 * each bit. `stand_in`: a block looks through the dead pixels of a slice, which are few. `divide`: a thread takes one
 * column of detector pixels down VIEWS views with its dark and gain in registers, UNROLL values in flight: 2 + 4 bytes
 * move a 16-bit value, and for a dead pixel the values of the pixel that stands in for it. A block is 128 threads, so
 * that short rows leave few idle.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/flat_field.h"
}

#include "cuda/values/value_at.cuh"
#include "cuda/values/value_keys.cuh"

enum { THREADS = 128, VIEWS = 64, UNROLL = 8, NEAREST_THREADS = 256 };

/* ---- frames to one ----------------------------------------------------------------------------- */

struct frames {
    const void *data; /* NULL: all 0 */
    enum ts_dtype dtype;
    int64_t n;
    const uint64_t *valid; /* NULL: all are */
    int64_t valid_words;   /* of a slice */
    double largest;        /* value of the type; NaN for floats */
};

static __device__ double value_at(const struct frames &frames, int64_t i)
{
    return ts_cuda_value_at(frames.data, frames.dtype, i);
}

/* Signed integers move up by 2^31 before they are taken for unsigned ones; all keys have 32 bits. */
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

/* The bits of the valid pixels of the projections; NULL: all are. */
struct mask {
    const uint64_t *valid;
    int64_t words; /* of a slice */
};

/* Returns true for a valid pixel i of slice z. */
static __device__ bool is_valid(const struct mask &mask, int64_t z, int64_t i)
{
    return !mask.valid || (mask.valid[z * mask.words + i / 64] >> i % 64 & 1);
}

struct pixels {
    float *offset, *gain; /* (slice, detector); gain NaN: dead */
    int32_t *source;      /* the pixel whose transmission it has */
};

/* Returns true where the pixel is invalid in one of the frames. */
static __device__ bool is_left_out(const struct frames &frames, int64_t n_detectors, int64_t z, int64_t d)
{
    for (int64_t frame = 0; frames.valid && frame < frames.n; frame++) {
        const int64_t i = frame * n_detectors + d;
        if (!(frames.valid[z * frames.valid_words + i / 64] >> i % 64 & 1))
            return true;
    }
    return false;
}

static __device__ void count_largest(const struct frames &frames, int64_t at, int64_t step, unsigned long long *sum)
{
    unsigned long long count = 0;
    for (int64_t frame = 0; !isnan(frames.largest) && frame < frames.n; frame++)
        count += value_at(frames, at + frame * step) == frames.largest;
    if (count > 0)
        atomicAdd(sum, count);
}

static __device__ void calibrate_pixel(const struct frames &flats, const struct frames &darks, int64_t n_detectors,
                                       bool take_median, int64_t z, int64_t d, const struct pixels &pixels,
                                       const struct mask &mask, unsigned long long *saturated)
{
    const int64_t i = z * n_detectors + d;
    const int64_t flat_at = z * flats.n * n_detectors + d, dark_at = z * darks.n * n_detectors + d;
    const double flat = take_median ? median(flats, flat_at, n_detectors) : mean(flats, flat_at, n_detectors);
    const double dark = !darks.data   ? 0
                        : take_median ? median(darks, dark_at, n_detectors)
                                      : mean(darks, dark_at, n_detectors);
    const float gain = (float)(1 / (flat - dark));
    pixels.offset[i] = (float)dark;
    const bool left_out = is_left_out(flats, n_detectors, z, d) || is_left_out(darks, n_detectors, z, d);
    pixels.gain[i] = gain > 0 && gain < INFINITY && !left_out ? gain : NAN;
    if (is_valid(mask, z, d)) /* flats have the mask of the first view */
        count_largest(flats, flat_at, n_detectors, &saturated[z]);
}

static __global__ void __launch_bounds__(THREADS)
    calibrate(struct frames flats, struct frames darks, int64_t nz, int64_t n_detectors, bool take_median,
              struct pixels pixels, struct mask mask, unsigned long long *saturated)
{
    const int64_t d = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    for (int64_t z = blockIdx.y; d < n_detectors && z < nz; z += gridDim.y)
        calibrate_pixel(flats, darks, n_detectors, take_median, z, d, pixels, mask, saturated);
}

/* ---- dead pixels ------------------------------------------------------------------------------- */

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

/* ---- the map ----------------------------------------------------------------------------------- */

/* Returns true for the largest value of an integer type. */
template <typename T> static __device__ bool is_largest(T value)
{
    const long long largest = (1ll << (8 * sizeof(T) - (std::is_signed<T>::value ? 1 : 0))) - 1;
    return std::is_integral<T>::value && (long long)value == largest;
}

/* Counts the valid values of one column: of a dead pixel, which is read for nothing else, or one with a mask. */
template <typename T>
static __device__ int count_column(const T *in, int64_t n_views, int64_t n_detectors, int64_t z, int64_t d,
                                   const struct mask &mask)
{
    int count = 0;
    for (int64_t first = (int64_t)blockIdx.z * VIEWS; first < n_views; first += (int64_t)gridDim.z * VIEWS)
        for (int64_t view = first; view < first + VIEWS && view < n_views; view++)
            count +=
                is_largest(in[(z * n_views + view) * n_detectors + d]) && is_valid(mask, z, view * n_detectors + d);
    return count;
}

template <typename T>
static __device__ void divide_column(const T *in, float *out, int64_t n_views, int64_t n_detectors, int64_t z,
                                     int64_t d, const struct pixels &pixels, const struct mask &mask,
                                     unsigned long long *saturated)
{
    const int64_t source = pixels.source[z * n_detectors + d];
    int count = 0;
    const float offset = pixels.offset[z * n_detectors + source], gain = pixels.gain[z * n_detectors + source];
    for (int64_t first = (int64_t)blockIdx.z * VIEWS; first < n_views; first += (int64_t)gridDim.z * VIEWS) {
        const int64_t end = first + VIEWS < n_views ? first + VIEWS : n_views;
        const T *from = in + (z * n_views + first) * n_detectors + source;
        float *to = out + (z * n_views + first) * n_detectors + d;
        int64_t view = first;
        for (; view + UNROLL <= end; view += UNROLL, from += UNROLL * n_detectors, to += UNROLL * n_detectors) {
            T counts[UNROLL];
#pragma unroll
            for (int i = 0; i < UNROLL; i++)
                counts[i] = from[i * n_detectors];
#pragma unroll
            for (int i = 0; i < UNROLL; i++) {
                to[i * n_detectors] = ((float)counts[i] - offset) * gain;
                count += is_largest(counts[i]);
            }
        }
        for (; view < end; view++, from += n_detectors, to += n_detectors) {
            *to = ((float)*from - offset) * gain;
            count += is_largest(*from);
        }
    }
    if (source != d || (count > 0 && mask.valid))
        count = count_column(in, n_views, n_detectors, z, d, mask);
    if (count > 0)
        atomicAdd(&saturated[z], (unsigned long long)count);
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    divide(const T *in, float *out, int64_t nz, int64_t n_views, int64_t n_detectors, struct pixels pixels,
           struct mask mask, unsigned long long *saturated)
{
    const int64_t d = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    for (int64_t z = blockIdx.y; d < n_detectors && z < nz; z += gridDim.y)
        divide_column(in, out, n_views, n_detectors, z, d, pixels, mask, saturated);
}

static size_t pixels_bytes(const struct stage_context *context, int64_t n)
{
    return ts_cuda_stride((size_t)(n * context->in.axes[2].n) * sizeof(float));
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    return 3 * pixels_bytes(context, n);
}

static struct frames frames_of(const struct stage_context *context, const struct ts_image *in, int input)
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

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct flat_field_params *params = (const struct flat_field_params *)context->params;
    const int64_t nz = out->axes[0].n, n_views = out->axes[1].n, n = out->axes[2].n;
    const int64_t most = 65535 /* blocks along y and z of a grid */, groups = ts_cuda_parts(n_views, VIEWS);
    char *scratch = (char *)call->scratch;
    const struct pixels pixels = {(float *)scratch, (float *)(scratch + pixels_bytes(context, nz)),
                                  (int32_t *)(scratch + 2 * pixels_bytes(context, nz))};
    const struct mask mask = {in->valid, (int64_t)(ts_valid_bytes(in) / sizeof(uint64_t))};
    const dim3 columns((unsigned)ts_cuda_parts(n, THREADS), (unsigned)(nz < most ? nz : most));
    unsigned long long *saturated = (unsigned long long *)context->tables[1].data;
    if (cudaMemsetAsync(saturated, 0, (size_t)nz * sizeof *saturated, call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "memset");
    calibrate<<<columns, THREADS, 0, call->stream>>>(frames_of(context, in, FLAT_FIELD_FLATS),
                                                     frames_of(context, in, FLAT_FIELD_DARKS), nz, n,
                                                     params->combine == COMBINE_MEDIAN, pixels, mask, saturated);
    enum ts_status status = ts_cuda_launched(context, "calibrate");
    if (status != TS_OK)
        return status;
    stand_in<<<(unsigned)nz, NEAREST_THREADS, 0, call->stream>>>(n, params->dead == DEAD_NEAREST, pixels,
                                                                 (uint64_t *)context->tables[0].data);
    status = ts_cuda_launched(context, "stand in");
    if (status != TS_OK)
        return status;
    const dim3 grid(columns.x, columns.y, (unsigned)(groups < most ? groups : most));
#define DIVIDE(type)                                                                                                   \
    divide<type><<<grid, THREADS, 0, call->stream>>>((const type *)in->data, (float *)out->data, nz, n_views, n,       \
                                                     pixels, mask, saturated)
    TS_CUDA_DTYPES(in->dtype, DIVIDE)
#undef DIVIDE
    return ts_cuda_launched(context, "divide");
}

const struct stage_cuda flat_field_cuda = {.scratch_bytes = scratch_bytes, .map = map};
