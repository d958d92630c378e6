/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the moments of one thread's run of values, 16 at a time, and joins the moments of runs.
 * cuda/counting/moments.cu includes it, and states why it is exact enough.
 */
#ifndef CUDA_COUNTING_MOMENTS_RUN_CUH
#define CUDA_COUNTING_MOMENTS_RUN_CUH

#include "cuda/values/value_keys.cuh"

enum { GROUP = 16 }; /* values that a thread takes at a time: 4 vectors */

template <typename type>
using sum_of = typename std::conditional<std::is_same<type, float>::value, double, uint64_t>::type;

/* The sum of floats is a double, that of integers is exact modulo 2^64. The struct has 11 words of 8 bytes: an odd
 * number, so that neighbors in shared memory lie in other banks. */
template <typename sum_type> struct cuda_moments {
    double center, offset, deviations; /* mean = center + offset; sum of (v - mean)^2 */
    double product;                    /* of the finite values that are not zero, times 2^exponent: in +-[1, 2) */
    sum_type sum;
    int64_t exponent;
    uint64_t n, n_zero, n_nan, n_infinite; /* n: finite */
    uint32_t low, high;                    /* order keys */
};

/* ---- one run ------------------------------------------------------------------------------------ */

template <typename type> struct run {
    double center, sum, squares, product;
    uint64_t whole_sum; /* sum of integers, exact */
    int32_t exponent;
    uint32_t n, n_zero, n_nan, n_infinite;
    type low, high;
};

/* Moves the power of two of *product to the exponent. */
template <typename count_type> static __device__ void normalize(double *product, count_type *exponent)
{
    const int high = __double2hiint(*product);
    *exponent += (high >> 20 & 0x7FF) - 1023;
    *product = __hiloint2double((high & (int)0x800FFFFF) | 0x3FF00000, __double2loint(*product));
}

/* Returns a finite value, or 1 for zero. */
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

/* Returns a value of the type near the mean. Floats and integers of up to 32 bits are exact in double. */
template <typename type> static __device__ double center_of(double mean)
{
    return std::is_same<type, float>::value ? (double)(float)mean : rint(mean);
}

/* All values are present and finite. Products of four lie between 2^-596 and 2^512. */
template <typename type> static __device__ void add_all(struct run<type> *run, const type values[GROUP])
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

/* Value i is there where bit i of `present` is set. */
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
            zero = __fmaf_rn(values[i], 0.0f, zero); /* NaN from the first that is not finite on */
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

/* The range starts empty: low is above all values, high below. */
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

/* ---- joins -------------------------------------------------------------------------------------- */

template <typename sum_type>
static __device__ void ts_cuda_join(struct cuda_moments<sum_type> *into, const struct cuda_moments<sum_type> *from)
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
        const double share = into->n == from->n ? 0.5 : b / (a + b); /* most often: a division is slow */
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

#endif
