/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of clahe_opencv_stream.cu count tiles and make their levels in shared memory with this.
 */
#ifndef CUDA_CLAHE_CLAHE_STREAM_CUH
#define CUDA_CLAHE_CLAHE_STREAM_CUH

#include "cuda/clahe/clahe.cuh"
#include "cuda/values/reductions.cuh"

enum {
    MOST_TILES = 64, /* along an axis */
    MAX_THREADS = 1024,
    MAX_WARPS = MAX_THREADS / 32,
    PIXELS = 8,
    MAP_PIXELS = 4 /* that a thread counts and maps at a time */
};
static const uint32_t two_23 = 0x4B000000u; /* bits of 2^23 as a float: | v is 2^23 + v for v < 2^23 */

struct stream_job {
    struct clahe_tiles tiles;
    const void *in;
    void *out;
    uint32_t *wide;             /* set for each slice with too high a value; NULL: none can have one */
    float scale;                /* from counts to levels */
    float inverse_y, inverse_x; /* 1 / tile */
    int rows, columns;          /* regions of a block along y and x */
    int row_groups, column_groups, tables;
};

/* A block's part of a slice: regions, tiles along x, and the shared memory. */
struct stream_part {
    int row, row_end, tile, tile_end;
    int x, x_end; /* pixels of its regions */
    uint32_t *pairs, *counts;
    uint32_t address; /* where the pairs begin within shared memory */
    uint32_t *sums;   /* sums of warps: of the cut counts, and above them of the counts that were cut off */
    int *row_starts;  /* first rows of all regions, and the end */
};

/* Returns the position between tile centers in OpenCV's own roundings; the region is its integer part + 1. */
static __device__ inline float tile_position(int i, float inverse)
{
    return (float)i * inverse - 0.5f;
}

static __device__ inline int region_of(int i, float inverse)
{
    return (int)floorf(tile_position(i, inverse)) + 1;
}

/* Returns the first sample of a region, n where there is none. */
static __device__ int region_start(int region, int n, int tile, float inverse)
{
    int i = min(max(region * tile - tile / 2, 0), n);
    while (i > 0 && region_of(i - 1, inverse) >= region)
        i--;
    while (i < n && region_of(i, inverse) < region)
        i++;
    return i;
}

/* Threads side by side on a row of n units: a power of two. */
static __device__ inline int threads_across(int n, int most)
{
    return n <= 1 ? 1 : min(1 << (32 - __clz(n - 1)), most);
}

/* Holds V pixels as words of memory. */
template <typename T, int V> struct pixels {
    enum { WORDS = V * sizeof(T) / 4 > 0 ? V * sizeof(T) / 4 : 1, BITS = 8 * sizeof(T) };
    uint32_t words[WORDS];
};

template <typename T, int V> static __device__ inline struct pixels<T, V> load_pixels(const T *from) {
    struct pixels<T, V> loaded;
    if constexpr (V == 1) {
        loaded.words[0] = *from;
    } else if constexpr (loaded.WORDS == 4) {
        const uint4 four = *(const uint4 *)from;
        loaded.words[0] = four.x;
        loaded.words[1] = four.y;
        loaded.words[2] = four.z;
        loaded.words[3] = four.w;
    } else if constexpr (loaded.WORDS == 2) {
        const uint2 two = *(const uint2 *)from;
        loaded.words[0] = two.x;
        loaded.words[1] = two.y;
    } else {
        loaded.words[0] = *(const uint32_t *)from;
    }
    return loaded;
}

/* Returns `base` plus the bytes from a table's start to the entry of pixel i. A mask, and a shift with an addition in
 * one instruction, work it out. */
template <typename T, int V, uint32_t RANGE>
static __device__ inline uint32_t entry_at(const struct pixels<T, V> &pixels, int i, uint32_t base)
{
    const uint32_t shift = (uint32_t)i * pixels.BITS % 32, word = pixels.words[i * pixels.BITS / 32];
    const uint32_t key = word & (RANGE - 1) << shift;
    return base + (shift >= 2 ? key >> (shift - 2) : key << 2);
}

/* These read and count at an address within shared memory; the compiler's own code would add a base each time. */
static __device__ inline uint32_t load_shared(uint32_t address)
{
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

static __device__ inline void count_shared(uint32_t address)
{
    asm volatile("red.shared.add.u32 [%0], 1;" : : "r"(address) : "memory");
}

/* Keeps the compiler from computing this sum again wherever it is added to. */
static __device__ inline uint32_t kept(uint32_t sum)
{
    asm("" : "+r"(sum));
    return sum;
}

/* Counts the pixels; returns the bits of their values or'ed, as words. */
template <typename T, int V, int RANGE>
static __device__ inline uint32_t count_pixels(const struct pixels<T, V> &pixels, uint32_t table)
{
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < V; i++)
        count_shared(entry_at<T, V, RANGE>(pixels, i, table));
#pragma unroll
    for (int i = 0; i < pixels.WORDS; i++)
        bits |= pixels.words[i];
    return bits;
}

/* Waits for THREADS neighboring threads. */
template <int THREADS> static __device__ inline void group_barrier(void)
{
    if constexpr (THREADS == 32)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" : : "r"(1 + threadIdx.x / THREADS), "n"(THREADS) : "memory");
}

/* COUNT_THREADS threads count a tile in the table at address `table` of shared memory. Returns the bits of all values
 * or'ed: those that do not fit in the range. */
template <typename T, int V, int RANGE, int COUNT_THREADS>
static __device__ uint32_t count_tile(const struct clahe_tiles &tiles, const T *slice, int tile_row, int tile,
                                      uint32_t table)
{
    const int thread = (int)threadIdx.x % COUNT_THREADS, units = tiles.width / V;
    const int across = threads_across(units, COUNT_THREADS), step = COUNT_THREADS / across, stride = step * tiles.nx;
    const int row_first = thread / across, y_first = tile_row * tiles.height;
    uint32_t bits = 0;
    for (int unit = thread & (across - 1); unit < units; unit += across) {
        const int column = tile * tiles.width + unit * V;
        const T *at = slice + (V == 1 ? clahe_mirror(column, tiles.nx) : column);
        const T *next = at + (uint32_t)(y_first + row_first) * (uint32_t)tiles.nx;
        for (int row = row_first; row < tiles.height; row += 2 * step, next += 2 * stride) {
            const bool second = row + step < tiles.height;
            struct pixels<T, V> loaded[2];
            if (V == 1) {
                const uint32_t y = (uint32_t)clahe_mirror(y_first + row, tiles.ny);
                const uint32_t y_second = (uint32_t)clahe_mirror(y_first + row + step, tiles.ny);
                loaded[0] = load_pixels<T, V>(at + y * (uint32_t)tiles.nx);
                loaded[1] = load_pixels<T, V>(at + y_second * (uint32_t)tiles.nx);
            } else {
                loaded[0] = load_pixels<T, V>(next);
                if (second)
                    loaded[1] = load_pixels<T, V>(next + stride);
            }
            bits |= count_pixels<T, V, RANGE>(loaded[0], table);
            if (second)
                bits |= count_pixels<T, V, RANGE>(loaded[1], table);
        }
    }
    return sizeof(T) == 1 ? 0 : bits & ~((RANGE - 1) * 0x10001u);
}

/* Returns 1 / value for 1 to 65,536, at most 2^-23 off. */
static __device__ inline float reciprocal_of(float value)
{
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(value));
    return reciprocal;
}

/* Single counts go to the keys 0, step, 2 step, ..., `rest` in all. */
struct singles {
    float inverse; /* 1 / step, no less; 0: none */
    uint32_t most; /* bits of 2^23 + rest - 1 */
};

/* The quotient of two whole numbers below 2^17 misses the next one by 1 / rest at least, which is more than twice the
 * error of a float reciprocal (2^-23 of it): adding half of it is safe on both sides. */
static __device__ inline struct singles share_singles(uint32_t rest, uint32_t values)
{
    struct singles singles = {0, two_23};
    if (rest > 0) {
        const float step = truncf(((float)values + 0.5f) * reciprocal_of((float)rest));
        singles.inverse = reciprocal_of(step) * (1 + 0x1p-22f);
        singles.most = two_23 + rest - 1;
    }
    return singles;
}

/* Bits of 2^23 + v / step, the singles before key v < 4096 (key 0's own is counted elsewhere): rounded down once from a
 * quotient that is too high by less than 2^-21 of it, and so by less than 1 / step. With 65,536 values there are more
 * singles than 4,096 keys can take. */
template <int KEYS> static __device__ inline uint32_t singles_below(const struct singles &singles, float v)
{
    const uint32_t bits = __float_as_uint(__fmaf_rd(v, singles.inverse, 8388608.0f));
    return KEYS == 16 ? bits : min(bits, singles.most);
}

/* Makes one level. `biased` has the bits of 2^23 plus the counts up to the key. fma(2^23 + n, scale, -2^23 scale) is
 * n * scale rounded once, as the CPU's product is. No level exceeds the last, since no sum exceeds the pixels of a
 * tile. */
static __device__ inline uint32_t level_of(uint32_t biased, float scale, float shift)
{
    return __float_as_uint(__fmaf_rn(__uint_as_float(biased), scale, shift) + 8388608.0f);
}

/* The counts of a thread's KEYS keys, in groups of four. Group i of memory is group (i + rotation) of the keys, so that
 * the lanes of a warp reach all banks. */
template <int KEYS> struct thread_keys {
    enum { GROUPS = KEYS / 4 };
    uint32_t counts[GROUPS][4];
    uint32_t sums[GROUPS];    /* of groups, in their order of memory */
    uint32_t rotation, first; /* first: the lowest key */
};

template <int KEYS> static __device__ inline uint32_t group_key(const struct thread_keys<KEYS> &keys, int i)
{
    return keys.first + (i + keys.rotation) % keys.GROUPS * 4;
}

/* The levels of a thread's keys take the high halves of the pairs; `below`: cut counts of the keys before them. What
 * was cut off goes to all values evenly, the rest of the division to single ones. */
template <int KEYS>
static __device__ inline void make_levels(const struct thread_keys<KEYS> &keys, uint32_t cut, uint32_t below,
                                          float scale, uint32_t *pairs)
{
    const uint32_t values = KEYS == 16 ? 65536 : 256, each = KEYS == 16 ? 0 : cut / values, rest = cut % values;
    const struct singles singles = share_singles(rest, values);
    const float shift = scale * -8388608.0f;
    uint32_t all = 0;
    below += rest > 0 ? 1 : 0; /* that of key 0 */
#pragma unroll
    for (uint32_t i = 0; i < keys.GROUPS; i++) {
        all += keys.sums[i];
        below += i + keys.rotation >= keys.GROUPS ? keys.sums[i] : 0;
    }
#pragma unroll
    for (uint32_t i = 0; i < keys.GROUPS; i++) {
        const uint32_t key = group_key(keys, (int)i);
        const float value = (float)key;
        uint32_t counted = (i + keys.rotation == keys.GROUPS ? below -= all : below) + each * key;
        uint4 *pair = (uint4 *)(pairs + key), made = *pair;
#define NEXT(half, j)                                                                                                  \
    counted += keys.counts[i][j] + each;                                                                               \
    half = __byte_perm(half, level_of(counted + singles_below<KEYS>(singles, value + (float)j), scale, shift), 0x5432)
        NEXT(made.x, 0);
        NEXT(made.y, 1);
        NEXT(made.z, 2);
        NEXT(made.w, 3);
#undef NEXT
        below += keys.sums[i];
        *pair = made;
    }
}

/* TILE_THREADS threads turn the counts of a tile (table `local`) into levels and clear them. `thread` is the index
 * among them; `makes` is false where there is no tile. Call it behind a barrier. */
template <int KEYS, int TILE_THREADS>
static __device__ void make_table(const struct stream_job &job, const struct stream_part &part, int tile, int local,
                                  int thread, bool makes)
{
    enum { RANGE = KEYS * TILE_THREADS, WARPS = TILE_THREADS / 32 };
    uint32_t *sums = part.sums + local * WARPS;
    const int warp = thread / 32;
    const uint32_t clip = (uint32_t)job.tiles.clip;
    struct thread_keys<KEYS> keys;
    keys.first = (uint32_t)thread * KEYS;
    keys.rotation = threadIdx.x / (32 / KEYS) % keys.GROUPS;
    uint32_t *counts = part.counts + local * RANGE, cut = 0, sum = 0;
#pragma unroll
    for (int i = 0; i < keys.GROUPS; i++) {
        uint4 *source = (uint4 *)(counts + group_key(keys, i));
        const uint4 four = *source;
        *source = make_uint4(0, 0, 0, 0);
        cut += four.x + four.y + four.z + four.w;
        keys.counts[i][0] = min(four.x, clip);
        keys.counts[i][1] = min(four.y, clip);
        keys.counts[i][2] = min(four.z, clip);
        keys.counts[i][3] = min(four.w, clip);
        keys.sums[i] = keys.counts[i][0] + keys.counts[i][1] + keys.counts[i][2] + keys.counts[i][3];
        sum += keys.sums[i];
    }
    /* A tile has fewer than 65,536 pixels: one word for both sums. */
    const uint32_t up_to = warp_inclusive_sum(sum | (cut - sum) << 16), lane = threadIdx.x % 32;
    if (lane == 31)
        sums[warp] = up_to;
    group_barrier<TILE_THREADS>();
    uint32_t warps = lane < WARPS ? sums[lane] : 0;
#pragma unroll
    for (int distance = 1; distance < WARPS; distance *= 2) {
        const uint32_t other = __shfl_up_sync(0xFFFFFFFFu, warps, distance);
        warps += lane >= distance ? other : 0;
    }
    const uint32_t before = __shfl_sync(0xFFFFFFFFu, warps, warp - 1);
    const uint32_t below = (warp > 0 ? before & 0xFFFF : 0) + (up_to & 0xFFFF) - sum;
    cut = __shfl_sync(0xFFFFFFFFu, warps, WARPS - 1) >> 16;
    if (makes)
        make_levels<KEYS>(keys, cut, below, job.scale, part.pairs + (tile - part.tile) * RANGE);
}

#endif
