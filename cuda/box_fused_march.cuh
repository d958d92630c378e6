/* SPDX-License-Identifier: Apache-2.0
 *
 * box in one pass for any radius. A block owns a strip of columns and a chunk of rows, both fixed by the image, and
 * goes down the chunk (every second chunk: up, so that neighbors read the rows they share at the same time) in steps of
 * 4 rows:
 *
 *     column sums  each thread has 4 columns: it adds the entering row to their sums and subtracts the leaving one.
 * Both are loaded a step ahead. The sums go to shared memory. prefix sums  P(i) of the column sums: one warp a row, 16
 * columns a lane, shuffles between the lanes. row sums     P(x + radius + 1) - P(x - radius), the same warp. Outside
 * the image P follows from itself by the border rule.
 *
 * One barrier a step. One write a pixel and two reads, of which the leaving row comes from the second cache while that
 * holds the windows of the blocks at work. Then come 2 radius rows a chunk and, where the strip is not the whole row,
 * 2 radius columns a strip, also from that cache.
 *
 * Integers are exact in 32 or 64 bits. Floats are summed in double; a NaN or an infinity stays in such sums, so a chunk
 * that met one is done over, adding every window anew. (M. J. McDonnell, 1981; F. C. Crow, 1984.)
 */
#ifndef CUDA_BOX_FUSED_MARCH_CUH
#define CUDA_BOX_FUSED_MARCH_CUH

#include "cuda/box_fused.cuh"

enum { MARCH_STEP = BOX_MARCH_STEP };

struct march_plan {
    int64_t slice; /* elements */
    int ny, nx, radius, border;
    struct box_march cut;
    bool aligned;  /* rows start at multiples of 4 elements */
    uint32_t bias; /* signed integers are done as unsigned ones: the sign bit */
    struct box_divisor divisor;
    struct box_mean mean;
};

/* A block's part of the image. */
template <typename T> struct march_strip {
    const T *in;
    T *out;
    int first, end; /* owned columns */
    int out_first, out_end;
    int row, step; /* of the image: first row of outputs, and +1 or -1 */
    int rows;      /* of outputs */
};

/* Where a thread's 4 columns come from: one address, or, where not inside, one each; OUTSIDE: the constant; NOWHERE:
 * a column that adds nothing. */
enum { OUTSIDE = -1, NOWHERE = -2 };
template <typename T> struct march_columns {
    bool owns, inside;
    int column, from[4];
    T outside, nothing;
};

template <typename SUM> struct __align__(16) march_four
{
    SUM sums[4];
};

template <typename T>
static __device__ struct march_strip<T> march_strip_of(const T *in, T *out, const struct march_plan *plan) {
    const int column = (int)(blockIdx.x % plan->cut.strips),
              chunk = (int)(blockIdx.x / plan->cut.strips % plan->cut.chunks);
    const int64_t z = blockIdx.x / plan->cut.strips / plan->cut.chunks;
    const int y_first = chunk * plan->cut.chunk, y_end = min(y_first + plan->cut.chunk, plan->ny);
    struct march_strip<T> strip;
    strip.in = in + z * plan->slice;
    strip.out = out + z * plan->slice;
    strip.out_first = column * plan->cut.strip;
    strip.out_end = min(strip.out_first + plan->cut.strip, plan->nx);
    strip.first = strip.out_first - plan->cut.halo;
    strip.end = strip.out_end + plan->cut.halo;
    strip.rows = y_end - y_first;
    strip.step = chunk % 2 ? -1 : 1;
    strip.row = chunk % 2 ? y_end - 1 : y_first;
    return strip;
}

template <typename T>
static __device__ struct march_columns<T> march_columns_of(const struct march_strip<T> *strip,
                                                           const struct march_plan *plan, int thread, T outside) {
    struct march_columns<T> columns;
    columns.column = strip->first + 4 * thread;
    columns.owns = columns.column < strip->end;
    columns.inside = plan->aligned && columns.column >= 0 && columns.column + 4 <= min(strip->end, plan->nx);
    columns.outside = outside;
    columns.nothing = (T)plan->bias;
    for (int i = 0; i < 4; i++)
        columns.from[i] = columns.column + i >= strip->end
                              ? NOWHERE
                              : (int)ts_cuda_border_index(columns.column + i, plan->nx, plan->border);
    return columns;
}

/* The 4 rows from row t on (t = 0: radius rows before the first output), those in [low, high). */
template <typename T>
static __device__ __forceinline__ void march_load(const struct march_strip<T> *strip, const struct march_plan *plan,
                                                  const struct march_columns<T> *columns, int t, int low, int high,
                                                  box_quad<T> (&quads)[MARCH_STEP])
{
    const int y = strip->row + (t - plan->radius) * strip->step, y_end = y + (MARCH_STEP - 1) * strip->step;
    if (columns->inside && t >= low && t + MARCH_STEP <= high && min(y, y_end) >= 0 && max(y, y_end) < plan->ny) {
        const T *from = strip->in + (int64_t)y * plan->nx + columns->column;
        const int64_t pitch = (int64_t)strip->step * plan->nx;
#pragma unroll
        for (int k = 0; k < MARCH_STEP; k++)
            quads[k].raw = *(const typename box_raw<sizeof(T)>::type *)(from + k * pitch);
        return;
    }
#pragma unroll
    for (int k = 0; k < MARCH_STEP; k++) {
        const bool there = columns->owns && t + k >= low && t + k < high;
        const int row = box_border(y + k * strip->step, plan->ny, plan->border);
        const T *from = strip->in + (int64_t)row * plan->nx;
        if (there && row >= 0 && columns->inside) {
            quads[k].raw = *(const typename box_raw<sizeof(T)>::type *)(from + columns->column);
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int x = columns->from[i];
                quads[k].values[i] = !there || x == NOWHERE ? columns->nothing
                                     : row < 0 || x < 0     ? columns->outside
                                                            : from[x];
            }
        }
    }
}

template <typename SUM, typename T> static __device__ __forceinline__ SUM march_sample(T value, uint32_t bias)
{
    if constexpr ((T)0.5 != 0)
        return (SUM)value;
    else
        return (SUM)(T)(value ^ (T)bias);
}

/* Where element e of a row of prefix sums stands: 16 of them are a lane's, and the gaps keep their lanes apart in the
 * banks. */
template <typename SUM> static __device__ __forceinline__ int march_place(int e)
{
    return e + (e >> 4) * (int)(16 / sizeof(SUM));
}

/* P(i), i in [0, n]. */
template <typename SUM> static __device__ __forceinline__ SUM march_at(const SUM *sums, int i)
{
    return sums[march_place<SUM>(i + 3)];
}

/* P(i) for any i, far outside [0, n] too; `sums` is P of a whole row. */
template <typename SUM>
static __device__ __noinline__ SUM march_far_outside(const SUM *sums, int i, int n, int border, SUM outside)
{
    const int period = border == BORDER_REFLECT ? 2 * n : border == BORDER_MIRROR ? 2 * n - 2 : n;
    const SUM total = march_at(sums, n), last = total - march_at(sums, n - 1);
    if (border == BORDER_CONSTANT)
        return i < 0 ? (SUM)i * outside : total + (SUM)(i - n) * outside;
    if (border == BORDER_NEAREST || period == 0)
        return i < 0 ? (SUM)i * march_at(sums, 1) : total + (SUM)(i - n) * last;
    const int turn = i >= 0 ? i / period : -((period - 1 - i) / period), rest = i - turn * period;
    if (border == BORDER_WRAP)
        return (SUM)turn * total + march_at(sums, rest);
    if (border == BORDER_REFLECT)
        return (SUM)(2 * turn) * total +
               (rest <= n ? march_at(sums, rest) : total + total - march_at(sums, 2 * n - rest));
    return (SUM)turn * (total + total - march_at(sums, 1) - last) +
           (rest <= n ? march_at(sums, rest) : total + march_at(sums, n - 1) - march_at(sums, 2 * n - 1 - rest));
}

template <typename SUM>
static __device__ __forceinline__ SUM march_outside(const SUM *sums, int i, int n, int border, SUM outside)
{
    if (i >= 0 && i <= n)
        return march_at(sums, i);
    if (border == BORDER_REFLECT && i >= -n && i <= 2 * n)
        return i < 0 ? (SUM)0 - march_at(sums, -i) : march_at(sums, n) + march_at(sums, n) - march_at(sums, 2 * n - i);
    return march_far_outside(sums, i, n, border, outside);
}

template <typename T, typename SUM>
static __device__ __forceinline__ void march_store(T *out, SUM sum, const struct march_plan *plan)
{
    if constexpr ((T)0.5 != 0) {
        *out = (T)(sum * plan->mean.scale);
    } else if constexpr (sizeof(SUM) == 4) {
        const uint32_t quotient = __umulhi(sum + plan->divisor.half, plan->divisor.factor) >> plan->divisor.shift;
        *out = (T)quotient ^ (T)plan->bias;
    } else {
        T mean;
        box_store(&mean, (int64_t)sum, plan->mean);
        *out = mean ^ (T)plan->bias;
    }
}

/* Turns a row of column sums in shared memory, which start at element 4, into P: P(i) at element 3 + i. One warp; each
 * lane has 16 columns of 512. */
template <typename SUM> static __device__ __forceinline__ void march_prefix(SUM *row, int columns)
{
    enum { FOURS = 4 };
    const int lane = threadIdx.x & 31;
    SUM carried = 0;
    for (int first = 4; first < columns + 4; first += 32 * 4 * FOURS) {
        march_four<SUM> sums[FOURS];
        const int mine = first + 4 * FOURS * lane;
        const bool there = mine < columns + 4;
#pragma unroll
        for (int k = 0; k < FOURS; k++)
            sums[k] = there ? *(const march_four<SUM> *)(row + march_place<SUM>(mine + 4 * k)) : march_four<SUM>{};
#pragma unroll
        for (int k = 0; k < FOURS; k++) {
            sums[k].sums[1] += sums[k].sums[0];
            sums[k].sums[3] += sums[k].sums[2];
            sums[k].sums[2] += sums[k].sums[1];
            sums[k].sums[3] += sums[k].sums[1];
        }
        const SUM half = sums[0].sums[3] + sums[1].sums[3], all = half + (sums[2].sums[3] + sums[3].sums[3]);
        SUM before = all;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
            const SUM other = __shfl_up_sync(0xFFFFFFFF, before, distance);
            before += lane >= distance ? other : (SUM)0;
        }
        const SUM total = __shfl_sync(0xFFFFFFFF, before, 31);
        before += carried - all;
        carried += total;
        const SUM starts[FOURS] = {before, before + sums[0].sums[3], before + half, before + half + sums[2].sums[3]};
#pragma unroll
        for (int k = 0; k < FOURS && there; k++) {
            for (int i = 0; i < 4; i++)
                sums[k].sums[i] += starts[k];
            *(march_four<SUM> *)(row + march_place<SUM>(mine + 4 * k)) = sums[k];
        }
    }
    if (lane == 0)
        row[march_place<SUM>(3)] = 0;
    __syncwarp();
}

/* Means of the windows of a row. One warp. */
template <typename T, typename SUM>
static __device__ __forceinline__ void march_means(const struct march_strip<T> *strip, const struct march_plan *plan,
                                                   const SUM *row, SUM outside, int j)
{
    const int n = plan->nx, x_first = strip->out_first + (int)(threadIdx.x & 31);
    const int high = x_first - strip->first + plan->radius + 1, low = x_first - strip->first - plan->radius;
    const SUM *right = row + march_place<SUM>(high + 3);
    const SUM *left = row + march_place<SUM>(low + 3);
    T *to = strip->out + (int64_t)(strip->row + j * strip->step) * n + x_first;
    const int width = strip->out_end - x_first, safe = plan->cut.halo ? INT32_MAX : n - high;
#pragma unroll 4
    for (int i = 0; i < width; i += 32) {
        SUM sum;
        if (plan->cut.halo || (low + i >= 0 && i <= safe))
            sum = right[march_place<SUM>(i)] - left[march_place<SUM>(i)];
        else
            sum = march_outside(row, high + i, n, plan->border, outside) -
                  march_outside(row, low + i, n, plan->border, outside);
        T mean;
        march_store(&mean, sum, plan);
        __stcs(to + i, mean);
    }
}

/* Column sums of all rows of the first window but the last. */
template <typename T, typename SUM>
static __device__ __forceinline__ void march_start(const struct march_strip<T> *strip, const struct march_plan *plan,
                                                   const struct march_columns<T> *columns, SUM (&sums)[4])
{
    for (int t = 0; t < 2 * plan->radius; t += MARCH_STEP) {
        box_quad<T> quads[MARCH_STEP];
        march_load(strip, plan, columns, t, 0, 2 * plan->radius, quads);
        for (int k = 0; k < MARCH_STEP; k++)
            for (int i = 0; i < 4; i++)
                sums[i] += march_sample<SUM, T>(quads[k].values[i], plan->bias);
    }
}

/* The chunk once more, every window added anew. */
static __device__ __noinline__ void march_repair(const float *in, float *out, const struct march_plan *plan,
                                                 float outside, double *sums)
{
    const struct march_strip<float> strip = march_strip_of(in, out, plan);
    for (int j = 0; j < strip.rows; j++) {
        for (int i = threadIdx.x; i < strip.end - strip.first; i += blockDim.x) {
            const int x = (int)ts_cuda_border_index(strip.first + i, plan->nx, plan->border);
            double sum = 0;
            for (int k = -plan->radius; k <= plan->radius; k++) {
                const int64_t y = ts_cuda_border_index(strip.row + (j + k) * strip.step, plan->ny, plan->border);
                sum += (double)(y < 0 || x < 0 ? outside : strip.in[y * plan->nx + x]);
            }
            sums[i] = sum;
        }
        __syncthreads();
        for (int x = strip.out_first + (int)threadIdx.x; x < strip.out_end; x += blockDim.x) {
            double sum = 0;
            for (int k = x - plan->radius; k <= x + plan->radius; k++) {
                const int i = plan->cut.halo ? k - strip.first : (int)ts_cuda_border_index(k, plan->nx, plan->border);
                sum += i < 0 ? (double)outside * (2 * plan->radius + 1) : sums[i];
            }
            march_store(strip.out + (int64_t)(strip.row + j * strip.step) * plan->nx + x, sum, plan);
        }
        __syncthreads();
    }
}

/* Shared memory: twice the rows of a step. beyond: sum of a column outside the image. */
template <typename T, typename SUM>
static __global__ void __launch_bounds__(BOX_MARCH_THREADS)
    fused_march(const T *in, T *out, const __grid_constant__ struct march_plan plan, T outside, SUM beyond)
{
    extern __shared__ __align__(16) char shared[];
    const struct march_strip<T> strip = march_strip_of(in, out, &plan);
    const struct march_columns<T> columns = march_columns_of(&strip, &plan, (int)threadIdx.x, outside);
    const int window = 2 * plan.radius + 1, warp = (int)threadIdx.x >> 5, warps = (int)blockDim.x >> 5;
    const int length = ts_box_march_length(plan.cut.threads, sizeof(SUM));
    box_quad<T> entering[MARCH_STEP], leaving[MARCH_STEP];
    SUM sums[4] = {0, 0, 0, 0};
    march_start(&strip, &plan, &columns, sums);
    march_load(&strip, &plan, &columns, window - 1, 0, strip.rows + window - 1, entering);
    march_load(&strip, &plan, &columns, -1, 0, strip.rows - 1, leaving);
    SUM *rows = (SUM *)shared, *others = rows + MARCH_STEP * length;
    const int place = march_place<SUM>(4 + 4 * (int)threadIdx.x);
    for (int j = 0; j < strip.rows; j += MARCH_STEP) {
#pragma unroll
        for (int k = 0; k < MARCH_STEP; k++) {
            march_four<SUM> four;
#pragma unroll
            for (int i = 0; i < 4; i++)
                four.sums[i] = sums[i] += march_sample<SUM, T>(entering[k].values[i], plan.bias) -
                                          march_sample<SUM, T>(leaving[k].values[i], plan.bias);
            *(march_four<SUM> *)(rows + k * length + place) = four;
        }
        march_load(&strip, &plan, &columns, j + MARCH_STEP + window - 1, 0, strip.rows + window - 1, entering);
        march_load(&strip, &plan, &columns, j + MARCH_STEP - 1, 0, strip.rows - 1, leaving);
        __syncthreads();
        for (int k = warp; k < MARCH_STEP && j + k < strip.rows; k += warps) {
            march_prefix(rows + k * length, 4 * plan.cut.threads);
            march_means(&strip, &plan, rows + k * length, beyond, j + k);
        }
        SUM *const swap = rows;
        rows = others;
        others = swap;
    }
    if constexpr ((T)0.5 != 0) {
        bool strange = false;
        for (int i = 0; i < 4; i++)
            strange |= !(fabs(sums[i]) <= DBL_MAX);
        if (__syncthreads_or(strange))
            march_repair(in, out, &plan, outside, (double *)shared);
    }
}

#endif
