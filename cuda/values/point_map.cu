/* SPDX-License-Identifier: Apache-2.0
 *
 * This applies point functions to a slab. Memory traffic: each value is read once and written once.
 *
 * 16- and 32-bit values: a thread maps groups of 16 bytes (of the wider of the two types), several
 * of them in flight before the first is used, and computes in double. 256 threads a block leave
 * enough registers for that.
 *
 * 8-bit values: a block computes the 256 results once and keeps a copy of them in shared memory for
 * every lane, word w of lane l at w * 32 + l, so that lanes never use the same bank, whatever the
 * image.
 *
 * 16-bit values, if the function takes longer than memory (a sigmoid, or any function if doubles
 * are slow): a table of all 65,536 results is made first. Blocks of 1,024 threads, one on each
 * multiprocessor, bring it into shared memory; if it does not fit, it is read through the cache,
 * which holds the part that an image uses.
 */
#include "cuda/values/point_map.cuh"

enum { THREADS = 256, TABLE_THREADS = 1024, LANES = 32, KEYS_8 = 256, KEYS_16 = 65536, WAVES = 4 };
/* More kinds beside enum point_kind: a table that replaces the function, with a copy for every lane
 * or only one copy; and a bit for a function that multiplies by the reciprocal of its divisor. */
enum { POINT_LANES = POINT_SIGMOID + 1, POINT_TABLE, POINT_BY_RECIPROCAL = 8 };

/* ---- one value ------------------------------------------------------------------------------- */

/* Returns a / divisor, rounded once as the division itself is: each step subtracts from a what the
 * last one has found (Markstein 1990). It is exact for divisors whose reciprocal keeps all its
 * digits; see divides_by(). */
template <bool FINITE>
static __device__ double point_quotient(double a, double divisor, double reciprocal)
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

template <int KIND, bool FINITE>
static __device__ double point_value(double x, const struct point_function &f)
{
    if (KIND == POINT_REVERSE)
        return f.middle - x;
    const bool sigmoid = (KIND & ~POINT_BY_RECIPROCAL) == POINT_SIGMOID;
    const double offset = sigmoid ? -4 * (x - f.middle) : x - f.middle;
    const double part = KIND & POINT_BY_RECIPROCAL
                            ? point_quotient<FINITE>(offset, f.divisor, f.reciprocal)
                            : offset / f.divisor;
    if (sigmoid)
        return f.span / (1 + exp(part)) + f.base;
    const double inside = (part + f.shift) * f.span + f.base;
    return x <= f.low ? f.below : x >= f.high ? f.above : inside;
}

static __device__ double point_value_of(double x, const struct point_function &f)
{
    return f.kind == POINT_REVERSE  ? point_value<POINT_REVERSE, true>(x, f)
           : f.kind == POINT_LINEAR ? point_value<POINT_LINEAR, true>(x, f)
                                    : point_value<POINT_SIGMOID, true>(x, f);
}

/* Converts between 8- or 16-bit integers and doubles by adding to a double whose lowest digit is 1,
 * because conversion instructions take the double units four times as long. The extra instructions
 * only pay if the function has very few (MAGIC). */
template <typename In, bool MAGIC> static __device__ double point_load(In x)
{
    const int unit = 0x43300000; /* upper half of the bits of 2^52 */
    if constexpr (!MAGIC || std::is_same<In, float>::value)
        return (double)x;
    else if constexpr (std::is_signed<In>::value)
        return __hiloint2double(unit, (int)x ^ INT32_MIN) - (0x1p52 + 0x1p31);
    else
        return __hiloint2double(unit, (int)x) - 0x1p52;
}

/* Rounds half to even. Values beyond int (beyond +-2^30 with MAGIC) become the nearer end of int;
 * NaN becomes 0. */
template <bool MAGIC> static __device__ int point_round(double y)
{
    if (!MAGIC)
        return y == y ? __double2int_rn(y) : 0;
    const int high = __double2hiint(y), magnitude = high & INT32_MAX;
    const int whole = __double2loint(y + 0x1.8p52);
    if (magnitude < 0x41D00000)
        return whole;
    return magnitude > 0x7FF00000 ? 0 : high < 0 ? INT32_MIN : INT32_MAX;
}

/* The hardware's conversion of doubles saturates and rounds half to even. */
template <typename Out, bool MAGIC> static __device__ Out point_store(double y)
{
    if constexpr (std::is_same<Out, float>::value) {
        return __double2float_rn(y);
    } else if constexpr (std::is_same<Out, uint32_t>::value) {
        return y == y ? __double2uint_rn(y) : 0;
    } else if constexpr (std::is_same<Out, int32_t>::value) {
        return y == y ? __double2int_rn(y) : 0;
    } else {
        const int lowest = std::is_signed<Out>::value ? -(1 << (8 * sizeof(Out) - 1)) : 0;
        return (Out)min(max(point_round<MAGIC>(y), lowest), lowest + (1 << (8 * sizeof(Out))) - 1);
    }
}

/* Returns the bits of the result for the bits of an 8- or 16-bit value. */
static __device__ uint32_t point_bits(uint32_t key, enum ts_dtype in, enum ts_dtype out,
                                      const struct point_function &f)
{
    const double x = in == TS_I8    ? (double)(int8_t)key
                     : in == TS_I16 ? (double)(int16_t)key
                                    : (double)key;
    const double y = point_value_of(x, f);
    switch (out) {
    case TS_U8:
        return point_store<uint8_t, false>(y);
    case TS_I8:
        return (uint8_t)point_store<int8_t, false>(y);
    case TS_U16:
        return point_store<uint16_t, false>(y);
    case TS_I16:
        return (uint16_t)point_store<int16_t, false>(y);
    default:
        return __float_as_uint(point_store<float, false>(y));
    }
}

/* ---- a slab ---------------------------------------------------------------------------------- */

/* How a slab is cut: blocks work on groups of one slice (or of the slab as one, if it does not
 * matter which slice a value is in). */
struct point_span {
    int64_t count;   /* values of a slice */
    int64_t phase;   /* place of the first value in its aligned group; -1: groups are not aligned */
    unsigned blocks; /* blocks of a slice */
    const void *numbers;
    size_t stride; /* bytes between the numbers of slices */
};

static __device__ struct point_function fitted(struct point_function function,
                                               const struct point_span &span, int64_t slice)
{
    if (function.fit != POINT_FIT_NONE) {
        const double *numbers = (const double *)((const char *)span.numbers + slice * span.stride);
        ts_cuda_point_fit(&function, numbers[0], function.fit == POINT_FIT_MIDDLE ? 0 : numbers[1]);
    }
    function.reciprocal = 1 / function.divisor;
    return function;
}

/* A group has as many values as make 16 bytes of the wider type. FLIGHT groups make 64 bytes of
 * input, but are at most 8. */
template <typename In, typename Out> struct point_group {
    enum {
        N = 16 / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out)),
        FLIGHT = N * sizeof(In) == 16 ? 4 : 8
    };
    union input {
        cuda_word<N * sizeof(In)> word;
        In values[N];
    };
    union output {
        cuda_word<N * sizeof(Out)> word;
        Out values[N];
    };
};

/* Maps one value by the function, or by the table at `own`. */
template <typename In, typename Out, int KIND>
static __device__ Out map_value(In value, const struct point_function &f, const char *own)
{
    if constexpr (KIND == POINT_LANES) {
        enum { PER_WORD = 4 / sizeof(Out) };
        return *(const Out *)(own + value / PER_WORD * (LANES * 4) +
                              value % PER_WORD * sizeof(Out));
    } else if constexpr (KIND == POINT_TABLE) {
        return ((const Out *)own)[value];
    } else {
        constexpr bool magic = KIND == POINT_REVERSE, finite = !std::is_same<In, float>::value;
        return point_store<Out, magic>(point_value<KIND, finite>(point_load<In, magic>(value), f));
    }
}

/* Maps the block's groups of a slice. */
template <typename In, typename Out, int KIND>
static __device__ void map_groups(const In *in, Out *out, const struct point_span &span,
                                  const struct point_function &f, const char *own)
{
    typedef struct point_group<In, Out> group;
    enum { FLIGHT = KIND == POINT_TABLE ? 8 : group::FLIGHT };
    const int threads = KIND == POINT_TABLE ? TABLE_THREADS : THREADS;
    const int64_t slice = blockIdx.x / span.blocks, block = blockIdx.x % span.blocks;
    const int64_t phase = span.phase < 0 ? 0 : (span.phase + slice * span.count) % group::N;
    const int64_t n_groups = (span.count + phase + group::N - 1) / group::N;
    in += slice * span.count - phase;
    out += slice * span.count - phase;
    for (int64_t first = block * (threads * FLIGHT); first < n_groups;
         first += (int64_t)span.blocks * (threads * FLIGHT)) {
        typename group::input from[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = (first + i * threads + threadIdx.x) * group::N;
            if (span.phase >= 0 && at >= phase && at + group::N <= span.count + phase)
                from[i].word = *(decltype(from[i].word) *)(in + at);
        }
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = (first + i * threads + threadIdx.x) * group::N;
            if (span.phase >= 0 && at >= phase && at + group::N <= span.count + phase) {
                typename group::output to;
#pragma unroll
                for (int j = 0; j < group::N; j++)
                    to.values[j] = map_value<In, Out, KIND>(from[i].values[j], f, own);
                *(decltype(to.word) *)(out + at) = to.word;
            } else {
                for (int64_t j = at < phase ? phase : at;
                     j < at + group::N && j < span.count + phase; j++)
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
    if (KIND != POINT_REVERSE && divides_by(f.divisor))
        map_groups<In, Out, KIND | POINT_BY_RECIPROCAL>(in, out, span, f, NULL);
    else
        map_groups<In, Out, KIND>(in, out, span, f, NULL);
}

/* Bits is the unsigned type of the result's width. */
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
    map_groups<uint8_t, Bits, POINT_LANES>(in, out, span, f,
                                           (const char *)(lanes + threadIdx.x % LANES));
}

/* Makes the table; a thread makes one entry. */
template <typename Bits>
static __global__ void __launch_bounds__(THREADS)
    make_table(Bits *table, struct point_span span, struct point_function function,
               enum ts_dtype in_dtype, enum ts_dtype out_dtype)
{
    const uint32_t key = blockIdx.x * THREADS + threadIdx.x;
    table[key] = (Bits)point_bits(key, in_dtype, out_dtype, fitted(function, span, 0));
}

template <typename Bits, bool SHARED>
static __global__ void __launch_bounds__(TABLE_THREADS, 1)
    map_table(const uint16_t *in, Bits *out, struct point_span span, const uint4 *table)
{
    extern __shared__ uint4 shared[];
    const struct point_function unused = {};
    if (SHARED) {
        for (int i = threadIdx.x; i < KEYS_16 * (int)sizeof(Bits) / (int)sizeof(uint4);
             i += TABLE_THREADS)
            shared[i] = table[i];
        __syncthreads();
    }
    map_groups<uint16_t, Bits, POINT_TABLE>(in, out, span, unused,
                                            (const char *)(SHARED ? shared : table));
}

/* ---- launch ---------------------------------------------------------------------------------- */

struct point_job {
    const struct stage_context *context;
    const struct ts_image *in, *out;
    const struct point_function *function;
    const struct cuda_call *call;
    struct point_span span;
    int64_t n_slices;
};

/* Cuts the values into aligned groups, if both images are aligned at the same values, and into
 * blocks for a few waves. */
template <typename In, typename Out> static void cut(struct point_job *job)
{
    typedef struct point_group<In, Out> group;
    const int64_t from = (int64_t)((uintptr_t)job->in->data / sizeof(In) % group::N);
    const int64_t to = (int64_t)((uintptr_t)job->out->data / sizeof(Out) % group::N);
    const int64_t work =
        ts_cuda_parts(job->span.count + group::N, (int64_t)THREADS * group::FLIGHT * group::N);
    const int64_t most =
        ts_cuda_parts(ts_cuda_blocks_at_once(job->context, THREADS) * WAVES, job->n_slices);
    job->span.phase = from == to ? from : -1;
    job->span.blocks = (unsigned)(work < most ? work : most);
}

template <typename In, typename Out> static void launch_computed(struct point_job *job)
{
    const enum point_kind kind = job->function->kind;
    void (*kernel)(const In *, Out *, struct point_span, struct point_function) = NULL;
    if constexpr (std::is_same<In, Out>::value)
        kernel = map_computed<In, Out, POINT_REVERSE>;
    if constexpr (std::is_unsigned<Out>::value && sizeof(Out) <= 2 ||
                  std::is_same<Out, float>::value)
        if (kind != POINT_REVERSE)
            kernel = kind == POINT_LINEAR ? map_computed<In, Out, POINT_LINEAR>
                                          : map_computed<In, Out, POINT_SIGMOID>;
    cut<In, Out>(job);
    kernel<<<(unsigned)job->n_slices * job->span.blocks, THREADS, 0, job->call->stream>>>(
        (const In *)job->in->data, (Out *)job->out->data, job->span, *job->function);
}

template <typename Bits> static void launch_lanes(struct point_job *job)
{
    cut<uint8_t, Bits>(job);
    map_lanes<Bits><<<(unsigned)job->n_slices * job->span.blocks, THREADS, 0, job->call->stream>>>(
        (const uint8_t *)job->in->data, (Bits *)job->out->data, job->span, *job->function,
        job->in->dtype, job->out->dtype);
}

/* Returns true if a table pays, which it does from a few million values on. */
static bool wants_table(const struct point_job *job)
{
    return ts_dtype_bytes(job->in->dtype) == 2 && job->n_slices == 1 &&
           job->span.count >= 32 * KEYS_16 &&
           (job->function->kind == POINT_SIGMOID || !ts_cuda_fast_doubles(job->context) ||
            (job->function->kind == POINT_LINEAR && job->out->dtype != TS_F32));
}

template <typename Bits> static enum ts_status launch_table(struct point_job *job)
{
    const struct stage_context *context = job->context;
    const size_t bytes = KEYS_16 * sizeof(Bits);
    const bool shared = bytes <= (size_t)context->device->block_shared_bytes;
    const uint16_t *in = (const uint16_t *)job->in->data;
    const uint4 *table = (const uint4 *)job->call->scratch;
    Bits *out = (Bits *)job->out->data;
    cut<uint16_t, Bits>(job);
    job->span.blocks = (unsigned)context->device->multiprocessors * (shared ? 1 : 2);
    make_table<Bits><<<KEYS_16 / THREADS, THREADS, 0, job->call->stream>>>(
        (Bits *)job->call->scratch, job->span, *job->function, job->in->dtype, job->out->dtype);
    enum ts_status status = ts_cuda_launched(context, "make_table");
    if (status == TS_OK && shared)
        status = ts_cuda_shared(context, (const void *)map_table<Bits, true>, bytes);
    if (status != TS_OK)
        return status;
    if (shared)
        map_table<Bits, true><<<job->span.blocks, TABLE_THREADS, bytes, job->call->stream>>>(
            in, out, job->span, table);
    else
        map_table<Bits, false>
            <<<job->span.blocks, TABLE_THREADS, 0, job->call->stream>>>(in, out, job->span, table);
    return TS_OK;
}

size_t ts_cuda_point_scratch(const struct stage_context *context, int64_t n)
{
    (void)n;
    return ts_dtype_bytes(context->in.dtype) == 2 ? KEYS_16 * ts_dtype_bytes(context->out.dtype)
                                                  : 0;
}

/* The results of stages are f32, u8 or u16, or of the image's own type if the function reverses
 * it. */
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

static void launch_values(struct point_job *job)
{
#define LANES_OF(Bits) launch_lanes<Bits>(job)
    switch (job->in->dtype) {
    case TS_U8:
        TS_CUDA_CASE(TS_I8, TS_CUDA_WORDS(job->out->dtype, LANES_OF))
        TS_CUDA_CASE(TS_U16, launch_wide<uint16_t>(job))
        TS_CUDA_CASE(TS_I16, launch_wide<int16_t>(job))
        TS_CUDA_CASE(TS_U32, launch_wide<uint32_t>(job))
        TS_CUDA_CASE(TS_I32, launch_wide<int32_t>(job))
    default:
        launch_wide<float>(job);
    }
#undef LANES_OF
}

enum ts_status ts_cuda_point_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct point_function *function,
                                 bool per_slice, size_t result_bytes, const struct cuda_call *call)
{
    struct point_job job = {
        .context = context, .in = in, .out = out, .function = function, .call = call};
    job.n_slices = per_slice ? out->axes[0].n : 1;
    job.span.count = (int64_t)(per_slice ? ts_slice_count(out) : ts_image_count(out));
    job.span.numbers = call->result;
    job.span.stride = per_slice ? ts_cuda_stride(result_bytes) : 0;
    enum ts_status status = TS_OK;
#define TABLE_OF(Bits) status = launch_table<Bits>(&job)
    if (wants_table(&job))
        TS_CUDA_WORDS(out->dtype, TABLE_OF)
    else
        launch_values(&job);
#undef TABLE_OF
    return status == TS_OK ? ts_cuda_launched(context, "map_values") : status;
}
