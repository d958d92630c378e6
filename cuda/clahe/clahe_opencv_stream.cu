/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCV's rule of clahe in one kernel whose tables never leave the multiprocessor. It needs slices
 * with values below KEYS x TILE_THREADS (4,096 for u16, any for u8) and tiles of fewer than 65,536
 * pixels.
 *
 * A region is the rectangle between four tile centers. A block goes down a slice, or a part of its
 * regions, one row of regions after the other: it makes the tables of the next row of tiles and
 * maps the pixels between these and the tables before. An entry of shared memory holds both tables'
 * levels of one value (the upper tile's in the low half), so that a pixel costs two lookups, left
 * and right. Counts are 32 bits wide, because the hardware joins additions of a warp to equal
 * addresses only if they add one. TILE_THREADS threads make one table after the other and wait only
 * for each other; each has KEYS neighboring keys, whose counts stay in registers between the cut
 * and the sums. A slice with a higher value is left to the other kernel, and its entry of `wide` is
 * set.
 *
 * Memory traffic: 2 reads a pixel, of which the second-level cache serves one, and a write. One
 * block of 1,024 threads a multiprocessor for 12-bit values in eight tiles across: its tables take
 * 128 KiB, the counts of four tiles 64 KiB.
 */
#include "cuda/clahe/clahe.cuh"
#include "cuda/values/reductions.cuh"

/* ---- clahe stream ------------------------------------------------------------------------------
 *
 * Blocks of clahe_opencv_stream.cu count tiles and make their levels in shared memory with this. */

enum {
    MOST_TILES = 64, /* most tiles along an axis */
    MAX_THREADS = 1024,
    MAX_WARPS = MAX_THREADS / 32,
    PIXELS = 8,
    MAP_PIXELS = 4 /* pixels that a thread counts and maps at a time */
};
static const uint32_t two_23 =
    0x4B000000u; /* bits of 2^23 as a float: for v < 2^23, or-ing v gives the float 2^23 + v */

struct stream_job {
    struct clahe_tiles tiles;
    const void *in;
    void *out;
    uint32_t *wide; /* set for each slice with too high a value; NULL: there can be none */
    float scale;    /* factor from counts to levels */
    float inverse_y, inverse_x; /* 1 / size of a tile */
    int rows, columns;          /* regions of a block along y and x */
    int row_groups, column_groups, tables;
};

/* The part of a slice that a block does (regions, tiles along x), and its shared memory. */
struct stream_part {
    int row, row_end, tile, tile_end;
    int x, x_end; /* first pixel of its regions, and the end */
    uint32_t *pairs, *counts;
    uint32_t address; /* address of the pairs within shared memory */
    uint32_t *sums; /* sums of each warp: of the cut counts in the low half, of the counts that were
                     * cut off in the high half */
    int *row_starts; /* the first row of each region, and the end */
};

/* Returns the position between tile centers with OpenCV's own roundings; the number of the region
 * is its integer part + 1. */
static __device__ inline float tile_position(int i, float inverse)
{
    return (float)i * inverse - 0.5f;
}

static __device__ inline int region_of(int i, float inverse)
{
    return (int)floorf(tile_position(i, inverse)) + 1;
}

/* Returns the first sample of a region, or n if there is none. */
static __device__ int region_start(int region, int n, int tile, float inverse)
{
    int i = min(max(region * tile - tile / 2, 0), n);
    while (i > 0 && region_of(i - 1, inverse) >= region)
        i--;
    while (i < n && region_of(i, inverse) < region)
        i++;
    return i;
}

/* Returns how many threads work side by side on a row of n units: a power of two. */
static __device__ inline int threads_across(int n, int most)
{
    return n <= 1 ? 1 : min(1 << (32 - __clz(n - 1)), most);
}

/* Holds V pixels as words of memory. */
template <typename T, int V> struct pixels {
    enum { WORDS = V * sizeof(T) / 4 > 0 ? V * sizeof(T) / 4 : 1, BITS = 8 * sizeof(T) };
    uint32_t words[WORDS];
};

template <typename T, int V>
static __device__ inline struct pixels<T, V> load_pixels(const T *from) {
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

/* Returns `base` plus the bytes from a table's start to the entry of pixel i. It takes a mask, and
 * one instruction that shifts and adds. */
template <typename T, int V, uint32_t RANGE>
static __device__ inline uint32_t entry_at(const struct pixels<T, V> &pixels, int i, uint32_t base)
{
    const uint32_t shift = (uint32_t)i * pixels.BITS % 32,
                   word = pixels.words[i * pixels.BITS / 32];
    const uint32_t key = word & (RANGE - 1) << shift;
    return base + (shift >= 2 ? key >> (shift - 2) : key << 2);
}

/* These read and count at an address within shared memory; compiled from pointers, each access
 * would add a base. */
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

/* Keeps the compiler from computing this sum again at each use. */
static __device__ inline uint32_t kept(uint32_t sum)
{
    asm("" : "+r"(sum));
    return sum;
}

/* Counts the pixels, and returns the bits of all their values or'ed. */
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
        asm volatile("bar.sync %0, %1;"
                     :
                     : "r"(1 + threadIdx.x / THREADS), "n"(THREADS)
                     : "memory");
}

/* Counts a tile with COUNT_THREADS threads in the table at address `table` of shared memory.
 * Returns the bits of all values or'ed, which show whether one is too large. */
template <typename T, int V, int RANGE, int COUNT_THREADS>
static __device__ uint32_t count_tile(const struct clahe_tiles &tiles, const T *slice, int tile_row,
                                      int tile, uint32_t table)
{
    const int thread = (int)threadIdx.x % COUNT_THREADS, units = tiles.width / V;
    const int across = threads_across(units, COUNT_THREADS), step = COUNT_THREADS / across,
              stride = step * tiles.nx;
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

/* Single counts go to the keys 0, step, 2 step, ..., `rest` of them in all. */
struct singles {
    float inverse; /* 1 / step, rounded up; 0: there are no single counts */
    uint32_t most; /* bits of the float 2^23 + rest - 1 */
};

/* The quotient of two whole numbers below 2^17 misses the next one by 1 / rest at least, which is
 * more than twice the error of a float reciprocal (2^-23 of it): adding half of it is safe on both
 * sides. */
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

/* Returns the bits of the float 2^23 + v / step: v / step is the number of singles before key v <
 * 4096 without that of key 0. The sum is rounded down once, from a quotient that is too high by
 * less than 2^-21 of it, and so by less than 1 / step. With 65,536 values there are more singles
 * than 4,096 keys can take. */
template <int KEYS>
static __device__ inline uint32_t singles_below(const struct singles &singles, float v)
{
    const uint32_t bits = __float_as_uint(__fmaf_rd(v, singles.inverse, 8388608.0f));
    return KEYS == 16 ? bits : min(bits, singles.most);
}

/* Returns one level. `biased` has the bits of the float 2^23 + n, where n is the sum of the counts
 * up to the key. fma(2^23 + n, scale, -2^23 scale) is n * scale rounded once, as the CPU's product
 * is. No level exceeds the last, since no sum exceeds the pixels of a tile. */
static __device__ inline uint32_t level_of(uint32_t biased, float scale, float shift)
{
    return __float_as_uint(__fmaf_rn(__uint_as_float(biased), scale, shift) + 8388608.0f);
}

/* The counts of a thread's KEYS keys, in groups of four. Group i in memory is group (i + rotation)
 * of the keys, so that the lanes of a warp use all banks. */
template <int KEYS> struct thread_keys {
    enum { GROUPS = KEYS / 4 };
    uint32_t counts[GROUPS][4];
    uint32_t sums[GROUPS];    /* sums of the groups, in the order of memory */
    uint32_t rotation, first; /* first: the lowest key */
};

template <int KEYS>
static __device__ inline uint32_t group_key(const struct thread_keys<KEYS> &keys, int i)
{
    return keys.first + (i + keys.rotation) % keys.GROUPS * 4;
}

/* Writes the levels of a thread's keys to the high halves of the pairs. `below` is the sum of the
 * cut counts of all lower keys. What was cut off goes to all values evenly, and the rest of the
 * division to single ones. */
template <int KEYS>
static __device__ inline void make_levels(const struct thread_keys<KEYS> &keys, uint32_t cut,
                                          uint32_t below, float scale, uint32_t *pairs)
{
    const uint32_t values = KEYS == 16 ? 65536 : 256, each = KEYS == 16 ? 0 : cut / values,
                   rest = cut % values;
    const struct singles singles = share_singles(rest, values);
    const float shift = scale * -8388608.0f;
    uint32_t all = 0;
    below += rest > 0 ? 1 : 0; /* the single count of key 0 */
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
#define NEXT(half, j)                                                                              \
    counted += keys.counts[i][j] + each;                                                           \
    half = __byte_perm(                                                                            \
        half, level_of(counted + singles_below<KEYS>(singles, value + (float)j), scale, shift),    \
        0x5432)
        NEXT(made.x, 0);
        NEXT(made.y, 1);
        NEXT(made.z, 2);
        NEXT(made.w, 3);
#undef NEXT
        below += keys.sums[i];
        *pair = made;
    }
}

/* TILE_THREADS threads turn the counts of a tile (table `local`) into levels and clear them.
 * `thread` is the index among them; `makes` is false if there is no tile. Call it behind a
 * barrier. */
template <int KEYS, int TILE_THREADS>
static __device__ void make_table(const struct stream_job &job, const struct stream_part &part,
                                  int tile, int local, int thread, bool makes)
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
        keys.sums[i] =
            keys.counts[i][0] + keys.counts[i][1] + keys.counts[i][2] + keys.counts[i][3];
        sum += keys.sums[i];
    }
    /* A tile has fewer than 65,536 pixels, so one word has room for both sums. */
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

/* Prefetches the lines of the next row of tiles while the last one is mapped. */
template <typename T>
static __device__ void prefetch_tiles(const struct clahe_tiles &tiles,
                                      const struct stream_part &part, int tile_row, const T *slice)
{
    const int width = (part.tile_end - part.tile) * tiles.width * (int)sizeof(T),
              lines = (width + 127) / 128;
    const char *first = (const char *)(slice + part.tile * tiles.width);
    for (int i = (int)threadIdx.x; tile_row < tiles.tiles_y && i < tiles.height * lines;
         i += (int)blockDim.x) {
        const int y = tile_row * tiles.height + i / lines;
        const char *line = first + (size_t)y * tiles.nx * sizeof(T) + i % lines * 128;
        if (y < tiles.ny)
            asm volatile("prefetch.global.L2 [%0];" : : "l"(line));
    }
}

/* The weight of a level L in the form that fma() takes: fma(2^23 + L, weight, shift) is L * weight
 * rounded once. */
struct weight {
    float weight, shift;
};

static __device__ inline struct weight weight_of(float weight)
{
    const struct weight made = {weight, weight * -8388608.0f};
    return made;
}

/* Mixes the levels of one value in the left and the right tables as OpenCV does; SELECT chooses the
 * half of each entry. */
template <uint32_t SELECT>
static __device__ inline float mix(uint32_t left, uint32_t right, const struct weight &a,
                                   const struct weight &b)
{
    const float left_level = __uint_as_float(__byte_perm(left, two_23, SELECT));
    const float right_level = __uint_as_float(__byte_perm(right, two_23, SELECT));
    return __fmaf_rn(left_level, a.weight, a.shift) + __fmaf_rn(right_level, b.weight, b.shift);
}

template <typename T, int V>
static __device__ inline void store_pixels(T *to, const uint32_t levels[V])
{
    if constexpr (V == 1)
        *to = (T)levels[0];
    else if constexpr (sizeof(T) == 2)
        __stcs((uint2 *)to, make_uint2(__byte_perm(levels[0], levels[1], 0x5410),
                                       __byte_perm(levels[2], levels[3], 0x5410)));
    else
        __stcs((uint32_t *)to, __byte_perm(__byte_perm(levels[0], levels[1], 0x0040),
                                           __byte_perm(levels[2], levels[3], 0x0040), 0x5410));
}

/* Maps V pixels of each row from y to y_end, in steps. ONE: the pixels are beyond the outer
 * centers, and both levels come from the last table. No result exceeds the last level by half,
 * because the weights add up to 1 except for a rounding. */
template <typename T, int V, int RANGE, bool ONE>
static __device__ inline void map_columns(const struct stream_job &job, int region, int x,
                                          uint32_t left, uint32_t distance, int y, int y_end,
                                          int step, const T *slice, T *out)
{
    const float column = (float)((int)floorf(tile_position(x, job.inverse_x)));
    struct weight a[V], b[V];
#pragma unroll
    for (int i = 0; i < V; i++) {
        const float weight = tile_position(x + i, job.inverse_x) - column;
        a[i] = weight_of(1.0f - weight);
        b[i] = weight_of(weight);
    }
    const uint32_t above_half = ONE ? 0x7432 : 0x7410;
    const int stride = step * job.tiles.nx;
    const float row_before = (float)(region - 1);
    slice += (uint32_t)y * (uint32_t)job.tiles.nx + (uint32_t)x;
    out += (uint32_t)y * (uint32_t)job.tiles.nx + (uint32_t)x;
    for (; y < y_end; y += 2 * step, slice += 2 * stride, out += 2 * stride) {
        struct pixels<T, V> loaded[2];
        loaded[0] = load_pixels<T, V>(slice);
        if (y + step < y_end)
            loaded[1] = load_pixels<T, V>(slice + stride);
#pragma unroll
        for (int row = 0; row < 2; row++) {
            if (y + row * step >= y_end)
                break;
            const float d = tile_position(y + row * step, job.inverse_y) - row_before, c = 1.0f - d;
            uint32_t levels[V];
#pragma unroll
            for (int i = 0; i < V; i++) {
                const uint32_t entry = entry_at<T, V, RANGE>(loaded[row], i, left);
                const uint32_t at_left = load_shared(entry),
                               at_right = load_shared(entry + distance);
                const float above = mix<above_half>(at_left, at_right, a[i], b[i]);
                const float below = ONE ? above : mix<0x7432>(at_left, at_right, a[i], b[i]);
                levels[i] = __float_as_uint(above * c + below * d + 8388608.0f);
            }
            store_pixels<T, V>(out + row * stride, levels);
        }
    }
}

/* Maps the pixels of a row of regions. */
template <typename T, int V, int RANGE>
static __device__ void map_region_row(const struct stream_job &job, const struct stream_part &part,
                                      int region, const T *slice, T *out)
{
    const struct clahe_tiles &tiles = job.tiles;
    const bool one = region == 0 || region == tiles.tiles_y;
    const int y_first = part.row_starts[region], y_end = part.row_starts[region + 1];
    const int units = (part.x_end - part.x) / V, across = threads_across(units, (int)blockDim.x),
              step = (int)blockDim.x / across;
    const int y = y_first + (int)threadIdx.x / across;
    for (int unit = (int)threadIdx.x & (across - 1); unit < units; unit += across) {
        const int x = part.x + unit * V, right_tile = region_of(x, job.inverse_x);
        const int left = max(right_tile - 1, 0) - part.tile,
                  right = min(right_tile, tiles.tiles_x - 1) - part.tile;
        const uint32_t table = part.address + (uint32_t)left * (RANGE * 4),
                       distance = (uint32_t)(right - left) * (RANGE * 4);
        if (one)
            map_columns<T, V, RANGE, true>(job, region, x, table, distance, y, y_end, step, slice,
                                           out);
        else
            map_columns<T, V, RANGE, false>(job, region, x, table, distance, y, y_end, step, slice,
                                            out);
    }
}

/* Returns how many threads count a tile: more than make its table, if that is small. */
static __host__ __device__ constexpr int count_threads(int tile_threads)
{
    return tile_threads < 128 ? 128 : tile_threads;
}

/* Makes tables and maps pixels in a block's part of a slice, as the head of this file describes. */
template <typename T, int V, int KEYS, int TILE_THREADS>
static __global__ void __launch_bounds__(MAX_THREADS) stream_slices(struct stream_job job)
{
    enum { RANGE = KEYS * TILE_THREADS, COUNT_THREADS = count_threads(TILE_THREADS) };
    extern __shared__ uint4 shared[];
    __shared__ uint32_t warp_sums[MAX_WARPS];
    __shared__ int row_starts[MOST_TILES + 2];
    const struct clahe_tiles &tiles = job.tiles;
    const int groups = job.row_groups * job.column_groups, group = (int)(blockIdx.x % groups);
    const int z = (int)(blockIdx.x / groups), together = (int)blockDim.x / COUNT_THREADS;
    const int column = group % job.column_groups * job.columns,
              row = group / job.column_groups * job.rows;
    const int column_end = min(column + job.columns, tiles.tiles_x + 1);
    struct stream_part part;
    part.row = row;
    part.row_end = min(row + job.rows, tiles.tiles_y + 1);
    part.tile = max(column - 1, 0);
    part.tile_end = min(column_end - 1, tiles.tiles_x - 1) + 1;
    part.x = region_start(column, tiles.nx, tiles.width, job.inverse_x);
    part.x_end = column_end > tiles.tiles_x
                     ? tiles.nx
                     : region_start(column_end, tiles.nx, tiles.width, job.inverse_x);
    part.pairs = (uint32_t *)shared;
    part.address = (uint32_t)__cvta_generic_to_shared(shared);
    const int local = (int)threadIdx.x / COUNT_THREADS, thread = (int)threadIdx.x % COUNT_THREADS;
    const uint32_t counts = kept(part.address + (uint32_t)(job.tables + local) * (RANGE * 4));
    part.counts = part.pairs + job.tables * RANGE;
    part.sums = warp_sums;
    part.row_starts = row_starts;
    if (threadIdx.x < tiles.tiles_y + 2)
        row_starts[threadIdx.x] =
            region_start((int)threadIdx.x, tiles.ny, tiles.height, job.inverse_y);
    const T *slice = (const T *)job.in + (size_t)z * tiles.ny * tiles.nx;
    T *out = (T *)job.out + (size_t)z * tiles.ny * tiles.nx;
    for (int i = (int)threadIdx.x; i < together * RANGE; i += (int)blockDim.x)
        part.counts[i] = 0;
    __syncthreads();
    /* With tiles of any width, groups of threads without a tile take part in the barriers of the
     * others, or else racecheck miscounts. */
    const int idle = V > 1 ? 0 : local;
    int made = max(part.row - 1, 0) - 1; /* last row of tiles that has tables */
    for (int region = part.row; region < part.row_end; region++) {
        uint32_t high = 0;
        for (; made < min(region, tiles.tiles_y - 1); made++)
            for (int tile = part.tile + local; tile - idle < part.tile_end; tile += together) {
                const bool makes = V > 1 || tile < part.tile_end;
                if (makes)
                    high |= count_tile<T, V, RANGE, COUNT_THREADS>(tiles, slice, made + 1, tile,
                                                                   counts);
                group_barrier<COUNT_THREADS>();
                if (thread < TILE_THREADS)
                    make_table<KEYS, TILE_THREADS>(job, part, tile, local, thread, makes);
                if (TILE_THREADS < COUNT_THREADS)
                    group_barrier<COUNT_THREADS>();
            }
        if (__syncthreads_or((int)high)) {
            if (threadIdx.x == 0)
                job.wide[z] = 1;
            return;
        }
        prefetch_tiles(tiles, part, made + 1, slice);
        map_region_row<T, V == 1 ? 1 : MAP_PIXELS, RANGE>(job, part, region, slice, out);
        __syncthreads();
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Returns true if every group of PIXELS pixels is in one region and one tile, and inside the
 * image. */
static bool groups_fit(const struct clahe_tiles &tiles, const struct ts_image *in,
                       const struct ts_image *out)
{
    const float inverse = 1.0f / (float)tiles.width;
    const size_t bytes = PIXELS * ts_dtype_bytes(in->dtype);
    if (tiles.width % PIXELS || tiles.height * tiles.tiles_y != tiles.ny ||
        tiles.width * tiles.tiles_x != tiles.nx || (uintptr_t)in->data % bytes ||
        (uintptr_t)out->data % bytes)
        return false;
    for (int x = 0; x < tiles.nx; x += PIXELS)
        if (floorf((float)x * inverse - 0.5f) != floorf((float)(x + PIXELS - 1) * inverse - 0.5f))
            return false;
    return true;
}

/* Chooses the threads and tables of a block so that they fit the device's shared memory. Returns
 * false if none do. */
static bool choose_block(const struct device_numbers *device, bool bytes, int *threads, int *tables)
{
    const int reserved = 1024 /* bytes of static shared memory */,
              table_bytes = bytes ? 1024 : 16384, tile_threads = bytes ? 32 : 256;
    for (*threads = MAX_THREADS; *threads >= 256; *threads /= 2) {
        *tables = (device->block_shared_bytes - reserved) / table_bytes -
                  *threads / count_threads(tile_threads);
        if (*tables >= 9 || (*tables >= 2 && *threads == 256))
            return true;
    }
    return false;
}

/* Makes enough blocks for the device: if slices are few they are cut into parts, whose tables at
 * the cuts are made twice. */
static void split_slices(struct stream_job *job, int64_t n, int multiprocessors)
{
    const int rows = job->tiles.tiles_y + 1, columns = job->tiles.tiles_x + 1;
    job->columns = job->tiles.tiles_x <= job->tables ? columns : job->tables - 1;
    job->rows = rows;
    for (;;) {
        job->column_groups = (int)ts_cuda_parts(columns, job->columns);
        job->row_groups = (int)ts_cuda_parts(rows, job->rows);
        const int64_t blocks = n * job->column_groups * job->row_groups;
        if (blocks >= multiprocessors || (job->rows == 1 && job->columns == 1))
            break;
        if (job->rows > 1)
            job->rows = (job->rows + 1) / 2;
        else
            job->columns = (job->columns + 1) / 2;
    }
    const int tables = job->columns == columns ? job->tiles.tiles_x : job->columns + 1;
    job->tables = tables < job->tables ? tables : job->tables;
}

template <typename T, int V, int KEYS, int TILE_THREADS>
static enum ts_status clahe_opencv_stream_launch(const struct stage_context *context,
                                                 const struct stream_job &job, int64_t n,
                                                 int threads, const struct cuda_call *call)
{
    auto *const kernel = stream_slices<T, V, KEYS, TILE_THREADS>;
    const size_t shared = (size_t)(job.tables + threads / count_threads(TILE_THREADS)) *
                          (KEYS * TILE_THREADS) * sizeof(uint32_t);
    const enum ts_status status = ts_cuda_shared(context, (const void *)kernel, shared);
    if (status != TS_OK)
        return status;
    kernel<<<(unsigned)(n * job.row_groups * job.column_groups), threads, shared, call->stream>>>(
        job);
    return ts_cuda_launched(context, "clahe_opencv: stream");
}

bool ts_cuda_clahe_stream_fits(const struct stage_context *context, const struct clahe_tiles *tiles)
{
    int threads, tables;
    return (int64_t)tiles->height * tiles->width < 65536 &&
           choose_block(context->device, context->in.dtype == TS_U8, &threads, &tables);
}

enum ts_status ts_cuda_clahe_stream(const struct stage_context *context,
                                    const struct clahe_tiles *tiles, const struct ts_image *in,
                                    struct ts_image *out, uint32_t *wide,
                                    const struct cuda_call *call)
{
    const bool bytes = in->dtype == TS_U8, vectors = groups_fit(*tiles, in, out);
    const int64_t n = out->axes[0].n;
    struct stream_job job = {};
    int threads;
    job.tiles = *tiles;
    job.in = in->data;
    job.out = out->data;
    job.wide = wide;
    job.scale = (float)(tiles->values - 1) / (float)((int64_t)tiles->height * tiles->width);
    job.inverse_y = 1.0f / (float)tiles->height;
    job.inverse_x = 1.0f / (float)tiles->width;
    choose_block(context->device, bytes, &threads, &job.tables);
    split_slices(&job, n, context->device->multiprocessors);
    if (bytes)
        return vectors
                   ? clahe_opencv_stream_launch<uint8_t, PIXELS, 8, 32>(context, job, n, threads,
                                                                        call)
                   : clahe_opencv_stream_launch<uint8_t, 1, 8, 32>(context, job, n, threads, call);
    return vectors
               ? clahe_opencv_stream_launch<uint16_t, PIXELS, 16, 256>(context, job, n, threads,
                                                                       call)
               : clahe_opencv_stream_launch<uint16_t, 1, 16, 256>(context, job, n, threads, call);
}
