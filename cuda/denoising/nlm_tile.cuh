/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of nlm. A block brings a tile of the image, with the border of its search windows, into shared memory, and
 * goes through all shifts with it. A warp has ROWS rows of 32 columns. For one shift a lane has the squared differences
 * of its column in registers, and sums them down the column (through the slices while they are made); the sums along
 * the rows come from the lanes to the right, so that 32 - 2 R lanes have a result. Sums of 2 R + 1 values are made from
 * sums of 2 and 4, for all rows at once. Numerators and denominators stay in registers to the end. A shift costs a
 * pixel (3d: each slice of the patch) 1 + 2 R/ROWS differences with two loads each, about 3 additions down and 3 with
 * as many shuffles along, and one exponential; memory is read once.
 *
 * 16 rows keep the share of the rows above and below small and still fit the registers; the warps of a block stand one
 * below the other, so that they share the rows between them.
 */
#ifndef CUDA_DENOISING_NLM_TILE_CUH
#define CUDA_DENOISING_NLM_TILE_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/denoising/nlm.h"
}

enum { NLM_LANES = 32, NLM_ROWS = 16, NLM_MOST_WARPS = 4 };

/* The image as floats with its border. Its rows and columns reach to the end of the last tile. */
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
    const float *original; /* the first slice of output as it was; NULL for integers, which are all finite */
    float *out;
};

static __device__ inline struct nlm_weight nlm_weight_of(const struct nlm_job &job, int64_t z)
{
    const struct nlm_numbers *found = (const struct nlm_numbers *)(job.numbers + z * job.stride);
    const struct nlm_numbers numbers = job.numbers ? *found : job.given;
    return ts_nlm_weight(&numbers, job.patch);
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
    job.out[at] = job.original && here == NLM_FAR ? job.original[at] : value;
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

/* Returns the sum of v over this lane and the 2 R to its right. */
template <int R> static __device__ inline float nlm_sum_along(float v)
{
    const auto right = [](float value, int n) { return __shfl_down_sync(~0u, value, n); };
    if constexpr (R == 0)
        return v;
    const float s = v + right(v, 1);
    if constexpr (R == 1)
        return s + right(v, 2);
    const float t = s + right(s, 2);
    if constexpr (R == 2)
        return t + right(v, 4);
    else if constexpr (R == 3)
        return t + (right(s, 4) + right(v, 6));
    const float u = t + right(t, 4);
    return R == 4 ? u + right(v, 8) : u + (right(s, 8) + right(v, 10));
}

/* Copies `rows` rows of `columns` from each plane; row and column 0 are those of (y, x) of the bordered image. */
static __device__ inline void nlm_load_tile(const struct nlm_job &job, const float *from, int depth, int rows,
                                            int columns, float *tile)
{
    const int lane = threadIdx.x % NLM_LANES, warp = threadIdx.x / NLM_LANES, warps = blockDim.x / NLM_LANES;
    for (int row = warp; row < depth * rows; row += warps)
        for (int x = lane; x < columns; x += NLM_LANES)
            tile[row * columns + x] = from[row / rows * job.plane + (int64_t)(row % rows) * job.pitch + x];
    __syncthreads();
}

template <int R, bool VOLUME>
static __global__ void __launch_bounds__(NLM_LANES *NLM_MOST_WARPS) nlm_tiles(struct nlm_job job)
{
    enum { ROWS = NLM_ROWS, COLUMNS = NLM_LANES - 2 * R, RZ = VOLUME ? R : 0 };
    /* Where slices are unrolled, the values at the pixels themselves stay in registers from shift to shift. */
    enum { UNROLLED = R < 3 ? 2 * RZ + 1 : 1 };
    extern __shared__ float tile[];
    const int d = job.distance, width = NLM_LANES + 2 * d, warps = blockDim.x / NLM_LANES;
    const int height = warps * ROWS + 2 * (d + R), plane = height * width;
    const int lane = threadIdx.x % NLM_LANES, warp = threadIdx.x / NLM_LANES;
    const int tile_x = (int)(blockIdx.x % job.tiles_x), tile_y = (int)(blockIdx.x / job.tiles_x % job.tiles_y);
    const int64_t z = blockIdx.x / (job.tiles_x * job.tiles_y);
    const int y = (tile_y * warps + warp) * ROWS, x = tile_x * COLUMNS + lane;
    nlm_load_tile(job, job.image + z * job.plane + (int64_t)tile_y * warps * ROWS * job.pitch + tile_x * COLUMNS,
                  2 * (job.depth + RZ) + 1, height, width, tile);
    const struct nlm_weight weight = nlm_weight_of(job, z);
    /* The first row and column of the patches of this lane's pixels. */
    const float *first = tile + (job.depth + RZ) * plane + (warp * ROWS + d) * width + d + lane;
    float sums[ROWS] = {}, totals[ROWS] = {};
    for (int dz = -job.depth; dz <= job.depth; dz++)
        for (int dx = -d; dx <= d; dx++)
            for (int dy = -d; dy <= d; dy++) {
                const float *shifted = first + dz * plane + dy * width + dx;
                float v[ROWS + 2 * R] = {};
#pragma unroll UNROLLED
                for (int k = -RZ; k <= RZ; k++)
#pragma unroll
                    for (int j = 0; j < ROWS + 2 * R; j++) {
                        const float difference = first[k * plane + j * width] - shifted[k * plane + j * width];
                        v[j] = __fmaf_rn(difference, difference, v[j]);
                    }
                nlm_sum_down<R, ROWS>(v);
#pragma unroll
                for (int j = 0; j < ROWS; j++) {
                    const float sum = nlm_sum_along<R>(v[j]), value = shifted[(j + R) * width + R];
                    const float w = nlm_power(__fmaf_rn(-weight.scale, sum, weight.offset));
                    sums[j] = __fmaf_rn(w, job.rician ? value * value : value, sums[j]);
                    totals[j] += w;
                }
            }
    if (lane >= COLUMNS || x >= job.nx)
        return;
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        if (y + j < job.ny)
            nlm_write(job, weight.bias, z, y + j, x, first[(j + R) * width + R], sums[j], totals[j]);
}

#endif
