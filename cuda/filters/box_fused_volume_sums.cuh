/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions sum for box_fused_volume.cuh: down the columns of a tile, along its rows, and over the slices of a
 * window.
 *
 * Integers (8 and 16 bits) add what enters and subtract what leaves, exactly. Floats never subtract, so that neither
 * where a chunk starts nor a NaN of another window shows: the samples that neighboring windows have in common are added
 * once, then the sum grows to the left and to the right; along z, blocks of 2 radius + 1 slices at places fixed by the
 * volume give sums to their ends, which wait in the ring, and the next block adds those from its start (M. van Herk,
 * 1992, for maxima). Blocks of neighboring tiles begin at different slices, because their ends cost more.
 */
#ifndef CUDA_FILTERS_BOX_FUSED_VOLUME_SUMS_CUH
#define CUDA_FILTERS_BOX_FUSED_VOLUME_SUMS_CUH

#include "cuda/filters/box_quad.cuh"

enum {
    VOLUME_RUN = BOX_VOLUME_RUN,                  /* columns of a thread in the pass along the rows */
    VOLUME_RUNS = BOX_VOLUME_COLUMNS / VOLUME_RUN /* runs of a row */
};

/* Returns how many 2D sums of a thread the ring holds. */
template <typename T> static inline __host__ __device__ constexpr int volume_slots(int radius)
{
    return (T)0.5 != 0 ? 2 * radius : 2 * radius + 1;
}

/* Outputs that share their common samples: the largest divisor of n that is at most the window. */
static inline __host__ __device__ constexpr int volume_group(int n, int window)
{
    int group = n < window ? n : window;
    while (n % group != 0)
        group--;
    return group;
}

/* Writes to sums[j] the sum of samples[j .. j + 2 R]. */
template <int R, int N>
static __device__ __forceinline__ void volume_windows(const float (&samples)[N + 2 * R], float (&sums)[N])
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
static __device__ __forceinline__ void volume_windows(const uint32_t (&samples)[N + 2 * R], uint32_t (&sums)[N])
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

/* Four column sums stand at this place of their row, so that 8 threads whose fours lie two apart use all banks. */
static __device__ __forceinline__ int volume_place(int quad)
{
    return quad ^ (quad >> 3 & 1);
}

/* The work of a thread in the pass down the columns: S rows of one column, or of two side by side. Columns outside the
 * image have the sums of those that stand for them, or of a column of constants behind the tile's. */
struct volume_unit {
    int from, other; /* places of the first samples; integers: of both columns */
    int to;
    bool works;
};

template <typename T, int R, int S, int ROWS>
static __device__ struct volume_unit volume_unit_of(const int *columns, int x_tile, bool own)
{
    enum { WIDTH = BOX_VOLUME_WIDTH(R), STEP = sizeof(T) == 4 ? 1 : 2, UNITS = WIDTH / STEP };
    enum { THREADS = ROWS * VOLUME_RUNS, STRETCHES = (ROWS + S - 1) / S, WHOLE = (UNITS + 31) / 32 * 32 };
    /* A stretch of rows of floats has whole warps where there are enough: two stretches would meet in the same banks.
     */
    enum { APART = STEP == 1 && WHOLE * STRETCHES <= THREADS ? WHOLE : UNITS };
    static_assert(APART * STRETCHES <= THREADS, "more columns than threads");
    static_assert(sizeof(T) < 4 || ROWS % S == 0, "the last bits of a float sum depend on who adds it");
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
/* Integers: both columns at once, by sums of the pairs modulo 2^32, and of their upper halves. */
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
        *(uint2 *)(sums + unit.to + j * BOX_VOLUME_WIDTH(R)) = make_uint2(both[j] - (upper[j] << BITS), upper[j]);
}

template <typename V> struct __align__(16) volume_four
{
    V values[4];
};

/* The column sums that the thread's windows are made of. */
template <int R, typename V>
static __device__ __forceinline__ void volume_columns(const V *row, int run, V (&samples)[VOLUME_RUN + 2 * R])
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

/* A thread's slot of the ring: two fours. */
template <int THREADS, typename V>
static __device__ __forceinline__ void volume_get(const volume_four<V> *ring, int slot, V (&sums)[VOLUME_RUN])
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
static __device__ __forceinline__ void volume_put(volume_four<V> *ring, int slot, const V (&sums)[VOLUME_RUN])
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

/* `sums` are those of the entering slice, `totals` those of the window that ends with it, if enough slices came before
 * (`seen`); `place` is that of the slice in its block of 2 R + 1. */
template <int R, int THREADS>
static __device__ __forceinline__ void volume_add(const float (&sums)[VOLUME_RUN], float (&prefix)[VOLUME_RUN],
                                                  volume_four<float> *ring, int place, int, float (&totals)[VOLUME_RUN])
{
#pragma unroll
    for (int i = 0; i < VOLUME_RUN; i++)
        totals[i] = prefix[i] = place == 0 ? sums[i] : prefix[i] + sums[i];
    if (place < 2 * R) { /* slot p has the sum from slice p + 1 on to the end of the block before, or slice p + 1 */
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
/* Integers keep the window's sum in `prefix`. */
template <int R, int THREADS>
static __device__ __forceinline__ void volume_add(const uint32_t (&sums)[VOLUME_RUN], uint32_t (&prefix)[VOLUME_RUN],
                                                  volume_four<uint32_t> *ring, int place, int seen,
                                                  uint32_t (&totals)[VOLUME_RUN])
{
    uint32_t leaving[VOLUME_RUN] = {};
    if (seen > 2 * R)
        volume_get<THREADS>(ring, place, leaving);
    volume_put<THREADS>(ring, place, sums);
#pragma unroll
    for (int i = 0; i < VOLUME_RUN; i++)
        totals[i] = prefix[i] += sums[i] - leaving[i];
}

#endif
