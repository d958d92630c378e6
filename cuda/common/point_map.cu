/* SPDX-License-Identifier: Apache-2.0
 *
 * Point functions over a slab. Memory traffic: each value read once and written once, nothing else.
 *
 * 16- and 32-bit values: a thread maps groups of 16 bytes (of the wider of the two types), several of them in flight
 * before the first is used, and computes in double. 256 threads a block leave the registers for that.
 *
 * 8-bit values: a block works out the 256 results once and keeps them in shared memory once for every lane, word w of
 * lane l at w * 32 + l, so that no two lanes of a warp ever meet in a bank, whatever the image.
 */
#include "cuda/common/point_map.cuh"

#include <type_traits>

enum { THREADS = 256, LANES = 32, KEYS_8 = 256, WAVES = 4 };
/* POINT_LINEAR with the reciprocal of its divisor; a table in place of the function. */
enum { POINT_SCALED = POINT_SIGMOID + 1, POINT_LANES };

/* ---- one value --------------------------------------------------------------------------------- */

/* a / divisor, rounded once like the division itself: each step takes off what the last left of a (Markstein 1990).
 * Exact for divisors whose reciprocal keeps all its digits; see divides_by(). */
template <bool FINITE> static __device__ double point_quotient(double a, double divisor, double reciprocal)
{
    const double start = a * reciprocal;
    const double near = __fma_rn(__fma_rn(-divisor, start, a), reciprocal, start);
    const double quotient = __fma_rn(__fma_rn(-divisor, near, a), reciprocal, near);
    return FINITE || isfinite(start) ? quotient : start;
}

static __device__ bool divides_by(double divisor)
{
    return divisor > 0x1p-400 && divisor < 0x1p400;
}

template <int KIND, bool FINITE> static __device__ double point_value(double x, const struct point_function &f)
{
    if (KIND == POINT_REVERSE)
        return f.middle - x;
    if (KIND == POINT_SIGMOID)
        return f.span / (1 + exp(-4 * (x - f.middle) / f.divisor)) + f.base;
    const double part = KIND == POINT_SCALED ? point_quotient<FINITE>(x - f.middle, f.divisor, f.reciprocal)
                                             : (x - f.middle) / f.divisor;
    const double inside = (part + f.shift) * f.span + f.base;
    return x <= f.low ? f.below : x >= f.high ? f.above : inside;
}

static __device__ double point_value_of(double x, const struct point_function &f)
{
    return f.kind == POINT_REVERSE  ? point_value<POINT_REVERSE, true>(x, f)
           : f.kind == POINT_LINEAR ? point_value<POINT_LINEAR, true>(x, f)
                                    : point_value<POINT_SIGMOID, true>(x, f);
}

/* Conversions of double saturate, and round half to even; NaN becomes 0. */
template <typename Out> static __device__ Out point_store(double y)
{
    if constexpr (std::is_same<Out, float>::value) {
        return __double2float_rn(y);
    } else if constexpr (std::is_same<Out, uint32_t>::value) {
        return y == y ? __double2uint_rn(y) : 0;
    } else {
        const int whole = y == y ? __double2int_rn(y) : 0;
        if constexpr (sizeof(Out) < sizeof(int)) {
            const int lowest = std::is_signed<Out>::value ? -(1 << (8 * sizeof(Out) - 1)) : 0;
            return (Out)min(max(whole, lowest), lowest + (1 << (8 * sizeof(Out))) - 1);
        } else {
            return whole;
        }
    }
}

/* The bits of the result for one of the 8-bit values. */
static __device__ uint32_t point_bits(uint32_t key, enum ts_dtype in, enum ts_dtype out, const struct point_function &f)
{
    const double y = point_value_of(in == TS_I8 ? (double)(int8_t)key : (double)key, f);
    switch (out) {
    case TS_U8:
        return point_store<uint8_t>(y);
    case TS_I8:
        return (uint8_t)point_store<int8_t>(y);
    case TS_U16:
        return point_store<uint16_t>(y);
    default:
        return __float_as_uint(point_store<float>(y));
    }
}

/* ---- a slab ------------------------------------------------------------------------------------ */

/* How the slab is cut: blocks work on groups of one slice (or of the slab as one, where the slices do not matter). */
struct point_span {
    int64_t count;   /* values of a slice */
    int64_t phase;   /* of the first value within its aligned group; -1: groups are not aligned */
    unsigned blocks; /* of a slice */
    const void *numbers;
    size_t stride; /* between the numbers of slices */
};

static __device__ struct point_function fitted(struct point_function function, const struct point_span &span,
                                               int64_t slice)
{
    if (function.fit != POINT_FIT_NONE) {
        const double *numbers = (const double *)((const char *)span.numbers + slice * span.stride);
        ts_cuda_point_fit(&function, numbers[0], function.fit == POINT_FIT_MIDDLE ? 0 : numbers[1]);
    }
    function.reciprocal = 1 / function.divisor;
    return function;
}

template <int BYTES> struct point_word;
template <> struct point_word<4> {
    typedef uint32_t type;
};
template <> struct point_word<8> {
    typedef uint2 type;
};
template <> struct point_word<16> {
    typedef uint4 type;
};

/* As many values as make 16 bytes of the wider type, and as many groups in flight as make 64 bytes of input, but at
 * most 8. */
template <typename In, typename Out> struct point_group {
    enum { N = 16 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out)), FLIGHT = N * sizeof(In) == 16 ? 4 : 8 };
    union input {
        typename point_word<N * sizeof(In)>::type word;
        In values[N];
    };
    union output {
        typename point_word<N * sizeof(Out)>::type word;
        Out values[N];
    };
};

/* One value by the function, or by the table at `own` (POINT_LANES). */
template <typename In, typename Out, int KIND>
static __device__ Out map_value(In value, const struct point_function &f, const char *own)
{
    if constexpr (KIND == POINT_LANES) {
        enum { PER_WORD = 4 / sizeof(Out) };
        return *(const Out *)(own + value / PER_WORD * (LANES * 4) + value % PER_WORD * sizeof(Out));
    } else {
        return point_store<Out>(point_value<KIND, !std::is_same<In, float>::value>((double)value, f));
    }
}

/* Maps the block's groups of a slice. */
template <typename In, typename Out, int KIND>
static __device__ void map_groups(const In *in, Out *out, const struct point_span &span, const struct point_function &f,
                                  const char *own)
{
    typedef struct point_group<In, Out> group;
    const int64_t slice = blockIdx.x / span.blocks, block = blockIdx.x % span.blocks;
    const int64_t phase = span.phase < 0 ? 0 : (span.phase + slice * span.count) % group::N;
    const int64_t n_groups = (span.count + phase + group::N - 1) / group::N;
    in += slice * span.count - phase;
    out += slice * span.count - phase;
    for (int64_t first = block * (THREADS * group::FLIGHT); first < n_groups;
         first += (int64_t)span.blocks * (THREADS * group::FLIGHT)) {
        typename group::input from[group::FLIGHT];
#pragma unroll
        for (int i = 0; i < group::FLIGHT; i++) {
            const int64_t at = (first + i * THREADS + threadIdx.x) * group::N;
            if (span.phase >= 0 && at >= phase && at + group::N <= span.count + phase)
                from[i].word = *(decltype(from[i].word) *)(in + at);
        }
#pragma unroll
        for (int i = 0; i < group::FLIGHT; i++) {
            const int64_t at = (first + i * THREADS + threadIdx.x) * group::N;
            if (span.phase >= 0 && at >= phase && at + group::N <= span.count + phase) {
                typename group::output to;
#pragma unroll
                for (int j = 0; j < group::N; j++)
                    to.values[j] = map_value<In, Out, KIND>(from[i].values[j], f, own);
                *(decltype(to.word) *)(out + at) = to.word;
            } else {
                for (int64_t j = at < phase ? phase : at; j < at + group::N && j < span.count + phase; j++)
                    out[j] = map_value<In, Out, KIND>(in[j], f, own);
            }
        }
    }
}

template <typename In, typename Out, int KIND>
static __global__ void __launch_bounds__(THREADS)
    map_computed(const In *in, Out *out, struct point_span span, struct point_function function)
{
    const struct point_function f = fitted(function, span, blockIdx.x / span.blocks);
    if (KIND == POINT_LINEAR && divides_by(f.divisor))
        map_groups<In, Out, POINT_SCALED>(in, out, span, f, NULL);
    else
        map_groups<In, Out, KIND>(in, out, span, f, NULL);
}

/* Bits is an unsigned type as wide as the result. */
template <typename Bits>
static __global__ void __launch_bounds__(THREADS)
    map_lanes(const uint8_t *in, Bits *out, struct point_span span, struct point_function function,
              enum ts_dtype in_dtype, enum ts_dtype out_dtype)
{
    enum { PER_WORD = 4 / sizeof(Bits), WORDS = KEYS_8 / PER_WORD };
    __shared__ Bits keys[KEYS_8];
    __shared__ uint32_t lanes[WORDS * LANES];
    const struct point_function f = fitted(function, span, blockIdx.x / span.blocks);
    for (int key = threadIdx.x; key < KEYS_8; key += THREADS)
        keys[key] = (Bits)point_bits(key, in_dtype, out_dtype, f);
    __syncthreads();
    for (int i = threadIdx.x; i < WORDS * LANES; i += THREADS) {
        uint32_t word = 0;
        for (int j = 0; j < PER_WORD; j++)
            word |= (uint32_t)keys[i / LANES * PER_WORD + j] << (8 * sizeof(Bits) * j);
        lanes[i] = word;
    }
    __syncthreads();
    map_groups<uint8_t, Bits, POINT_LANES>(in, out, span, f, (const char *)(lanes + threadIdx.x % LANES));
}

/* ---- launch ------------------------------------------------------------------------------------ */

struct point_job {
    const struct stage_context *context;
    const struct ts_image *in, *out;
    const struct point_function *function;
    const struct cuda_call *call;
    struct point_span span;
    int64_t n_slices;
};

/* Aligned groups, where both images have them at the same values, and blocks for a few waves. */
template <typename In, typename Out> static void cut(struct point_job *job)
{
    typedef struct point_group<In, Out> group;
    const int64_t from = (int64_t)((uintptr_t)job->in->data / sizeof(In) % group::N);
    const int64_t to = (int64_t)((uintptr_t)job->out->data / sizeof(Out) % group::N);
    const struct cuda_device *device = job->context->device;
    const int64_t work = ts_cuda_parts(job->span.count + group::N, (int64_t)THREADS * group::FLIGHT * group::N);
    const int64_t resident = (int64_t)device->multiprocessors * (device->threads / THREADS) * WAVES;
    const int64_t most = ts_cuda_parts(resident, job->n_slices);
    job->span.phase = from == to ? from : -1;
    job->span.blocks = (unsigned)(work < most ? work : most);
}

template <typename In, typename Out> static void launch_computed(struct point_job *job)
{
    cut<In, Out>(job);
    const In *in = (const In *)job->in->data;
    Out *out = (Out *)job->out->data;
    const unsigned blocks = (unsigned)job->n_slices * job->span.blocks;
    if constexpr (std::is_same<In, Out>::value)
        if (job->function->kind == POINT_REVERSE)
            map_computed<In, Out, POINT_REVERSE>
                <<<blocks, THREADS, 0, job->call->stream>>>(in, out, job->span, *job->function);
    if constexpr (std::is_unsigned<Out>::value && sizeof(Out) <= 2 || std::is_same<Out, float>::value) {
        if (job->function->kind == POINT_LINEAR)
            map_computed<In, Out, POINT_LINEAR>
                <<<blocks, THREADS, 0, job->call->stream>>>(in, out, job->span, *job->function);
        if (job->function->kind == POINT_SIGMOID)
            map_computed<In, Out, POINT_SIGMOID>
                <<<blocks, THREADS, 0, job->call->stream>>>(in, out, job->span, *job->function);
    }
}

template <typename Bits> static void launch_lanes(struct point_job *job)
{
    cut<uint8_t, Bits>(job);
    map_lanes<Bits><<<(unsigned)job->n_slices * job->span.blocks, THREADS, 0, job->call->stream>>>(
        (const uint8_t *)job->in->data, (Bits *)job->out->data, job->span, *job->function, job->in->dtype,
        job->out->dtype);
}

/* The stages' results are f32, u8 or u16, or of the type of the image where the function turns it over. */
template <typename In> static void launch_wide(struct point_job *job)
{
    if (job->out->dtype == TS_F32)
        launch_computed<In, float>(job);
    else if (job->out->dtype == TS_U8)
        launch_computed<In, uint8_t>(job);
    else if (job->out->dtype == TS_U16)
        launch_computed<In, uint16_t>(job);
    else if constexpr (!std::is_same<In, float>::value && !std::is_same<In, uint16_t>::value)
        launch_computed<In, In>(job);
}

enum ts_status ts_cuda_point_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                 const struct point_function *function, bool per_slice, size_t result_bytes,
                                 const struct cuda_call *call)
{
    struct point_job job = {.context = context, .in = in, .out = out, .function = function, .call = call};
    job.n_slices = per_slice ? out->axes[0].n : 1;
    job.span.count = (int64_t)(per_slice ? ts_slice_count(out) : ts_image_count(out));
    job.span.numbers = call->result;
    job.span.stride = per_slice ? ts_cuda_stride(result_bytes) : 0;
    switch (in->dtype) {
    case TS_U8:
    case TS_I8:
        if (ts_dtype_bytes(out->dtype) == 1)
            launch_lanes<uint8_t>(&job);
        else if (ts_dtype_bytes(out->dtype) == 2)
            launch_lanes<uint16_t>(&job);
        else
            launch_lanes<uint32_t>(&job);
        break;
    case TS_U16:
        launch_wide<uint16_t>(&job);
        break;
    case TS_I16:
        launch_wide<int16_t>(&job);
        break;
    case TS_U32:
        launch_wide<uint32_t>(&job);
        break;
    case TS_I32:
        launch_wide<int32_t>(&job);
        break;
    default:
        launch_wide<float>(&job);
    }
    return ts_cuda_launched(context, "map_values");
}
