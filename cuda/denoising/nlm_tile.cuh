/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the kernel of nlm. A block brings a tile of the image, with the border of its search windows, into shared
 * memory, and goes through all shifts with it. A warp has NLM_ROWS rows of 64 columns, two neighboring ones a lane. For
 * one shift a lane has the squared differences of its columns in registers, and sums them down the columns (through the
 * slices while they are made). The sums along the rows are made of the sums of two columns that lanes to the right
 * have, so that 64 - 2 R columns have a result. Sums of 2 R + 1 values down are made from sums of 2 and 4, for all rows
 * at once. Numerators and denominators stay in registers to the end. For each slice of the patch a shift costs a pixel
 * 1 + 2 R / NLM_ROWS differences of a value from shared memory; then about 3 additions down, 3 along with (R + 1)/2
 * shuffles, and one exponential. The image is read once.
 *
 * Two columns a lane halve the shuffles, which one column made the limit. 8 rows are then as many as the registers hold
 * beside the values at the pixels themselves. The warps of a block stand one below the other and share the rows between
 * them. A row of the tile has its even columns first, then its odd ones, so that lanes read neighbors in both.
 */
#ifndef CUDA_DENOISING_NLM_TILE_CUH
#define CUDA_DENOISING_NLM_TILE_CUH

#include "cuda/values/value_at.cuh"

extern "C" {
#include "stages/denoising/nlm.h"
}

enum { NLM_LANES = 32, NLM_COLUMNS = 2 * NLM_LANES, NLM_ROWS = 8, NLM_MOST_WARPS = 8 };

/* The image is held as floats with its border. Its rows and columns reach to the end of the last tile. */
struct nlm_job {
    const float *image;
    int64_t plane;
    int pitch, pad, pad_z; /* of the border */
    int nz, ny, nx, radius, distance, depth;
    unsigned tiles_x, tiles_y; /* of a block */
    bool rician;
    double patch;             /* pixels of it */
    struct nlm_numbers given; /* where sigma is not estimated */
    const char *numbers;      /* else struct nlm_numbers of each slice, `stride` apart, 0 for one of the volume */
    size_t stride;
    const void *original; /* the first slice of output as it was */
    bool common;          /* all slices that a pixel comes from have one unit */
    enum ts_dtype dtype;  /* of it */
    float *out;
};

static __device__ inline struct nlm_numbers nlm_numbers_of(const struct nlm_job &job, int64_t z)
{
    const struct nlm_numbers *found = (const struct nlm_numbers *)(job.numbers + z * job.stride);
    return job.numbers ? *found : job.given;
}

static __device__ inline float nlm_unit_of(const struct nlm_job &job, int64_t z)
{
    const struct nlm_numbers numbers = nlm_numbers_of(job, z);
    return ts_nlm_unit(&numbers, job.common);
}

static __device__ inline struct nlm_weight nlm_weight_of(const struct nlm_job &job, int64_t z)
{
    const struct nlm_numbers numbers = nlm_numbers_of(job, z);
    const struct nlm_numbers scaled = ts_nlm_in_units(&numbers, ts_nlm_unit(&numbers, job.common));
    return ts_nlm_weight(&scaled, job.patch);
}

/* Returns 2^x for x <= 0, 0 where that is below the smallest normal float. */
static __device__ inline float nlm_power(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(fminf(x, 0)));
    return power;
}

static __device__ inline void nlm_write(const struct nlm_job &job, float bias, int64_t z, int y, int x, float here,
                                        float sum, float total)
{
    const int64_t at = (z * job.ny + y) * job.nx + x;
    const float mean = sum / total;
    const float value = job.rician ? sqrtf(fmaxf(mean - bias, 0)) : mean;
    job.out[at] = here == NLM_FAR ? (float)ts_cuda_value_at(job.original, job.dtype, at) : value * nlm_unit_of(job, z);
}

/* v[i] = the sum of v[i] .. v[i + 2 R], i < N. */
template <int R, int N> static __device__ inline void nlm_sum_down(float (&v)[N + 2 * R])
{
    constexpr int M = N + 2 * R;
    float s[M]; /* of 2, then of 4, then of 8 */
#pragma unroll
    for (int i = 0; i < M; i++)
        s[i] = R > 0 && i + 1 < M ? v[i] + v[i + 1] : v[i];
    if constexpr (R == 1) {
#pragma unroll
        for (int i = 0; i < N; i++)
            v[i] = s[i] + v[i + 2];
    } else if constexpr (R > 1) {
        float t[M];
#pragma unroll
        for (int i = 0; i < M; i++)
            t[i] = i + 2 < M ? s[i] + s[i + 2] : s[i];
#pragma unroll
        for (int i = 0; i < N; i++) {
            if constexpr (R == 2)
                v[i] = t[i] + v[i + 4];
            else if constexpr (R == 3)
                v[i] = t[i] + (s[i + 4] + v[i + 6]);
            else if constexpr (R == 4)
                v[i] = (t[i] + t[i + 4]) + v[i + 8];
            else
                v[i] = (t[i] + t[i + 4]) + (s[i + 8] + v[i + 10]);
        }
    }
}

/* Replaces each of this lane's two columns by the sum of it and the 2 R to its right. */
template <int R> static __device__ inline void nlm_sum_along(float *even, float *odd)
{
    const auto right = [](float value, int n) { return __shfl_down_sync(~0u, value, n); };
    if constexpr (R > 0) {
        const float both = *even + *odd;
        float between = R > 1 ? right(both, 1) : 0;
#pragma unroll
        for (int i = 2; i < R; i++)
            between += right(both, i);
        const float last = right(*even, R), lasts = right(both, R);
        *even = R > 1 ? both + between + last : both + last;
        *odd = R > 1 ? *odd + between + lasts : *odd + lasts;
    }
}

/* Returns the place of a column of the tile within its row: even columns stand before odd ones. */
static __device__ inline int nlm_column(int column, int half)
{
    return column % 2 * half + column / 2;
}

/* Copies `rows` rows of 2 * half columns from each plane. */
static __device__ inline void nlm_load_tile(const struct nlm_job &job, const float *from, int depth, int rows, int half,
                                            float *tile)
{
    const int lane = threadIdx.x % NLM_LANES, warp = threadIdx.x / NLM_LANES, warps = blockDim.x / NLM_LANES;
    for (int row = warp; row < depth * rows; row += warps)
        for (int x = lane; x < 2 * half; x += NLM_LANES)
            tile[row * 2 * half + nlm_column(x, half)] =
                from[row / rows * job.plane + (int64_t)(row % rows) * job.pitch + x];
    __syncthreads();
}

/* These point to two columns of the tile, from the first row of a lane's patches on. */
struct nlm_columns {
    const float *even, *odd;
};

static __device__ inline struct nlm_columns nlm_columns_at(const float *row, int column, int half)
{
    return {row + nlm_column(column, half), row + nlm_column(column + 1, half)};
}

/* One lane has these sums of its rows. */
struct nlm_sums {
    float sums[2][NLM_ROWS], totals[2][NLM_ROWS];
};

/* Adds N shifts, each a row below the one before: `here` and `there` are the first columns of the two patches of the
 * first shift, `values` those of the pixels that it leads to. Shifts share what they read. */
template <int N, int R, int RZ>
static __device__ inline void nlm_add_shifts(struct nlm_sums *sums, struct nlm_columns here, struct nlm_columns there,
                                             struct nlm_columns values, int plane, int width,
                                             const struct nlm_weight &weight, bool rician)
{
    /* The loop over slices, if unrolled, keeps the values at the pixels themselves in registers from shift to shift. */
    enum { ROWS = NLM_ROWS, UNROLLED = R < 2 ? 2 * RZ + 1 : 1 };
    float even[N][ROWS + 2 * R] = {}, odd[N][ROWS + 2 * R] = {};
#pragma unroll UNROLLED
    for (int k = -RZ; k <= RZ; k++)
#pragma unroll
        for (int j = 0; j < ROWS + 2 * R; j++)
#pragma unroll
            for (int n = 0; n < N; n++) {
                const int at = k * plane + j * width, shifted = at + n * width;
                const float a = here.even[at] - there.even[shifted], b = here.odd[at] - there.odd[shifted];
                even[n][j] = __fmaf_rn(a, a, even[n][j]);
                odd[n][j] = __fmaf_rn(b, b, odd[n][j]);
            }
#pragma unroll
    for (int n = 0; n < N; n++) {
        nlm_sum_down<R, ROWS>(even[n]);
        nlm_sum_down<R, ROWS>(odd[n]);
    }
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
        for (int n = 0; n < N; n++) {
            nlm_sum_along<R>(&even[n][j], &odd[n][j]);
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const float value = (i ? values.odd : values.even)[(j + R + n) * width];
                const float w = nlm_power(__fmaf_rn(-weight.scale, i ? odd[n][j] : even[n][j], weight.offset));
                sums->sums[i][j] = __fmaf_rn(w, rician ? value * value : value, sums->sums[i][j]);
                sums->totals[i][j] += w;
            }
        }
}

template <int R, bool VOLUME>
static __global__ void __launch_bounds__(NLM_LANES *NLM_MOST_WARPS) nlm_tiles(struct nlm_job job)
{
    enum { ROWS = NLM_ROWS, COLUMNS = NLM_COLUMNS - 2 * R, RZ = VOLUME ? R : 0 };
    extern __shared__ float tile[];
    const int d = job.distance, half = NLM_LANES + d, width = 2 * half, warps = blockDim.x / NLM_LANES;
    const int height = warps * ROWS + 2 * (d + R), plane = height * width;
    const int lane = threadIdx.x % NLM_LANES, warp = threadIdx.x / NLM_LANES;
    const int tile_x = (int)(blockIdx.x % job.tiles_x), tile_y = (int)(blockIdx.x / job.tiles_x % job.tiles_y);
    const int64_t z = blockIdx.x / (job.tiles_x * job.tiles_y);
    const int y = (tile_y * warps + warp) * ROWS, x = tile_x * COLUMNS + 2 * lane;
    nlm_load_tile(job, job.image + z * job.plane + (int64_t)tile_y * warps * ROWS * job.pitch + tile_x * COLUMNS,
                  2 * (job.depth + RZ) + 1, height, half, tile);
    const struct nlm_weight weight = nlm_weight_of(job, z);
    /* `first` is the first row of the patches of this lane's pixels, and `here` its columns. */
    const float *first = tile + (job.depth + RZ) * plane + (warp * ROWS + d) * width + lane;
    const struct nlm_columns here = nlm_columns_at(first, d, half);
    struct nlm_sums sums = {};
    for (int dz = -job.depth; dz <= job.depth; dz++)
        for (int dx = -d; dx <= d; dx++) {
            const struct nlm_columns there = nlm_columns_at(first + dz * plane - d * width, d + dx, half);
            const struct nlm_columns values = nlm_columns_at(first + dz * plane - d * width, d + dx + R, half);
            int at = 0;
            for (int dy = -d; dy < d; dy += 2, at += 2 * width)
                nlm_add_shifts<2, R, RZ>(&sums, here, {there.even + at, there.odd + at},
                                         {values.even + at, values.odd + at}, plane, width, weight, job.rician);
            nlm_add_shifts<1, R, RZ>(&sums, here, {there.even + at, there.odd + at},
                                     {values.even + at, values.odd + at}, plane, width, weight, job.rician);
        }
    if (lane >= NLM_LANES - R)
        return;
    const struct nlm_columns pixels = nlm_columns_at(first, d + R, half);
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (y + j < job.ny && x + i < job.nx)
                nlm_write(job, weight.bias, z, y + j, x + i, (i ? pixels.odd : pixels.even)[(j + R) * width],
                          sums.sums[i][j], sums.totals[i][j]);
}

#endif
