/* SPDX-License-Identifier: Apache-2.0
 *
 * box in 3D in one pass. A block owns a tile of BOX_VOLUME_COLUMNS columns and ROWS rows, and goes
 * through a chunk of slices. A step:
 *
 *     load     the tile of slice k with its halo, which was asked for a step before, from registers
 *              to shared memory; the next one is asked for
 *     columns  each thread adds down S rows of a column (integers: of two columns side by side)
 *     rows     each thread adds along 8 columns of a row, which are its own from here on: 2D sums
 *     slices   sums of the last 2 radius + 1 slices, by a ring of 2D sums in shared memory, each
 *              thread its own
 *
 * with barriers between the first three; or, TOGETHER, with one barrier a step, which adds the
 * columns of slice k - 1 and the rows of slice k - 2.
 *
 * Memory traffic: one read and one write a pixel, plus 2 radius slices for each chunk; the tiles'
 * halos come from the second cache, (64 + 2 radius)(ROWS + 2 radius) reads for 64 ROWS outputs. A
 * block has 8 ROWS threads, one for each run of 8 columns: the ring of a large window takes most of
 * a multiprocessor's shared memory, that of a small one lets several blocks share it.
 */
#ifndef CUDA_FILTERS_BOX_FUSED_VOLUME_CUH
#define CUDA_FILTERS_BOX_FUSED_VOLUME_CUH

#include "cuda/filters/box_quad.cuh"

/* ---- box fused volume sums ---------------------------------------------------------------------
 *
 * These functions sum for box_fused_volume.cuh: down the columns of a tile, along its rows, and
 * over the slices of a window.
 *
 * Integers (8 and 16 bits) add what enters and subtract what leaves, exactly. Floats never
 * subtract, so that neither where a chunk starts nor a NaN of another window shows: the samples
 * that neighboring windows have in common are added once, then the sum grows to the left and to the
 * right; along z, blocks of 2 radius + 1 slices at places fixed by the volume give sums to their
 * ends, which wait in the ring, and the next block adds those from its start (M. van Herk, 1992,
 * for maxima). Blocks of neighboring tiles begin at different slices, because their ends cost
 * more. */

enum {
    VOLUME_RUN = BOX_VOLUME_RUN, /* columns of a thread in the pass along the rows */
    VOLUME_RUNS = BOX_VOLUME_COLUMNS / VOLUME_RUN /* runs in a row */
};

/* Returns how many 2D sums of a thread the ring holds. */
template <typename T> static inline __host__ __device__ constexpr int volume_slots(int radius)
{
    return (T)0.5 != 0 ? 2 * radius : 2 * radius + 1;
}

/* Returns how many neighboring outputs share their common samples: the largest divisor of n that is
 * at most the window. */
static inline __host__ __device__ constexpr int volume_group(int n, int window)
{
    int group = n < window ? n : window;
    while (n % group != 0)
        group--;
    return group;
}

/* Writes to sums[j] the sum of samples[j .. j + 2 R]. */
template <int R, int N>
static __device__ __forceinline__ void volume_windows(const float (&samples)[N + 2 * R],
                                                      float (&sums)[N])
{
    constexpr int G = volume_group(N, 2 * R + 1);
#pragma unroll
    for (int first = 0; first < N; first += G) {
        float common = samples[first + G - 1], more = 0;
#pragma unroll
        for (int k = first + G; k <= first + 2 * R; k++)
            common += samples[k];
        sums[first + G - 1] = common;
#pragma unroll
        for (int j = first + G - 2; j >= first; j--)
            sums[j] = common += samples[j];
#pragma unroll
        for (int j = first + 1; j < first + G; j++) {
            more = j == first + 1 ? samples[j + 2 * R] : more + samples[j + 2 * R];
            sums[j] += more;
        }
    }
}
template <int R, int N>
static __device__ __forceinline__ void volume_windows(const uint32_t (&samples)[N + 2 * R],
                                                      uint32_t (&sums)[N])
{
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k <= 2 * R; k++)
        sum += samples[k];
    sums[0] = sum;
#pragma unroll
    for (int j = 1; j < N; j++)
        sums[j] = sums[j - 1] + samples[j + 2 * R] - samples[j - 1];
}

/* Returns the place in its row of a group of four column sums, so that 8 threads whose groups are
 * two apart use all banks. */
static __device__ __forceinline__ int volume_place(int quad)
{
    return quad ^ (quad >> 3 & 1);
}

/* The work of a thread in the pass down the columns: S rows of one column, or of two side by side.
 * Columns outside the image have the sums of the columns that replace them, or of a column of
 * constants behind the tile's. */
struct volume_unit {
    int from, other; /* places of the first samples; `other` is the second column of integers */
    int to;
    bool works;
};

template <typename T, int R, int S, int ROWS>
static __device__ struct volume_unit volume_unit_of(const int *columns, int x_tile, bool own)
{
    enum { WIDTH = BOX_VOLUME_WIDTH(R), STEP = sizeof(T) == 4 ? 1 : 2, UNITS = WIDTH / STEP };
    enum {
        THREADS = ROWS * VOLUME_RUNS,
        STRETCHES = (ROWS + S - 1) / S,
        WHOLE = (UNITS + 31) / 32 * 32
    };
    /* The stretches of floats consist of whole warps if there are enough, because two stretches in
     * one warp would use the same banks. */
    enum { APART = STEP == 1 && WHOLE * STRETCHES <= THREADS ? WHOLE : UNITS };
    static_assert(APART * STRETCHES <= THREADS, "more columns than threads");
    static_assert(sizeof(T) < 4 || ROWS % S == 0,
                  "the last bits of a float sum depend on who adds it");
    const int place = (int)threadIdx.x % APART, stretch = (int)threadIdx.x / APART;
    const int column = min(place, UNITS - 1) * STEP, row = min(stretch * S, ROWS - S);
    const int x = own ? x_tile + column : columns[column];
    const int other = own ? x + STEP - 1 : columns[column + STEP - 1];
    struct volume_unit unit;
    unit.works = place < UNITS && stretch < STRETCHES;
    unit.from = row * BOX_VOLUME_PITCH(R) + (!own && x < 0 ? WIDTH : x - x_tile);
    unit.other = row * BOX_VOLUME_PITCH(R) + (!own && other < 0 ? WIDTH : other - x_tile);
    unit.to = row * WIDTH + 4 * volume_place(column / 4) + column % 4;
    return unit;
}

template <int R, int S>
static __device__ __forceinline__ void volume_samples(const float *tile, struct volume_unit unit,
                                                      float (&samples)[S + 2 * R])
{
#pragma unroll
    for (int k = 0; k < S + 2 * R; k++)
        samples[k] = tile[unit.from + k * BOX_VOLUME_PITCH(R)];
}
template <int R, int S, typename T>
static __device__ __forceinline__ void volume_samples(const T *tile, struct volume_unit unit,
                                                      uint32_t (&samples)[S + 2 * R])
{
    typedef typename std::conditional<sizeof(T) == 2, uint32_t, uint16_t>::type PAIR;
    if (unit.other == unit.from + 1 && unit.from % 2 == 0) {
        const PAIR *pairs = (const PAIR *)(tile + unit.from);
#pragma unroll
        for (int k = 0; k < S + 2 * R; k++)
            samples[k] = pairs[k * (BOX_VOLUME_PITCH(R) / 2)];
    } else {
#pragma unroll
        for (int k = 0; k < S + 2 * R; k++)
            samples[k] = (uint32_t)tile[unit.from + k * BOX_VOLUME_PITCH(R)] |
                         (uint32_t)tile[unit.other + k * BOX_VOLUME_PITCH(R)] << (8 * sizeof(T));
    }
}

template <int R, int S>
static __device__ __forceinline__ void volume_down(float *sums, struct volume_unit unit,
                                                   const float (&samples)[S + 2 * R], const float *)
{
    float results[S];
    volume_windows<R, S>(samples, results);
#pragma unroll
    for (int j = 0; j < S; j++)
        sums[unit.to + j * BOX_VOLUME_WIDTH(R)] = results[j];
}
/* For integers: sums both columns at once, as sums of the pairs modulo 2^32 and sums of their upper
 * halves. */
template <int R, int S, typename T>
static __device__ __forceinline__ void volume_down(uint32_t *sums, struct volume_unit unit,
                                                   const uint32_t (&pairs)[S + 2 * R], const T *)
{
    enum { BITS = 8 * sizeof(T) };
    uint32_t uppers[S + 2 * R], both[S], upper[S];
#pragma unroll
    for (int k = 0; k < S + 2 * R; k++)
        uppers[k] = pairs[k] >> BITS;
    volume_windows<R, S>(pairs, both);
    volume_windows<R, S>(uppers, upper);
#pragma unroll
    for (int j = 0; j < S; j++)
        *(uint2 *)(sums + unit.to + j * BOX_VOLUME_WIDTH(R)) =
            make_uint2(both[j] - (upper[j] << BITS), upper[j]);
}

template <typename V> struct __align__(16) volume_four
{
    V values[4];
};

/* Loads the column sums that the thread's windows consist of. */
template <int R, typename V>
static __device__ __forceinline__ void volume_columns(const V *row, int run,
                                                      V (&samples)[VOLUME_RUN + 2 * R])
{
    enum { HALO = BOX_VOLUME_HALO(R), QUADS = (VOLUME_RUN + 2 * HALO) / 4 };
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const volume_four<V> four = *(const volume_four<V> *)(row + 4 * volume_place(2 * run + q));
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (4 * q + i >= HALO - R && 4 * q + i < VOLUME_RUN + HALO + R)
                samples[4 * q + i - (HALO - R)] = four.values[i];
    }
}

/* Reads a thread's slot of the ring: two groups of four. */
template <int THREADS, typename V>
static __device__ __forceinline__ void volume_get(const volume_four<V> *ring, int slot,
                                                  V (&sums)[VOLUME_RUN])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const volume_four<V> four = ring[(2 * slot + half) * THREADS];
#pragma unroll
        for (int i = 0; i < 4; i++)
            sums[4 * half + i] = four.values[i];
    }
}
template <int THREADS, typename V>
static __device__ __forceinline__ void volume_put(volume_four<V> *ring, int slot,
                                                  const V (&sums)[VOLUME_RUN])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        volume_four<V> four;
#pragma unroll
        for (int i = 0; i < 4; i++)
            four.values[i] = sums[4 * half + i];
        ring[(2 * slot + half) * THREADS] = four;
    }
}

/* `sums` are those of the entering slice. `totals` become those of the window that ends with it, if
 * enough slices (`seen`) came before; `place` is the place of the slice in its block of 2 R + 1. */
template <int R, int THREADS>
static __device__ __forceinline__ void
volume_add(const float (&sums)[VOLUME_RUN], float (&prefix)[VOLUME_RUN], volume_four<float> *ring,
           int place, int, float (&totals)[VOLUME_RUN])
{
#pragma unroll
    for (int i = 0; i < VOLUME_RUN; i++)
        totals[i] = prefix[i] = place == 0 ? sums[i] : prefix[i] + sums[i];
    if (place < 2 * R) { /* slot p has the sum from slice p + 1 to the end of the block before, or
                          * slice p + 1 itself */
        float rest[VOLUME_RUN];
        volume_get<THREADS>(ring, place, rest);
        if (place > 0)
            volume_put<THREADS>(ring, place - 1, sums);
#pragma unroll
        for (int i = 0; i < VOLUME_RUN; i++)
            totals[i] += rest[i];
    } else {
        float rest[VOLUME_RUN];
#pragma unroll
        for (int i = 0; i < VOLUME_RUN; i++)
            rest[i] = sums[i];
        volume_put<THREADS>(ring, 2 * R - 1, rest);
#pragma unroll
        for (int slot = 2 * R - 2; slot >= 0; slot--) {
            float slice[VOLUME_RUN];
            volume_get<THREADS>(ring, slot, slice);
#pragma unroll
            for (int i = 0; i < VOLUME_RUN; i++)
                rest[i] += slice[i];
            volume_put<THREADS>(ring, slot, rest);
        }
    }
}
/* For integers, `prefix` has the window's sum. */
template <int R, int THREADS>
static __device__ __forceinline__ void
volume_add(const uint32_t (&sums)[VOLUME_RUN], uint32_t (&prefix)[VOLUME_RUN],
           volume_four<uint32_t> *ring, int place, int seen, uint32_t (&totals)[VOLUME_RUN])
{
    uint32_t leaving[VOLUME_RUN] = {};
    if (seen > 2 * R)
        volume_get<THREADS>(ring, place, leaving);
    volume_put<THREADS>(ring, place, sums);
#pragma unroll
    for (int i = 0; i < VOLUME_RUN; i++)
        totals[i] = prefix[i] += sums[i] - leaving[i];
}

struct volume_plan : box_image {
    int across, down; /* number of tiles across and down */
    struct box_volume cut;
    int chunk; /* slices of a chunk */
    int64_t z_first;
    bool wide; /* true if 8 columns are one access */
};

template <typename T>
static __device__ __forceinline__ T volume_mean(uint32_t total, const struct volume_plan *plan)
{
    return (T)((__umulhi(total + plan->divisor.half, plan->divisor.factor) >> plan->divisor.shift) ^
               plan->sign);
}
template <typename T>
static __device__ __forceinline__ T volume_mean(float total, const struct volume_plan *plan)
{
    return total * plan->scale;
}

/* Return one sample, or four, with the sign bits flipped if they are signed integers. */
template <typename T> static __device__ __forceinline__ T volume_flipped(T value, uint32_t sign)
{
    if constexpr (std::is_same<T, float>::value)
        return value;
    else
        return (T)(value ^ sign);
}
template <typename T>
static __device__ __forceinline__ box_word<T> volume_flipped_word(box_word<T> word, uint32_t sign)
{
    if constexpr (sizeof(T) == 1)
        word ^= sign * 0x01010101u;
    if constexpr (sizeof(T) == 2)
        word = make_uint2(word.x ^ sign * 0x00010001u, word.y ^ sign * 0x00010001u);
    return word;
}

/* The image's columns and rows that the tile's samples come from, -1 for the constant. */
struct volume_from {
    const int *columns, *rows;
    int quads; /* groups of four samples in the tile */
};

/* A thread loads the quads threadIdx.x + i THREADS of the tile, rows first, from at[i] of the slice
 * (-1: there is none) to to[i] of the tile (-1: there is none). */
template <int LOADS> struct volume_quads {
    int at[LOADS], to[LOADS];
};

template <int R, int THREADS, int LOADS>
static __device__ void volume_find(struct volume_from from, int nx, int x_tile, bool wraps,
                                   struct volume_quads<LOADS> *quads)
{
    enum { QUADS = BOX_VOLUME_WIDTH(R) / 4 };
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int quad = (int)threadIdx.x + i * THREADS;
        const int x = wraps ? from.columns[quad % QUADS * 4] : x_tile + quad % QUADS * 4;
        const int y = quad < from.quads ? from.rows[quad / QUADS] : -1;
        quads->at[i] = y >= 0 && x >= 0 && x < nx ? y * nx + x : -1;
        quads->to[i] =
            quad < from.quads ? quad / QUADS * BOX_VOLUME_PITCH(R) + quad % QUADS * 4 : -1;
    }
}

template <typename T, int R, int LOADS>
static __device__ __forceinline__ void volume_keep(const box_quad<T> (&next)[LOADS],
                                                   const struct volume_quads<LOADS> *quads,
                                                   uint32_t sign, T *tile)
{
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        if (quads->to[i] >= 0)
            *(box_word<T> *)(tile + quads->to[i]) = volume_flipped_word<T>(next[i].raw, sign);
}

/* Groups without samples of the image keep what `next` had. */
template <typename T, int LOADS>
static __device__ __forceinline__ void
volume_load(const T *slice, const struct volume_quads<LOADS> *quads, box_quad<T> (&next)[LOADS])
{
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        if (quads->at[i] >= 0)
            next[i].raw = *(const box_word<T> *)(slice + quads->at[i]);
}

/* Loads rows that do not start at multiples of 4, sample by sample; a thread starts all its loads
 * before it waits for the first. */
template <typename T, int R, int THREADS, int LOADS>
static __device__ __noinline__ void volume_gather(const T *slice, struct volume_from from, int nx,
                                                  T outside, uint32_t sign, T *tile)
{
    enum { QUADS = BOX_VOLUME_WIDTH(R) / 4 };
    T values[LOADS][4];
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int quad = min((int)threadIdx.x + i * THREADS, from.quads - 1),
                  y = from.rows[quad / QUADS];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int x = from.columns[quad % QUADS * 4 + k];
            values[i][k] = y < 0 || x < 0 ? outside : slice[(int64_t)y * nx + x];
        }
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int quad = (int)threadIdx.x + i * THREADS;
        for (int k = 0; k < 4 && quad < from.quads; k++)
            tile[quad / QUADS * BOX_VOLUME_PITCH(R) + quad % QUADS * 4 + k] =
                volume_flipped(values[i][k], sign);
    }
}

static __device__ __forceinline__ void volume_store_eight(uint16_t *to,
                                                          const box_quad<uint16_t> (&halves)[2])
{
    *(uint4 *)to = make_uint4(halves[0].raw.x, halves[0].raw.y, halves[1].raw.x, halves[1].raw.y);
}
static __device__ __forceinline__ void volume_store_eight(uint8_t *to,
                                                          const box_quad<uint8_t> (&halves)[2])
{
    *(uint2 *)to = make_uint2(halves[0].raw, halves[1].raw);
}

/* Stores the thread's means in a row that has `left` columns from the thread's first on. If 8
 * columns are more than 16 bytes, two neighboring threads swap halves, so that each access writes
 * whole sectors of 32 bytes. */
template <typename T, typename V>
static __device__ __forceinline__ void volume_store(T *to, const V (&totals)[VOLUME_RUN],
                                                    const struct volume_plan *plan, int left)
{
    T means[VOLUME_RUN];
#pragma unroll
    for (int i = 0; i < VOLUME_RUN; i++)
        means[i] = volume_mean<T>(totals[i], plan);
    if (!plan->aligned) {
        for (int i = 0; i < VOLUME_RUN && i < left; i++)
            to[i] = means[i];
        return;
    }
    box_quad<T> halves[2];
#pragma unroll
    for (int i = 0; i < VOLUME_RUN; i++)
        halves[i / 4].values[i % 4] = means[i];
    if constexpr (sizeof(T) == 4) {
        const bool odd = threadIdx.x & 1;
        const int theirs = __shfl_xor_sync(0xFFFFFFFF, left, 1);
        box_quad<T> given, taken;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            given.values[i] = odd ? halves[0].values[i] : halves[1].values[i];
            taken.values[i] = __shfl_xor_sync(0xFFFFFFFF, given.values[i], 1);
        }
        /* The even thread's 8 columns come first, then the odd one's. */
        const box_quad<T> first = odd ? taken : halves[0], second = odd ? halves[1] : taken;
        T *const even = odd ? to - 4 : to, *const behind = odd ? to + 4 : to + VOLUME_RUN;
        if ((odd ? theirs - 4 : left) > 0)
            *(uint4 *)even = first.raw;
        if ((odd ? left - 4 : theirs) > 0)
            *(uint4 *)behind = second.raw;
    } else if (plan->wide && left > 0) {
        volume_store_eight(to, halves);
    } else {
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (4 * half < left)
                *(box_word<T> *)(to + 4 * half) = halves[half].raw;
    }
}

/* The part of the volume that a block does. */
struct volume_part {
    int x_first, y_first, x_tile, place; /* x_tile: first column of the tile with its halo; place:
                                          * place of slice 0 in its block */
    int64_t z_first;
    int slices; /* number of slices, including those before the first output */
};

template <int R, int ROWS>
static __device__ struct volume_part volume_part_of(const struct volume_plan *plan)
{
    const unsigned across = blockIdx.x % plan->across,
                   down = blockIdx.x / plan->across % plan->down;
    struct volume_part part;
    part.x_first = (int)across * BOX_VOLUME_COLUMNS;
    part.y_first = (int)down * ROWS;
    part.x_tile = part.x_first - BOX_VOLUME_HALO(R);
    part.z_first = (int64_t)(blockIdx.x / plan->across / plan->down) * plan->chunk;
    part.slices = (int)min((int64_t)plan->chunk, plan->nz - part.z_first) + 2 * R;
    part.place = (int)((plan->z_first + part.z_first + down * 5 + across * 2) % (2 * R + 1));
    return part;
}

/* Fills the tables of columns and rows, and the column of constants behind the columns of both
 * tiles. Returns true if the samples must be fetched one by one: if rows do not start at multiples
 * of 4, or a column is replaced by one outside the tile. */
template <typename T, int R, int ROWS>
static __device__ bool volume_tables(const struct volume_plan *plan, const struct volume_part *part,
                                     bool wraps, T constant, int *columns, int *rows, T *tile,
                                     T *other)
{
    enum { THREADS = ROWS * VOLUME_RUNS, WIDTH = BOX_VOLUME_WIDTH(R), PITCH = BOX_VOLUME_PITCH(R) };
    bool elsewhere = !plan->aligned;
    for (int i = threadIdx.x; i < WIDTH; i += THREADS) {
        const bool needed = part->x_tile + i < plan->nx + BOX_VOLUME_HALO(R);
        const int x = needed ? ts_cuda_border_apart(part->x_tile + i, plan->nx, plan->border) : -1;
        columns[i] = x;
        elsewhere |= !wraps && x >= 0 && (x < part->x_tile || x >= part->x_tile + WIDTH);
    }
    for (int i = threadIdx.x; i < ROWS + 2 * R; i += THREADS) {
        rows[i] = ts_cuda_border_apart(part->y_first - R + i, plan->ny, plan->border);
        for (int k = WIDTH; k < PITCH; k++)
            tile[i * PITCH + k] = other[i * PITCH + k] = constant;
    }
    return __syncthreads_or(elsewhere);
}

/* A thread adds S rows in the pass down the columns; the registers of a multiprocessor must allow
 * BLOCKS blocks. */
template <typename T, int R, int ROWS, int S, int LOADS, bool TOGETHER, int BLOCKS>
static __global__ void __launch_bounds__(ROWS *VOLUME_RUNS, BLOCKS)
    fused_volume(const T *in, T *out, const __grid_constant__ struct volume_plan plan, T outside)
{
    typedef box_sum<T> V;
    enum { THREADS = ROWS * VOLUME_RUNS, WIDTH = BOX_VOLUME_WIDTH(R), QUADS = WIDTH / 4 };
    extern __shared__ __align__(16) char shared[];
    T *tile = (T *)shared, *tile_before = TOGETHER ? (T *)(shared + plan.cut.sums / 2) : tile;
    V *sums_down = (V *)(shared + plan.cut.sums),
      *sums_before = TOGETHER ? sums_down + ROWS * WIDTH : sums_down;
    volume_four<V> *const ring = (volume_four<V> *)(shared + plan.cut.ring) + threadIdx.x;
    int *const columns = (int *)(shared + plan.cut.tables), *const rows = columns + WIDTH;
    const struct volume_from from = {columns, rows, QUADS * (ROWS + 2 * R)};
    const struct volume_part part = volume_part_of<R, ROWS>(&plan);
    const int64_t slice = (int64_t)plan.ny * plan.nx;
    const bool wraps = plan.border == BORDER_WRAP;
    const bool gathers = volume_tables<T, R, ROWS>(
        &plan, &part, wraps, volume_flipped(outside, plan.sign), columns, rows, tile, tile_before);
    struct volume_quads<LOADS> quads;
    volume_find<R, THREADS>(from, plan.nx, part.x_tile, wraps, &quads);
    const struct volume_unit unit =
        volume_unit_of<T, R, S, ROWS>(columns, part.x_tile, gathers || wraps);
    const int run = (int)threadIdx.x % VOLUME_RUNS, row = (int)threadIdx.x / VOLUME_RUNS;
    const int x = part.x_first + run * VOLUME_RUN, y = part.y_first + row,
              left = y < plan.ny ? plan.nx - x : 0;
    T *to = out + part.z_first * slice + (int64_t)y * plan.nx + x;
    int place = part.place;
    box_quad<T> next[LOADS];
    V prefix[VOLUME_RUN] = {};
    for (int i = 0; i < LOADS; i++)
        for (int k = 0; k < 4; k++)
            next[i].values[k] = outside;
    in += part.z_first * slice;
    if (!gathers)
        volume_load(in, &quads, next);
    /* Step k loads slice k. With TOGETHER it also adds down the columns of slice k - 1 and along
     * the rows of slice k - 2; results before slice 0 and after the last are not used. Else it adds
     * those of slice k, with barriers between. */
    enum { BEHIND = TOGETHER ? 2 : 0 };
    for (int k = 0; k < part.slices + BEHIND; k++, in += slice) {
        V samples[S + 2 * R], column_sums[VOLUME_RUN + 2 * R], sums[VOLUME_RUN], totals[VOLUME_RUN];
        if (TOGETHER) {
            volume_columns<R>(sums_before + row * WIDTH, run, column_sums);
            if (unit.works)
                volume_samples<R, S>(tile_before, unit, samples);
        }
        if (!gathers)
            volume_keep<T, R>(next, &quads, plan.sign, tile);
        else if (k < part.slices)
            volume_gather<T, R, THREADS, LOADS>(in, from, plan.nx, outside, plan.sign, tile);
        if (!gathers && k + 1 < part.slices)
            volume_load(in + slice, &quads, next);
        if (!TOGETHER) {
            __syncthreads();
            if (unit.works)
                volume_samples<R, S>(tile, unit, samples);
        }
        if (unit.works)
            volume_down<R, S>(sums_down, unit, samples, tile);
        if (!TOGETHER) {
            __syncthreads();
            volume_columns<R>(sums_down + row * WIDTH, run, column_sums);
        }
        volume_windows<R, VOLUME_RUN>(column_sums, sums);
        if (k >= BEHIND) {
            volume_add<R, THREADS>(sums, prefix, ring, place, k - BEHIND, totals);
            place = place == 2 * R ? 0 : place + 1;
        }
        if (k >= BEHIND + 2 * R) {
            volume_store(to, totals, &plan, left);
            to += slice;
        }
        if (TOGETHER) {
            __syncthreads();
            T *const used = tile;
            tile = tile_before;
            tile_before = used;
            V *const full = sums_down;
            sums_down = sums_before;
            sums_before = full;
        }
    }
}

#endif
