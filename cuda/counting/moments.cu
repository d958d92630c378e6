/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes count, sum, sum of squared deviations, product, smallest and largest of the finite
 * values of every slice, in double.
 *
 * two-level: a thread takes a run of about the square root of the slice's size (at most RUN_MOST
 * values), 16 values at a time, and the block's threads read side by side; it sums the differences
 * from the mean of the run's first 16 values, and their squares. The runs of a block are joined in
 * a tree, and a second kernel joins the blocks' results. fan-in: a thread starts with two single
 * values, 512 apart in a tile of 1,024, and all are joined in a tree of depth log2(n).
 *
 * One pass is enough: with the center c the mean of k of a run's n values, (c - mean)^2 <= S/k,
 * where S is the sum of squared deviations; so sum (v - c)^2 = S + n (c - mean)^2 <= S (1 + n/k) =
 * 17 S for n = 256 and k = 16, and subtracting n (c - mean)^2 again loses less than 17 (n + 2)
 * 2^-53 < 5e-13 of S. Runs are joined by Chan, Golub and LeVeque (1983), with means kept as center
 * + offset, so that only small differences are rounded.
 *
 * Memory traffic: 4 bytes read a pixel. A value takes about 15 instructions, 4 of them in double.
 * 128 threads a block and 8 blocks a multiprocessor leave 64 registers a thread, which keep the
 * sums and 64 bytes of loads in flight, and while one block joins its runs the others read.
 * docs/notes/statistics.md has measurements of other shapes.
 */
#include "cuda/counting/moments.cuh"

#include "cuda/values/fan_in.cuh"
#include "cuda/values/value_keys.cuh"

extern "C" {
#include "stages/counting/percentile.h"
}

/* ---- moments run -------------------------------------------------------------------------------
 *
 * This computes the moments of one thread's run of values, 16 at a time, and joins the moments of
 * runs. The head of this file says why it is exact enough. */

enum { GROUP = 16 }; /* values that a thread takes at a time: 4 vectors */

template <typename type>
using sum_of = typename std::conditional<std::is_same<type, float>::value, double, uint64_t>::type;

/* The sum of floats is a double; that of integers is exact modulo 2^64. The struct has 11 words of
 * 8 bytes, an odd number, so that neighbors in shared memory are in different banks. */
template <typename sum_type> struct cuda_moments {
    double center, offset, deviations; /* mean = center + offset; deviations is the sum of (v -
                                        * mean)^2 */
    double product; /* product of the finite values other than zero is product * 2^exponent;
                     * |product| is in [1, 2) */
    sum_type sum;
    int64_t exponent;
    uint64_t n, n_zero, n_nan, n_infinite; /* n counts the finite values */
    uint32_t low, high;                    /* order keys of the lowest and the highest value */
};

/* ---- one run --------------------------------------------------------------------------------- */

template <typename type> struct run {
    double center, sum, squares, product;
    uint64_t whole_sum; /* exact sum of integers */
    int32_t exponent;
    uint32_t n, n_zero, n_nan, n_infinite;
    type low, high;
};

/* Moves the power of two in *product to *exponent. */
template <typename count_type>
static __device__ void normalize(double *product, count_type *exponent)
{
    const int high = __double2hiint(*product);
    *exponent += (high >> 20 & 0x7FF) - 1023;
    *product = __hiloint2double((high & (int)0x800FFFFF) | 0x3FF00000, __double2loint(*product));
}

/* Returns a finite value, or 1 for zero, to be multiplied. */
static __device__ double factor(double value, bool is_zero)
{
    return __hiloint2double(is_zero ? 0x3FF00000 : __double2hiint(value), __double2loint(value));
}

template <typename type> static __device__ void widen(struct run<type> *run, type value)
{
    if constexpr (std::is_same<type, float>::value) {
        run->low = fminf(run->low, value);
        run->high = fmaxf(run->high, value);
    } else {
        run->low = min(run->low, value);
        run->high = max(run->high, value);
        run->whole_sum += (uint64_t)(int64_t)value;
    }
}

template <typename type> static __device__ double add(struct run<type> *run, type value)
{
    const double exact = (double)value, difference = exact - run->center;
    const bool is_zero = value == 0;
    run->sum += difference;
    run->squares = __fma_rn(difference, difference, run->squares);
    run->n_zero += is_zero;
    widen(run, value);
    return factor(exact, is_zero);
}

/* Returns a value of the type near the mean. Floats and integers of up to 32 bits are exact in
 * double. */
template <typename type> static __device__ double center_of(double mean)
{
    return std::is_same<type, float>::value ? (double)(float)mean : rint(mean);
}

/* Adds values that are all present and finite. Products of four of them are between 2^-596 and
 * 2^512. */
template <typename type>
static __device__ void add_all(struct run<type> *run, const type values[GROUP])
{
    if (run->n == 0) {
        double sum = 0;
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            sum += (double)values[i];
        run->center = center_of<type>(sum * (1.0 / GROUP));
    }
#pragma unroll
    for (int i = 0; i < GROUP; i += 4) {
        double product = add(run, values[i]);
        product *= add(run, values[i + 1]);
        product *= add(run, values[i + 2]);
        product *= add(run, values[i + 3]);
        run->product *= product;
        normalize(&run->product, &run->exponent);
    }
    run->n += GROUP;
}

/* Adds the values that are present: bit i of `present` is set for value i. */
template <typename type>
static __device__ void add_some(struct run<type> *run, const type values[GROUP], unsigned present)
{
    unsigned finite = 0;
    double sum = 0;
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        if (!(present >> i & 1))
            continue;
        if (ts_cuda_is_finite(values[i])) {
            finite |= 1u << i;
            sum += (double)values[i];
        } else if (values[i] != values[i]) {
            run->n_nan++;
        } else {
            run->n_infinite++;
        }
    }
    if (run->n == 0 && finite)
        run->center = center_of<type>(sum / __popc(finite));
#pragma unroll
    for (int i = 0; i < GROUP; i++)
        if (finite >> i & 1) {
            run->product *= add(run, values[i]);
            normalize(&run->product, &run->exponent);
        }
    run->n += (uint32_t)__popc(finite);
}

template <typename type> static __device__ bool all_finite(const type values[GROUP])
{
    float zero = 0;
    if constexpr (std::is_same<type, float>::value)
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            zero = __fmaf_rn(values[i], 0.0f, zero); /* becomes NaN at the first value that is not
                                                      * finite */
    return zero == 0;
}

template <typename type, typename sum_type>
static __device__ void end_run(const struct run<type> *run, struct cuda_moments<sum_type> *moments)
{
    const double n = run->n ? run->n : 1;
    moments->center = run->center;
    moments->offset = run->sum / n;
    moments->deviations = run->squares - run->sum * run->sum / n;
    moments->product = run->product;
    if constexpr (std::is_same<type, float>::value)
        moments->sum = run->n * run->center + run->sum;
    else
        moments->sum = run->whole_sum;
    moments->exponent = run->exponent;
    moments->n = run->n;
    moments->n_zero = run->n_zero;
    moments->n_nan = run->n_nan;
    moments->n_infinite = run->n_infinite;
    moments->low = run->n ? ts_cuda_order_key(run->low) : UINT32_MAX;
    moments->high = run->n ? ts_cuda_order_key(run->high) : 0;
}

/* The range starts empty: low is above all values, high is below. */
template <typename type> static __device__ void begin_run(struct run<type> *run)
{
    *run = {};
    run->product = 1;
    if constexpr (std::is_same<type, float>::value) {
        run->low = INFINITY;
        run->high = -INFINITY;
    } else {
        run->low = std::is_signed<type>::value ? INT32_MAX : UINT32_MAX;
        run->high = std::is_signed<type>::value ? INT32_MIN : 0;
    }
}

/* ---- joins ----------------------------------------------------------------------------------- */

template <typename sum_type>
static __device__ void ts_cuda_join(struct cuda_moments<sum_type> *into,
                                    const struct cuda_moments<sum_type> *from)
{
    into->n_nan += from->n_nan;
    into->n_infinite += from->n_infinite;
    if (from->n == 0)
        return;
    if (into->n == 0) {
        into->center = from->center;
        into->offset = from->offset;
        into->deviations = from->deviations;
    } else {
        const double apart = from->center - into->center + (from->offset - into->offset);
        const double a = (double)into->n, b = (double)from->n;
        const double share = into->n == from->n ? 0.5 : b / (a + b); /* the equal case is common,
                                                                      * and a division is slow */
        into->offset += apart * share;
        into->deviations += from->deviations + apart * apart * (a * share);
    }
    into->product *= from->product;
    into->exponent += from->exponent;
    normalize(&into->product, &into->exponent);
    into->sum += from->sum;
    into->n += from->n;
    into->n_zero += from->n_zero;
    into->low = min(into->low, from->low);
    into->high = max(into->high, from->high);
}

template <typename sum_type> static __device__ void clear(struct cuda_moments<sum_type> *moments)
{
    *moments = {};
    moments->product = 1;
    moments->low = UINT32_MAX;
}

enum {
    THREADS = 128,
    RUN_MOST = 256, /* most values of a run */
    TILE_THREADS = 512,
    TILE = 2 * TILE_THREADS /* values or moments that are joined in one tree */
};

/* ---- two-level ------------------------------------------------------------------------------- */

/* The work of one launch: slices of n values, cut into n_parts parts of `part` values each. The
 * result of part p of slice z goes to out + z * out_stride + p * sizeof(struct cuda_moments). */
struct moments_job {
    const void *data; /* the values; or moments, with in_stride bytes for each slice */
    int64_t n, part, n_parts;
    char *out;
    size_t in_stride, out_stride;
};

template <typename type> static __device__ cuda_moments<type> *place(const struct moments_job &job)
{
    const int64_t slice = blockIdx.x / job.n_parts, part = blockIdx.x % job.n_parts;
    return (struct cuda_moments<type> *)(job.out + slice * job.out_stride) + part;
}

/* Loads the thread's 16 values: four vectors of 4; between them are vectors of the block's other
 * threads. */
template <typename type, bool wide>
static __device__ void load_group(type values[GROUP], const type *at)
{
#pragma unroll
    for (int i = 0; i < GROUP; i += 4)
        if (wide) {
            const uint4 vector = __ldcs((const uint4 *)(at + i * THREADS));
            memcpy(values + i, &vector, sizeof vector);
        } else {
            for (int k = 0; k < 4; k++)
                values[i + k] = at[i * THREADS + k];
        }
}

/* Loads a group of which only `left` values, starting at `at`, belong to the part; returns which
 * are present. */
template <typename type>
static __device__ unsigned load_some(type values[GROUP], const type *at, int64_t left)
{
    unsigned present = 0;
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        const int64_t offset = i / 4 * 4 * THREADS + i % 4;
        values[i] = offset < left ? at[offset] : (type)0;
        present |= (offset < left ? 1u : 0u) << i;
    }
    return present;
}

template <typename type, bool wide>
static __global__ void __launch_bounds__(THREADS, 8) sum_runs(struct moments_job job)
{
    typedef sum_of<type> sum_type;
    __shared__ struct cuda_moments<sum_type> shared[THREADS / 2];
    const type *slice = (const type *)job.data + blockIdx.x / job.n_parts * job.n;
    const int64_t first = blockIdx.x % job.n_parts * job.part;
    const int64_t end = first + job.part < job.n ? first + job.part : job.n;
    struct run<type> run;
    begin_run(&run);
    for (int64_t group = first; group < end; group += GROUP * THREADS) {
        const int64_t at = group + 4 * (int64_t)threadIdx.x;
        type values[GROUP];
        unsigned present = (1u << GROUP) - 1;
        if (group + GROUP * THREADS <= end)
            load_group<type, wide>(values, slice + at);
        else
            present = load_some(values, slice + at, end - at);
        if (present == (1u << GROUP) - 1 && all_finite(values))
            add_all(&run, values);
        else
            add_some(&run, values, present);
    }
    struct cuda_moments<sum_type> moments;
    end_run(&run, &moments);
    ts_cuda_fan_in(&moments, shared, THREADS);
    if (threadIdx.x == 0)
        *place<sum_type>(job) = moments;
}

/* A block joins job.part moments of a slice: each thread joins every THREADS-th, then the threads
 * are joined in a tree. */
template <typename sum_type> static __global__ void join_runs(struct moments_job job)
{
    __shared__ struct cuda_moments<sum_type> shared[THREADS / 2];
    const int64_t slice = blockIdx.x / job.n_parts, first = blockIdx.x % job.n_parts * job.part;
    const int64_t n = job.n - first < job.part ? job.n - first : job.part;
    const struct cuda_moments<sum_type> *parts =
        (const struct cuda_moments<sum_type> *)((const char *)job.data + slice * job.in_stride) +
        first;
    struct cuda_moments<sum_type> moments;
    clear(&moments);
    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        ts_cuda_join(&moments, &parts[i]);
    ts_cuda_fan_in(&moments, shared, n < THREADS ? (int)n : THREADS);
    if (threadIdx.x == 0)
        *place<sum_type>(job) = moments;
}

/* ---- fan-in ---------------------------------------------------------------------------------- */

/* Makes the moments of the single value i of a slice of n values, or of no value past its end. */
template <typename type, typename sum_type>
static __device__ void single(struct cuda_moments<sum_type> *moments, const type *slice, int64_t i,
                              int64_t n)
{
    clear(moments);
    if (i >= n)
        return;
    const type value = slice[i];
    if (!ts_cuda_is_finite(value)) {
        moments->n_nan = value != value;
        moments->n_infinite = value == value;
        return;
    }
    moments->center = (double)value;
    moments->product = factor((double)value, value == 0);
    normalize(&moments->product, &moments->exponent);
    moments->sum = std::is_same<type, float>::value ? (sum_type)value : (sum_type)(int64_t)value;
    moments->n = 1;
    moments->n_zero = value == 0;
    moments->low = moments->high = ts_cuda_order_key(value);
}

template <typename type>
static __global__ void __launch_bounds__(TILE_THREADS) fan_in_values(struct moments_job job)
{
    typedef sum_of<type> sum_type;
    __shared__ struct cuda_moments<sum_type> shared[TILE_THREADS / 2];
    const type *slice = (const type *)job.data + blockIdx.x / job.n_parts * job.n;
    const int64_t first = blockIdx.x % job.n_parts * TILE + threadIdx.x;
    struct cuda_moments<sum_type> moments, other;
    single(&moments, slice, first, job.n);
    single(&other, slice, first + TILE_THREADS, job.n);
    ts_cuda_join(&moments, &other);
    ts_cuda_fan_in(&moments, shared, TILE_THREADS);
    if (threadIdx.x == 0)
        *place<sum_type>(job) = moments;
}

template <typename sum_type>
static __global__ void __launch_bounds__(TILE_THREADS) fan_in_parts(struct moments_job job)
{
    __shared__ struct cuda_moments<sum_type> shared[TILE_THREADS / 2];
    const struct cuda_moments<sum_type> *parts =
        (const struct cuda_moments<sum_type> *)((const char *)job.data +
                                                blockIdx.x / job.n_parts * job.in_stride);
    const int64_t first = blockIdx.x % job.n_parts * TILE + threadIdx.x;
    struct cuda_moments<sum_type> moments;
    clear(&moments);
    if (first < job.n)
        moments = parts[first];
    if (first + TILE_THREADS < job.n)
        ts_cuda_join(&moments, &parts[first + TILE_THREADS]);
    ts_cuda_fan_in(&moments, shared, TILE_THREADS);
    if (threadIdx.x == 0)
        *place<sum_type>(job) = moments;
}

/* ---- launchers ------------------------------------------------------------------------------- */

static int64_t part_length(int64_t slice_pixels, enum reduction_method method)
{
    if (method == REDUCTION_FAN_IN)
        return TILE;
    return THREADS * (int64_t)ts_run_length((size_t)slice_pixels, GROUP, GROUP, RUN_MOST);
}

size_t ts_cuda_moments_bytes(void)
{
    return sizeof(struct cuda_moments<double>);
}

/* The scratch holds the moments of the parts of n slices, and those of the parts of these parts. */
size_t ts_cuda_moments_scratch_bytes(int64_t slice_pixels, enum reduction_method method, int64_t n)
{
    const int64_t parts = ts_cuda_parts(slice_pixels, part_length(slice_pixels, method));
    return (size_t)(n * (parts + ts_cuda_parts(parts, TILE))) * ts_cuda_moments_bytes();
}

template <typename type>
static enum ts_status launch_values(const struct stage_context *context, int64_t n_slices,
                                    enum reduction_method method, const struct moments_job &job,
                                    cudaStream_t stream)
{
    const unsigned blocks = (unsigned)(n_slices * job.n_parts);
    if (method == REDUCTION_FAN_IN) {
        fan_in_values<type><<<blocks, TILE_THREADS, 0, stream>>>(job);
        return ts_cuda_launched(context, "fan_in_values");
    }
    if (job.n % 4 == 0 && (uintptr_t)job.data % 16 == 0)
        sum_runs<type, true><<<blocks, THREADS, 0, stream>>>(job);
    else
        sum_runs<type, false><<<blocks, THREADS, 0, stream>>>(job);
    return ts_cuda_launched(context, "sum_runs");
}

/* Joins the parts until each slice has one. */
template <typename sum_type>
static enum ts_status join_parts(const struct stage_context *context, int64_t n_slices,
                                 enum reduction_method method, struct moments_job job,
                                 char *moments, size_t stride, cudaStream_t stream)
{
    const size_t bytes = ts_cuda_moments_bytes();
    char *const buffers[2] = {job.out, job.out + job.out_stride * (size_t)n_slices};
    enum ts_status status = TS_OK;
    for (int pass = 0; status == TS_OK && job.n_parts > 1; pass++) {
        const bool fans_in = method == REDUCTION_FAN_IN;
        const int64_t parts = ts_cuda_parts(job.n_parts, TILE);
        struct moments_job next = {
            .data = job.out, .n = job.n_parts, .part = TILE, .n_parts = parts};
        next.in_stride = job.out_stride;
        next.out = parts == 1 ? moments : buffers[1 - pass % 2];
        next.out_stride = parts == 1 ? stride : (size_t)parts * bytes;
        if (fans_in)
            fan_in_parts<sum_type><<<(unsigned)(n_slices * parts), TILE_THREADS, 0, stream>>>(next);
        else
            join_runs<sum_type><<<(unsigned)(n_slices * parts), THREADS, 0, stream>>>(next);
        status = ts_cuda_launched(context, fans_in ? "fan_in_parts" : "join_runs");
        job = next;
    }
    return status;
}

enum ts_status ts_cuda_moments(const struct stage_context *context, const struct ts_image *slices,
                               enum reduction_method method, void *moments, size_t stride,
                               const struct cuda_call *call)
{
    const int64_t n_slices = slices->axes[0].n, n = (int64_t)ts_slice_count(slices),
                  part = part_length(n, method);
    struct moments_job job = {
        .data = slices->data, .n = n, .part = part, .n_parts = ts_cuda_parts(n, part)};
    job.out = (char *)(job.n_parts == 1 ? moments : call->scratch);
    job.out_stride = job.n_parts == 1 ? stride : (size_t)job.n_parts * ts_cuda_moments_bytes();
    enum ts_status status;
#define LAUNCH(type) status = launch_values<type>(context, n_slices, method, job, call->stream)
    TS_CUDA_DTYPES_32(slices->dtype, LAUNCH)
#undef LAUNCH
    if (status != TS_OK)
        return status;
    if (slices->dtype == TS_F32)
        return join_parts<double>(context, n_slices, method, job, (char *)moments, stride,
                                  call->stream);
    return join_parts<uint64_t>(context, n_slices, method, job, (char *)moments, stride,
                                call->stream);
}

/* ---- on the host ----------------------------------------------------------------------------- */

/* Returns the number that equals `sum` modulo 2^64 and is nearest to `nearly`, whose relative error
 * is at most 10^-12. */
static __int128 whole_sum(uint64_t sum, double nearly)
{
    const double period = 18446744073709551616.0;
    const double periods = rint((nearly - (double)(int64_t)sum) / period);
    return (__int128)(int64_t)sum + ((__int128)(int64_t)periods << 64);
}

void ts_cuda_moments_collect(enum ts_dtype dtype, const void *copied, struct moments *moments,
                             struct value_range *range)
{
    const struct cuda_moments<double> *from = (const struct cuda_moments<double> *)copied;
    const double n = (double)from->n;
    struct value_range own = {
        .n_finite = from->n, .n_nan = from->n_nan, .n_infinite = from->n_infinite};
    memset(moments, 0, sizeof *moments);
    if (from->n > 0) {
        uint64_t bits;
        memcpy(&bits, &from->sum, sizeof bits);
        moments->n = from->n;
        moments->n_zero = from->n_zero;
        moments->n_negative = from->product < 0; /* only the lowest bit is known, which is what
                                                  * matters */
        moments->center = from->center;
        moments->offset = from->offset;
        moments->deviations = from->deviations;
        if (dtype != TS_F32)
            moments->whole_sum = whole_sum(bits, n * (from->center + from->offset));
        moments->sum = dtype == TS_F32 ? from->sum : (double)moments->whole_sum;
        moments->mean = moments->sum / n;
        moments->exponent = from->exponent;
        moments->log_rest = log(fabs(from->product));
        own.low = ts_percentile_key_value(from->low, dtype);
        own.high = ts_percentile_key_value(from->high, dtype);
    }
    ts_value_range_merge(range, &own);
}
