/* SPDX-License-Identifier: Apache-2.0
 *
 * box in one pass for any radius. A block owns a strip of columns and a chunk of rows, both fixed
 * by the image, and goes down the chunk (every second chunk: up, so that neighbors read the rows
 * they share at the same time) in steps of MARCH_ROWS rows. A step:
 *
 *     column sums  each thread has 4 columns: it adds the entering rows to their sums and subtracts
 *                  the leaving ones, whose samples it kept in a ring in shared memory, or has asked
 *                  for a step before. The next step's entering rows are on their way in registers
 *                  from here on.
 *     prefix sums  P of the column sums: over a thread's 4 in registers, over the threads of a row
 *                  by one warp a row.
 *     row sums     P(x + radius + 1) - P(x - radius); each thread has every THREADS-th column.
 *                  Outside the image P follows from itself by the border rule (march_ends_of).
 *
 * Memory traffic: one read and one write a pixel. The second cache serves another 2 radius rows for
 * each chunk and, if a strip is not the whole row, 2 radius columns for each strip, and the
 * leaving rows of the warps whose ring does not fit in shared memory. That cache moves little more
 * than a copy needs: hence the ring. Two blocks share the shared memory of a multiprocessor, so
 * that one computes while the other waits.
 *
 * Integers are exact in 32 or 64 bits. Floats are summed in double; a NaN or an infinity stays in
 * such sums, so a chunk that met one is done over, adding every window anew. (M. J. McDonnell,
 * 1981; F. C. Crow, 1984.)
 */
#ifndef CUDA_FILTERS_BOX_FUSED_MARCH_CUH
#define CUDA_FILTERS_BOX_FUSED_MARCH_CUH

#include "cuda/filters/box_quad.cuh"

/* ---- box fused read ----------------------------------------------------------------------------
 *
 * Blocks of box_fused_march.cuh read with this. It has a block's strip and chunk, the image rows
 * that the block's rows stand for, the 4 columns of a thread, and the ring of leaving rows. A
 * thread reads a row with one access of 4 values if rows start at multiples of 4 and the strip is
 * inside the image, else with 4. There is no barrier, because no other thread reads what a thread
 * keeps in shared memory. */

enum { MARCH_ROWS = BOX_MARCH_ROWS, MARCH_COLUMNS = BOX_MARCH_COLUMNS };

struct march_plan : box_image {
    int64_t slice; /* elements of a slice */
    int radius;
    struct box_march cut;
    bool beyond; /* true if strips have columns outside the image */
    struct box_mean mean;
};

/* The part of the image that a block does. */
template <typename T> struct march_strip {
    const T *in;
    T *out;
    int first, columns; /* columns whose sums the block makes */
    int out_first, out_end;
    int row, step; /* the first output row in the image, and the step to the next: +1 or -1 */
    int rows;      /* number of output rows from there on */
};

template <typename T>
static __device__ struct march_strip<T> march_strip_of(const T *in, T *out,
                                                       const struct march_plan *plan) {
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
    int end = strip.out_end + plan->cut.halo;
    if (!plan->beyond) {
        strip.first = max(strip.first, 0);
        end = min(end, plan->nx);
    }
    strip.columns = end - strip.first;
    strip.rows = y_end - y_first;
    strip.step = chunk % 2 ? -1 : 1;
    strip.row = chunk % 2 ? y_end - 1 : y_first;
    return strip;
}

/* The two ways in which a thread gets its 4 columns of a row. */
template <typename T, bool GATHER>
struct march_columns {
    const T *in; /* with GATHER: the slice; else: the thread's first column of it */
    int from[GATHER ? 4 : 1];
    int pitch; /* bytes of a row */
    T outside;
};

template <typename T, bool GATHER>
static __device__ struct march_columns<T, GATHER>
march_columns_of(const struct march_strip<T> *strip, const struct march_plan *plan, T outside) {
    struct march_columns<T, GATHER> columns;
    const int column = strip->first + MARCH_COLUMNS * (int)threadIdx.x,
              last = strip->first + strip->columns - 1;
    columns.pitch = plan->nx * (int)sizeof(T);
    columns.outside = outside;
    columns.in = strip->in;
    /* Threads beyond the strip read its last columns; their sums are not used. */
    if constexpr (GATHER) {
        for (int i = 0; i < 4; i++)
            columns.from[i] =
                (int)ts_cuda_border_index(min(column + i, last), plan->nx, plan->border);
    } else {
        columns.in += min(column, last - 3);
        columns.from[0] = 0;
    }
    return columns;
}

/* Loads row y >= 0. A row outside the image is filled with the constant when it is used
   (march_fill). */
template <typename T, bool GATHER>
static __device__ __forceinline__ box_quad<T>
march_row(const struct march_columns<T, GATHER> *columns, int y)
{
    box_quad<T> quad;
    const T *row = (const T *)((const char *)columns->in + (int64_t)max(y, 0) * columns->pitch);
    if constexpr (GATHER) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            quad.values[i] = columns->from[i] < 0 ? columns->outside : row[columns->from[i]];
    } else {
        quad.raw = *(const box_word<T> *)row;
    }
    return quad;
}

template <typename T>
static __device__ __forceinline__ void march_fill(box_quad<T> *quad, int y, T outside)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        quad->values[i] = y < 0 ? outside : quad->values[i];
}

/* The image rows that the rows of the march stand for, -1 if outside: enter[j] and leave[j] are
 * those of output row j; then come those of the sums before the first output row, with the one that
 * leaves first. Entries beyond the chunk repeat its last. */
struct march_rows {
    int *enter, *leave, *start;
};

template <typename T>
static __device__ void march_fill_rows(struct march_rows rows, const struct march_strip<T> *strip,
                                       const struct march_plan *plan)
{
    for (int j = threadIdx.x; j < plan->cut.table; j += blockDim.x) {
        const int row = strip->row + min(j, strip->rows - 1) * strip->step,
                  distance = plan->radius * strip->step;
        rows.enter[j] = ts_cuda_border_apart(row + distance, plan->ny, plan->border);
        rows.leave[j] = ts_cuda_border_apart(row - distance - strip->step, plan->ny, plan->border);
    }
    for (int j = threadIdx.x; j <= 2 * plan->radius; j += blockDim.x)
        rows.start[j] = ts_cuda_border_apart(strip->row + (j - 1 - plan->radius) * strip->step,
                                             plan->ny, plan->border);
}

/* The leaving rows of a thread's next steps. A thread that keeps its samples has all rows of a
 * window here, and replaces the leaving row by the entering one. Other threads have the rows of one
 * step, and load each row a step before it leaves. */
template <typename T> struct march_ring {
    box_quad<T> *begin, *end, *next;
    int stride;
    bool keeps;
};

template <typename T>
static __device__ struct march_ring<T> march_ring_of(box_quad<T> *rings,
                                                     const struct march_plan *plan, int threads) {
    const int keepers = 32 * plan->cut.keepers, window = 2 * plan->radius + 1, thread = threadIdx.x;
    struct march_ring<T> ring;
    ring.keeps = thread < keepers;
    ring.stride = ring.keeps ? keepers : threads - keepers;
    ring.begin =
        ring.keeps ? rings + thread : rings + (int64_t)keepers * window + (thread - keepers);
    ring.end = ring.begin + (ring.keeps ? window : MARCH_ROWS) * ring.stride;
    ring.next = ring.begin;
    return ring;
}

template <typename T>
static __device__ __forceinline__ box_quad<T> *march_next(box_quad<T> *slot,
                                                          const struct march_ring<T> *ring)
{
    slot += ring->stride;
    return slot == ring->end ? ring->begin : slot;
}

/* Copies from global to shared memory, without going through registers if the device can do so. */
template <typename T, bool GATHER>
static __device__ __forceinline__ void
march_ask(box_quad<T> *to, const struct march_columns<T, GATHER> *columns, int y)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (!GATHER) {
        const void *row = (const char *)columns->in + (int64_t)max(y, 0) * columns->pitch;
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     :
                     : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(row), "n"(sizeof *to)
                     : "memory");
        return;
    }
#endif
    *to = march_row(columns, y);
}
/* Waits until all loads of the thread have arrived. */
static __device__ __forceinline__ void march_await(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

enum { MARCH_BEFORE = 7 /* index of P(0) in a row of sums */ };

template <typename SUM> struct __align__(16) march_four
{
    SUM sums[4];
};

/* P outside the row follows from P inside: sign P(place) + whole P(n) + first P(1) + last P(n - 1)
 * + outside times a column of constants. */
struct march_ends {
    int place, sign, whole, first, last, outside;
};

static __device__ __noinline__ struct march_ends march_ends_of(int i, int n, int border)
{
    struct march_ends ends = {i, 1, 0, 0, 0, 0};
    if (i >= 0 && i <= n)
        return ends;
    const int period = border == BORDER_REFLECT ? 2 * n : border == BORDER_MIRROR ? 2 * n - 2 : n;
    if (border == BORDER_CONSTANT || border == BORDER_NEAREST || period == 0) {
        const int over = i < 0 ? i : i - n;
        ends.place = ends.sign = 0;
        ends.whole = i < 0 ? 0 : 1;
        if (border == BORDER_CONSTANT) {
            ends.outside = over;
        } else if (i < 0) {
            ends.first = over;
        } else {
            ends.whole += over;
            ends.last = -over;
        }
        return ends;
    }
    const int periods = i >= 0 ? i / period : -((period - 1 - i) / period),
              rest = i - periods * period;
    const bool back = rest > n;
    ends.place = !back ? rest : border == BORDER_MIRROR ? 2 * n - 1 - rest : 2 * n - rest;
    ends.sign = back ? -1 : 1;
    ends.whole = border == BORDER_REFLECT ? 2 * periods + (back ? 2 : 0) : periods + (back ? 1 : 0);
    if (border == BORDER_MIRROR) {
        ends.first = -periods;
        ends.last = periods + (back ? 1 : 0);
    }
    return ends;
}

template <typename SUM, typename T>
static __device__ __forceinline__ SUM march_sample(T value, uint32_t sign)
{
    if constexpr ((T)0.5 != 0)
        return (SUM)value;
    else
        return (SUM)(T)(value ^ (T)sign);
}

template <typename T, typename SUM>
static __device__ __forceinline__ T march_mean(SUM sum, const struct march_plan *plan)
{
    if constexpr ((T)0.5 != 0) {
        return (T)sum * (T)plan->mean.scale;
    } else if constexpr (sizeof(SUM) == 4) {
        const uint32_t quotient =
            __umulhi(sum + plan->divisor.half, plan->divisor.factor) >> plan->divisor.shift;
        return (T)quotient ^ (T)plan->sign;
    } else {
        T mean;
        box_store(&mean, (int64_t)sum, plan->mean);
        return mean ^ (T)plan->sign;
    }
}

static __device__ __forceinline__ double march_product(int factor, double sum, double added)
{
    return fma((double)factor, sum, added);
}
template <typename SUM>
static __device__ __forceinline__ SUM march_product(int factor, SUM sum, SUM added)
{
    return (SUM)factor * sum + added;
}

/* ---- a chunk --------------------------------------------------------------------------------- */

/* Makes the column sums of the rows of the first window without its last row, and of the row before
 * them, which leaves first. */
template <typename T, typename SUM, bool GATHER>
static __device__ __forceinline__ void march_start(const struct march_plan *plan,
                                                   struct march_rows rows,
                                                   const struct march_columns<T, GATHER> *columns,
                                                   const struct march_ring<T> *ring, SUM (&sums)[4])
{
    enum { AT_ONCE = 16 };
    const int window = 2 * plan->radius + 1;
    for (int t = 0; t < window; t += AT_ONCE) {
        box_quad<T> quads[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            quads[k] = march_row(columns, rows.start[min(t + k, window - 1)]);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            if (t + k >= window)
                break;
            if (plan->border == BORDER_CONSTANT)
                march_fill(&quads[k], rows.start[t + k], columns->outside);
            for (int i = 0; i < 4; i++)
                sums[i] += march_sample<SUM, T>(quads[k].values[i], plan->sign);
            if (ring->keeps)
                ring->begin[(t + k) * ring->stride] = quads[k];
        }
    }
    for (int k = 0; k < MARCH_ROWS && !ring->keeps; k++)
        march_ask(ring->begin + k * ring->stride, columns, rows.leave[k]);
}

/* Loads the entering rows for output rows from j on. */
template <typename T, bool GATHER>
static __device__ __forceinline__ void march_enter(const struct march_columns<T, GATHER> *columns,
                                                   const int *enter,
                                                   box_quad<T> (&quads)[MARCH_ROWS])
{
    int rows[MARCH_ROWS];
#pragma unroll
    for (int k = 0; k < MARCH_ROWS; k += 4)
        *(int4 *)(rows + k) = *(const int4 *)(enter + k);
#pragma unroll
    for (int k = 0; k < MARCH_ROWS; k++)
        quads[k] = march_row(columns, rows[k]);
}

/* Makes the column sums of output rows j .. j + MARCH_ROWS - 1 as prefix sums over the thread's
 * four columns; their totals go to `offsets`. */
template <typename T, typename SUM, int THREADS, bool GATHER>
static __device__ __forceinline__ void
march_down(const struct march_plan *plan, struct march_rows rows, int j,
           const struct march_columns<T, GATHER> *columns, box_quad<T> (&entering)[MARCH_ROWS],
           struct march_ring<T> *ring, SUM (&sums)[4], march_four<SUM> (&prefix)[MARCH_ROWS],
           SUM *offsets)
{
    if (!ring->keeps)
        march_await();
    box_quad<T> leaving[MARCH_ROWS];
    box_quad<T> *slot = ring->next;
#pragma unroll
    for (int k = 0; k < MARCH_ROWS; k++) {
        leaving[k] = *slot;
        slot = march_next(slot, ring);
    }
    if (plan->border == BORDER_CONSTANT)
#pragma unroll
        for (int k = 0; k < MARCH_ROWS; k++) {
            march_fill(&entering[k], rows.enter[j + k], columns->outside);
            march_fill(&leaving[k], rows.leave[j + k], columns->outside);
        }
    slot = ring->next;
    if (ring->keeps)
#pragma unroll
        for (int k = 0; k < MARCH_ROWS; k++) {
            *slot = entering[k];
            slot = march_next(slot, ring);
        }
    else
#pragma unroll
        for (int k = 0; k < MARCH_ROWS; k++) {
            march_ask(slot, columns, rows.leave[j + k + MARCH_ROWS]);
            slot = march_next(slot, ring);
        }
    ring->next = slot;
#pragma unroll
    for (int k = 0; k < MARCH_ROWS; k++) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sums[i] += march_sample<SUM, T>(entering[k].values[i], plan->sign) -
                       march_sample<SUM, T>(leaving[k].values[i], plan->sign);
        SUM *const to = prefix[k].sums;
        to[0] = sums[0];
        to[1] = sums[0] + sums[1];
        to[2] = to[1] + sums[2];
        to[3] = to[1] + (sums[2] + sums[3]);
        offsets[k * THREADS + threadIdx.x] = to[3];
    }
}

/* Replaces each thread's total by the sum of the threads before it, with one warp for each row. */
template <typename SUM, int THREADS> static __device__ __forceinline__ void march_scan(SUM *offsets)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int round = 0; round < MARCH_ROWS; round += THREADS / 32) {
        const int row = round + (int)(threadIdx.x >> 5);
        if (row >= MARCH_ROWS)
            break;
        SUM carried = 0;
#pragma unroll
        for (int first = 0; first < THREADS; first += 128) {
            march_four<SUM> *const at =
                (march_four<SUM> *)(offsets + row * THREADS + first + 4 * lane);
            const march_four<SUM> four = *at;
            const SUM two = four.sums[0] + four.sums[1], three = two + four.sums[2],
                      all = two + (four.sums[2] + four.sums[3]);
            SUM before = all;
#pragma unroll
            for (int distance = 1; distance < 32; distance *= 2) {
                const SUM other = __shfl_up_sync(0xFFFFFFFF, before, distance);
                before += lane >= distance ? other : (SUM)0;
            }
            const SUM total = __shfl_sync(0xFFFFFFFF, before, 31);
            before += carried - all;
            carried += total;
            march_four<SUM> starts = {
                {before, before + four.sums[0], before + two, before + three}};
            *at = starts;
        }
    }
}

/* Most windows over an edge are described by 8 bytes: the places of both ends, whether each is
 * negative, and `whole` of both. The others are computed when they are used. */
enum {
    MARCH_HIGH_NEGATIVE = 1,
    MARCH_LOW_NEGATIVE = 2,
    MARCH_OTHERS = 4,
    MARCH_WHOLE = 8 /* the bits from here on hold `whole` */
};

template <typename T>
static __device__ void march_fill_ends(int2 *ends, const struct march_strip<T> *strip,
                                       const struct march_plan *plan)
{
    for (int i = threadIdx.x; i < strip->out_end - strip->out_first; i += blockDim.x) {
        const int x = strip->out_first + i, offset = MARCH_BEFORE - strip->first;
        const struct march_ends high = march_ends_of(x + plan->radius + 1, plan->nx, plan->border);
        const struct march_ends low = march_ends_of(x - plan->radius, plan->nx, plan->border);
        const bool others = high.sign == 0 || low.sign == 0 || high.first != 0 || low.first != 0 ||
                            high.last != 0 || low.last != 0;
        ends[i].x = others ? 0 : (high.place + offset) | (low.place + offset) << 16;
        ends[i].y = (high.sign < 0 ? MARCH_HIGH_NEGATIVE : 0) |
                    (low.sign < 0 ? MARCH_LOW_NEGATIVE : 0) | (others ? MARCH_OTHERS : 0) |
                    (high.whole - low.whole) * MARCH_WHOLE;
    }
}

/* Sums windows in MARCH_ROWS rows that have one or both ends outside the strip. */
template <typename T, typename SUM, int LENGTH>
static __device__ __forceinline__ void march_edge(const struct march_strip<T> *strip, int2 packed,
                                                  const SUM *rows, SUM (&sums)[MARCH_ROWS])
{
    const SUM *const right = rows + (packed.x & 0xFFFF), *const left = rows + (packed.x >> 16);
    const SUM *const end = rows + MARCH_BEFORE + strip->columns;
    const int high = packed.y & MARCH_HIGH_NEGATIVE ? -1 : 1,
              low = packed.y & MARCH_LOW_NEGATIVE ? 1 : -1;
    const int whole = packed.y >> 3;
#pragma unroll
    for (int k = 0; k < MARCH_ROWS; k++)
        sums[k] = march_product(high, right[k * LENGTH],
                                march_product(low, left[k * LENGTH], (SUM)whole * end[k * LENGTH]));
}
template <typename T, typename SUM, int LENGTH>
static __device__ __forceinline__ void
march_other_edge(const struct march_strip<T> *strip, const struct march_plan *plan, const SUM *rows,
                 SUM beyond, int x, SUM (&sums)[MARCH_ROWS])
{
    const struct march_ends high = march_ends_of(x + plan->radius + 1, plan->nx, plan->border);
    const struct march_ends low = march_ends_of(x - plan->radius, plan->nx, plan->border);
    const SUM *const right = rows + MARCH_BEFORE + (high.sign ? high.place - strip->first : 0);
    const SUM *const left = rows + MARCH_BEFORE + (low.sign ? low.place - strip->first : 0);
    const SUM *const end = rows + MARCH_BEFORE + strip->columns;
    const int whole = high.whole - low.whole, first = high.first - low.first,
              last = high.last - low.last;
    const SUM constant = march_product(high.outside - low.outside, beyond, (SUM)0);
#pragma unroll
    for (int k = 0; k < MARCH_ROWS; k++) {
        const SUM inside = march_product(high.sign, right[k * LENGTH],
                                         march_product(-low.sign, left[k * LENGTH], constant));
        sums[k] = march_product(whole, end[k * LENGTH],
                                march_product(first, rows[k * LENGTH + MARCH_BEFORE + 1],
                                              march_product(last, end[k * LENGTH - 1], inside)));
    }
}

/* Returns a bit for each round of march_across: 1 if a window of the warp reaches outside the strip
 * in it. */
template <typename T, int THREADS>
static __device__ unsigned march_edges(const struct march_strip<T> *strip,
                                       const struct march_plan *plan)
{
    unsigned edges = 0;
    for (int round = 0; round < MARCH_COLUMNS; round++) {
        const int x =
            min(strip->out_first + round * THREADS + (int)threadIdx.x, strip->out_end - 1) -
            strip->first;
        const bool reaches = x < plan->radius || x + plan->radius >= strip->columns;
        edges |= __any_sync(0xFFFFFFFF, reaches) ? 1u << round : 0;
    }
    return edges;
}

/* Writes the means of the windows of output rows from j on. ALL: there are MARCH_ROWS of them. */
template <typename T, typename SUM, int THREADS, bool ALL>
static __device__ __forceinline__ void
march_across(const struct march_strip<T> *strip, const struct march_plan *plan, unsigned edges,
             const int2 *ends, const SUM *rows, SUM beyond, int j)
{
    enum { LENGTH = MARCH_COLUMNS * THREADS + 8 };
    const int64_t pitch = (int64_t)strip->step * plan->nx;
    const int first = strip->out_first + (int)threadIdx.x, left = strip->rows - j;
    const SUM *const high = rows + MARCH_BEFORE + (first + plan->radius + 1 - strip->first);
    const SUM *const low = rows + MARCH_BEFORE + (first - plan->radius - strip->first);
    T *to[MARCH_ROWS];
#pragma unroll
    for (int k = 0; k < MARCH_ROWS; k++)
        to[k] = strip->out + (int64_t)(strip->row + j * strip->step) * plan->nx + first + k * pitch;
#pragma unroll
    for (int round = 0; round < MARCH_COLUMNS; round++) {
        if (first + round * THREADS >= strip->out_end)
            break;
        SUM sums[MARCH_ROWS];
        if (!(edges >> round & 1)) {
            SUM lows[MARCH_ROWS];
#pragma unroll
            for (int k = 0; k < MARCH_ROWS; k++) {
                sums[k] = high[k * LENGTH + round * THREADS];
                lows[k] = low[k * LENGTH + round * THREADS];
            }
#pragma unroll
            for (int k = 0; k < MARCH_ROWS; k++)
                sums[k] -= lows[k];
        } else {
            const int2 packed = ends[round * THREADS + threadIdx.x];
            if (packed.y & MARCH_OTHERS)
                march_other_edge<T, SUM, LENGTH>(strip, plan, rows, beyond, first + round * THREADS,
                                                 sums);
            else
                march_edge<T, SUM, LENGTH>(strip, packed, rows, sums);
        }
#pragma unroll
        for (int k = 0; k < MARCH_ROWS; k++) {
            const T mean = march_mean<T, SUM>(sums[k], plan);
            if (ALL || k < left)
                __stcs(to[k] + round * THREADS, mean);
        }
    }
}

/* Computes the chunk again, and adds every window from its samples. */
static __device__ __noinline__ void march_repair(const float *in, float *out,
                                                 const struct march_plan *plan, float outside,
                                                 double *sums)
{
    const struct march_strip<float> strip = march_strip_of(in, out, plan);
    for (int j = 0; j < strip.rows; j++) {
        for (int i = threadIdx.x; i < strip.columns; i += blockDim.x) {
            const int x = (int)ts_cuda_border_index(strip.first + i, plan->nx, plan->border);
            double sum = 0;
            for (int k = -plan->radius; k <= plan->radius; k++) {
                const int64_t y =
                    ts_cuda_border_index(strip.row + (j + k) * strip.step, plan->ny, plan->border);
                sum += (double)(y < 0 || x < 0 ? outside : strip.in[y * plan->nx + x]);
            }
            sums[i] = sum;
        }
        __syncthreads();
        for (int x = strip.out_first + (int)threadIdx.x; x < strip.out_end; x += blockDim.x) {
            double sum = 0;
            for (int k = x - plan->radius; k <= x + plan->radius; k++) {
                const int i =
                    plan->beyond ? k : (int)ts_cuda_border_index(k, plan->nx, plan->border);
                sum += i < 0 && !plan->beyond ? (double)outside * (2 * plan->radius + 1)
                                              : sums[i - strip.first];
            }
            strip.out[(int64_t)(strip.row + j * strip.step) * plan->nx + x] =
                march_mean<float, double>(sum, plan);
        }
        __syncthreads();
    }
}

/* `beyond` is the sum of a column outside the image. */
template <typename T, typename SUM, int THREADS, bool GATHER>
static __global__ void __launch_bounds__(THREADS, THREADS > 128      ? 1
                                                  : sizeof(SUM) == 8 ? 2
                                                                     : 5)
    fused_march(const T *in, T *out, const __grid_constant__ struct march_plan plan, T outside,
                SUM beyond)
{
    enum { LENGTH = MARCH_COLUMNS * THREADS + 8 };
    extern __shared__ __align__(16) char shared[];
    SUM *const sums_of_rows = (SUM *)shared, *const offsets = sums_of_rows + MARCH_ROWS * LENGTH;
    int2 *const ends = (int2 *)(offsets + MARCH_ROWS * THREADS);
    int *const table = (int *)(ends + MARCH_COLUMNS * THREADS);
    const struct march_rows rows = {table, table + plan.cut.table, table + 2 * plan.cut.table};
    const struct march_strip<T> strip = march_strip_of(in, out, &plan);
    const struct march_columns<T, GATHER> columns =
        march_columns_of<T, GATHER>(&strip, &plan, outside);
    struct march_ring<T> ring =
        march_ring_of((box_quad<T> *)(shared + plan.cut.rings), &plan, THREADS);
    march_fill_rows(rows, &strip, &plan);
    march_fill_ends(ends, &strip, &plan);
    if (threadIdx.x < MARCH_ROWS)
        sums_of_rows[threadIdx.x * LENGTH + MARCH_BEFORE] = 0;
    __syncthreads();
    const unsigned edges = march_edges<T, THREADS>(&strip, &plan);
    SUM sums[4] = {0, 0, 0, 0};
    box_quad<T> entering[MARCH_ROWS];
    march_start(&plan, rows, &columns, &ring, sums);
    march_enter(&columns, rows.enter, entering);
    SUM *const mine = sums_of_rows + MARCH_BEFORE + 1 + MARCH_COLUMNS * threadIdx.x;
    for (int j = 0; j < strip.rows; j += MARCH_ROWS) {
        march_four<SUM> prefix[MARCH_ROWS];
        march_down<T, SUM, THREADS>(&plan, rows, j, &columns, entering, &ring, sums, prefix,
                                    offsets);
        march_enter(&columns, rows.enter + j + MARCH_ROWS, entering);
        __syncthreads();
        march_scan<SUM, THREADS>(offsets);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < MARCH_ROWS; k++) {
            const SUM offset = offsets[k * THREADS + threadIdx.x];
            for (int i = 0; i < 4; i++)
                prefix[k].sums[i] += offset;
            *(march_four<SUM> *)(mine + k * LENGTH) = prefix[k];
        }
        __syncthreads();
        if (j + MARCH_ROWS <= strip.rows)
            march_across<T, SUM, THREADS, true>(&strip, &plan, edges, ends, sums_of_rows, beyond,
                                                j);
        else
            march_across<T, SUM, THREADS, false>(&strip, &plan, edges, ends, sums_of_rows, beyond,
                                                 j);
    }
    if constexpr ((T)0.5 != 0) {
        /* Threads beyond the strip repeat its last columns, so their sums tell nothing new. */
        bool strange = false;
        for (int i = 0; i < 4; i++)
            strange |= !(fabs(sums[i]) <= DBL_MAX);
        if (__syncthreads_or(strange))
            march_repair(in, out, &plan, outside, (double *)shared);
    }
}

#endif
