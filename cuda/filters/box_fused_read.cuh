/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of box_fused_march.cuh read with this. It has a block's strip and chunk, the rows of the image that its rows
 * stand for, the 4 columns of a thread, and the ring of leaving rows. A row costs a thread one access of 4 values where
 * rows start at multiples of 4 and the strip lies inside the image, else 4. There is no barrier, because no other
 * thread reads what a thread keeps in shared memory.
 */
#ifndef CUDA_FILTERS_BOX_FUSED_READ_CUH
#define CUDA_FILTERS_BOX_FUSED_READ_CUH

#include "cuda/filters/box_quad.cuh"

enum { MARCH_ROWS = BOX_MARCH_ROWS, MARCH_COLUMNS = BOX_MARCH_COLUMNS };

struct march_plan : box_image {
    int64_t slice; /* elements */
    int radius;
    struct box_march cut;
    bool beyond; /* strips own columns outside the image */
    struct box_mean mean;
};

/* A block does this part of the image. */
template <typename T> struct march_strip {
    const T *in;
    T *out;
    int first, columns; /* whose sums it makes */
    int out_first, out_end;
    int row, step; /* the image's first row of outputs, and +1 or -1 */
    int rows;      /* how many rows of outputs follow */
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

/* A thread gets its 4 columns of a row in one of these ways. */
template <typename T, bool GATHER>
struct march_columns {
    const T *in; /* GATHER: of the slice; else of the thread's first column */
    int from[GATHER ? 4 : 1];
    int pitch; /* bytes of a row */
    T outside;
};

template <typename T, bool GATHER>
static __device__ struct march_columns<T, GATHER> march_columns_of(const struct march_strip<T> *strip,
                                                                   const struct march_plan *plan, T outside) {
    struct march_columns<T, GATHER> columns;
    const int column = strip->first + MARCH_COLUMNS * (int)threadIdx.x, last = strip->first + strip->columns - 1;
    columns.pitch = plan->nx * (int)sizeof(T);
    columns.outside = outside;
    columns.in = strip->in;
    /* Threads beyond the strip read its last columns: nothing follows from their sums. */
    if constexpr (GATHER) {
        for (int i = 0; i < 4; i++)
            columns.from[i] = (int)ts_cuda_border_index(min(column + i, last), plan->nx, plan->border);
    } else {
        columns.in += min(column, last - 3);
        columns.from[0] = 0;
    }
    return columns;
}

/* Loads row y >= 0. A row outside the image is filled with the constant when it is used (march_fill). */
template <typename T, bool GATHER>
static __device__ __forceinline__ box_quad<T> march_row(const struct march_columns<T, GATHER> *columns, int y)
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

template <typename T> static __device__ __forceinline__ void march_fill(box_quad<T> *quad, int y, T outside)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        quad->values[i] = y < 0 ? outside : quad->values[i];
}

/* The rows of the image that rows of the march stand for, -1 outside: enter[j] and leave[j] of output row j, and those
 * of the sums before the first one, with the one that leaves first. Entries beyond the chunk repeat its last. */
struct march_rows {
    int *enter, *leave, *start;
};

template <typename T>
static __device__ void march_fill_rows(struct march_rows rows, const struct march_strip<T> *strip,
                                       const struct march_plan *plan)
{
    for (int j = threadIdx.x; j < plan->cut.table; j += blockDim.x) {
        const int row = strip->row + min(j, strip->rows - 1) * strip->step, distance = plan->radius * strip->step;
        rows.enter[j] = ts_cuda_border_apart(row + distance, plan->ny, plan->border);
        rows.leave[j] = ts_cuda_border_apart(row - distance - strip->step, plan->ny, plan->border);
    }
    for (int j = threadIdx.x; j <= 2 * plan->radius; j += blockDim.x)
        rows.start[j] = ts_cuda_border_apart(strip->row + (j - 1 - plan->radius) * strip->step, plan->ny, plan->border);
}

/* The leaving rows of a thread's next steps. A thread that keeps its samples has the rows of a window, and puts the
 * entering row into the place of the leaving one; others have the rows of a step, and load the row that leaves a step
 * later. */
template <typename T> struct march_ring {
    box_quad<T> *begin, *end, *next;
    int stride;
    bool keeps;
};

template <typename T>
static __device__ struct march_ring<T> march_ring_of(box_quad<T> *rings, const struct march_plan *plan, int threads) {
    const int keepers = 32 * plan->cut.keepers, window = 2 * plan->radius + 1, thread = threadIdx.x;
    struct march_ring<T> ring;
    ring.keeps = thread < keepers;
    ring.stride = ring.keeps ? keepers : threads - keepers;
    ring.begin = ring.keeps ? rings + thread : rings + (int64_t)keepers * window + (thread - keepers);
    ring.end = ring.begin + (ring.keeps ? window : MARCH_ROWS) * ring.stride;
    ring.next = ring.begin;
    return ring;
}

template <typename T>
static __device__ __forceinline__ box_quad<T> *march_next(box_quad<T> *slot, const struct march_ring<T> *ring)
{
    slot += ring->stride;
    return slot == ring->end ? ring->begin : slot;
}

/* Copies from global to shared memory, past the registers where the device can do so. */
template <typename T, bool GATHER>
static __device__ __forceinline__ void march_ask(box_quad<T> *to, const struct march_columns<T, GATHER> *columns, int y)
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
/* Waits until all that the thread asked for is there. */
static __device__ __forceinline__ void march_await(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#endif
