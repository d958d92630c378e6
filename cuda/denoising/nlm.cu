/* SPDX-License-Identifier: Apache-2.0
 *
 * nlm on a CUDA device. The image is first copied into floats with its border filled in, 4 bytes a
 * pixel written and read again, which takes little time beside the shifts; then nlm_tiles maps it.
 * If a tile does not fit the shared memory of a block, map_pixels replaces nlm_tiles: a thread
 * compares the patches of one pixel value by value.
 */
#include "cuda/counting/noise_estimate.cuh"
#include "cuda/values/border.cuh"
#include "cuda/values/value_at.cuh"

extern "C" {
#include "stages/denoising/nlm.h"
#include "stages/values/scope.h"
}

/* ---- nlm tile ----------------------------------------------------------------------------------
 *
 * This is the kernel of nlm. A block brings a tile of the image, with the border of its search
 * windows, into shared memory, and goes through all shifts with it. A warp has NLM_ROWS rows of 64
 * columns, and a lane two neighboring columns. For one shift a lane has the squared differences of
 * its columns in registers, and sums them down the columns (the slices of a patch are added as the
 * differences are made). Sums along the rows also need the sums of lanes to the right, so that 64 -
 * 2 R columns have a result. Sums of 2 R + 1 values down are made from sums of 2 and 4, for all
 * rows at once. Numerators and denominators stay in registers to the end. For each slice of the
 * patch, a shift takes 1 + 2 R / NLM_ROWS differences a pixel, each of a value from shared memory;
 * then it takes about 3 additions down, 3 along with (R + 1)/2 shuffles, and one exponential. The
 * image is read once.
 *
 * A lane has two columns because that halves the shuffles, which limit the kernel with one column.
 * With two, the registers have room for 8 rows beside the values at the pixels themselves. The
 * warps of a block are one below the other and share the rows between them. A row of the tile has
 * its even columns first, then its odd ones, so that lanes read neighbors in both. */

enum { NLM_LANES = 32, NLM_COLUMNS = 2 * NLM_LANES, NLM_ROWS = 8, NLM_MOST_WARPS = 8 };

/* The image is held as floats with its border, with rows and columns up to the end of the last
 * tile. */
struct nlm_job {
    const float *image;
    int64_t plane;
    int pitch, pad, pad_z; /* pitch: floats from one row to the next; pad, pad_z: width of the
                            * border */
    int nz, ny, nx, radius, distance, depth;
    unsigned tiles_x, tiles_y; /* blocks side by side, and one below the other */
    bool rician;
    double patch;             /* number of pixels in a patch */
    struct nlm_numbers given; /* used if sigma is not estimated */
    const char *numbers; /* if sigma is estimated: a struct nlm_numbers for each slice, `stride`
                          * bytes apart; 0 if the volume has one */
    size_t stride;
    const void *original; /* the input, from the first output slice on */
    bool common;          /* true if all slices that a pixel comes from have one unit */
    enum ts_dtype dtype;  /* dtype of `original` */
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

/* Returns 2^x for x <= 0, or 0 if that is below the smallest normal float. */
static __device__ inline float nlm_power(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(fminf(x, 0)));
    return power;
}

static __device__ inline void nlm_write(const struct nlm_job &job, float bias, int64_t z, int y,
                                        int x, float here, float sum, float total)
{
    const int64_t at = (z * job.ny + y) * job.nx + x;
    const float mean = sum / total;
    const float value = job.rician ? sqrtf(fmaxf(mean - bias, 0)) : mean;
    job.out[at] = here == NLM_FAR ? (float)ts_cuda_value_at(job.original, job.dtype, at)
                                  : value * nlm_unit_of(job, z);
}

/* Replaces v[i] by the sum of v[i] .. v[i + 2 R], for i < N. */
template <int R, int N> static __device__ inline void nlm_sum_down(float (&v)[N + 2 * R])
{
    constexpr int M = N + 2 * R;
    float s[M]; /* sums of 2, then of 4, then of 8 values */
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

/* Replaces the value in each of this lane's two columns by the sum of itself and of the 2 R columns
 * to its right. */
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

/* Returns the place of a column of the tile within its row: even columns come before odd ones. */
static __device__ inline int nlm_column(int column, int half)
{
    return column % 2 * half + column / 2;
}

/* Copies `rows` rows of 2 * half columns from each plane to the tile. */
static __device__ inline void nlm_load_tile(const struct nlm_job &job, const float *from, int depth,
                                            int rows, int half, float *tile)
{
    const int lane = threadIdx.x % NLM_LANES, warp = threadIdx.x / NLM_LANES,
              warps = blockDim.x / NLM_LANES;
    for (int row = warp; row < depth * rows; row += warps)
        for (int x = lane; x < 2 * half; x += NLM_LANES)
            tile[row * 2 * half + nlm_column(x, half)] =
                from[row / rows * job.plane + (int64_t)(row % rows) * job.pitch + x];
    __syncthreads();
}

/* These point to two columns of the tile, at the first row of a lane's patches. */
struct nlm_columns {
    const float *even, *odd;
};

static __device__ inline struct nlm_columns nlm_columns_at(const float *row, int column, int half)
{
    return {row + nlm_column(column, half), row + nlm_column(column + 1, half)};
}

/* The sums of a lane's rows. */
struct nlm_sums {
    float sums[2][NLM_ROWS], totals[2][NLM_ROWS];
};

/* Adds N shifts, each one row below the one before: `here` and `there` are the first columns of the
 * two patches of the first shift, and `values` points to the pixels that the first shift leads to.
 * Shifts share what they read. */
template <int N, int R, int RZ>
static __device__ inline void nlm_add_shifts(struct nlm_sums *sums, struct nlm_columns here,
                                             struct nlm_columns there, struct nlm_columns values,
                                             int plane, int width, const struct nlm_weight &weight,
                                             bool rician)
{
    /* If the loop over slices is unrolled, the values at the pixels themselves stay in registers
     * from shift to shift. */
    enum { ROWS = NLM_ROWS, UNROLLED = R < 2 ? 2 * RZ + 1 : 1 };
    float even[N][ROWS + 2 * R] = {}, odd[N][ROWS + 2 * R] = {};
#pragma unroll UNROLLED
    for (int k = -RZ; k <= RZ; k++)
#pragma unroll
        for (int j = 0; j < ROWS + 2 * R; j++)
#pragma unroll
            for (int n = 0; n < N; n++) {
                const int at = k * plane + j * width, shifted = at + n * width;
                const float a = here.even[at] - there.even[shifted],
                            b = here.odd[at] - there.odd[shifted];
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
                const float w =
                    nlm_power(__fmaf_rn(-weight.scale, i ? odd[n][j] : even[n][j], weight.offset));
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
    const int d = job.distance, half = NLM_LANES + d, width = 2 * half,
              warps = blockDim.x / NLM_LANES;
    const int height = warps * ROWS + 2 * (d + R), plane = height * width;
    const int lane = threadIdx.x % NLM_LANES, warp = threadIdx.x / NLM_LANES;
    const int tile_x = (int)(blockIdx.x % job.tiles_x),
              tile_y = (int)(blockIdx.x / job.tiles_x % job.tiles_y);
    const int64_t z = blockIdx.x / (job.tiles_x * job.tiles_y);
    const int y = (tile_y * warps + warp) * ROWS, x = tile_x * COLUMNS + 2 * lane;
    nlm_load_tile(job,
                  job.image + z * job.plane + (int64_t)tile_y * warps * ROWS * job.pitch +
                      tile_x * COLUMNS,
                  2 * (job.depth + RZ) + 1, height, half, tile);
    const struct nlm_weight weight = nlm_weight_of(job, z);
    /* `first` is the first row of the patches of this lane's pixels; `here` are its columns. */
    const float *first = tile + (job.depth + RZ) * plane + (warp * ROWS + d) * width + lane;
    const struct nlm_columns here = nlm_columns_at(first, d, half);
    struct nlm_sums sums = {};
    for (int dz = -job.depth; dz <= job.depth; dz++)
        for (int dx = -d; dx <= d; dx++) {
            const struct nlm_columns there =
                nlm_columns_at(first + dz * plane - d * width, d + dx, half);
            const struct nlm_columns values =
                nlm_columns_at(first + dz * plane - d * width, d + dx + R, half);
            int at = 0;
            for (int dy = -d; dy < d; dy += 2, at += 2 * width)
                nlm_add_shifts<2, R, RZ>(&sums, here, {there.even + at, there.odd + at},
                                         {values.even + at, values.odd + at}, plane, width, weight,
                                         job.rician);
            nlm_add_shifts<1, R, RZ>(&sums, here, {there.even + at, there.odd + at},
                                     {values.even + at, values.odd + at}, plane, width, weight,
                                     job.rician);
        }
    if (lane >= NLM_LANES - R)
        return;
    const struct nlm_columns pixels = nlm_columns_at(first, d + R, half);
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (y + j < job.ny && x + i < job.nx)
                nlm_write(job, weight.bias, z, y + j, x + i,
                          (i ? pixels.odd : pixels.even)[(j + R) * width], sums.sums[i][j],
                          sums.totals[i][j]);
}

enum { THREADS = 256, MOST_BLOCKS = 65535 };

STAGE_PARAMS_OF(nlm_params)

/* ---- the noise ------------------------------------------------------------------------------- */

static enum noise_estimate estimate_of(const struct stage_context *context)
{
    return (enum noise_estimate)params_of(context)->estimate;
}

static size_t partial_bytes(const struct stage_context *context, int)
{
    return ts_cuda_noise_bytes(context, estimate_of(context));
}

static size_t reduce_scratch_bytes(const struct stage_context *context, int, int64_t n)
{
    return ts_cuda_noise_scratch_bytes(context, estimate_of(context), n);
}

static enum ts_status nlm_reduce(const struct stage_context *context, int,
                                 const struct ts_image *slices, void *partials,
                                 const struct cuda_call *call)
{
    const struct nlm_result *result = (const struct nlm_result *)call->result;
    return ts_cuda_noise_add(context, estimate_of(context), slices, &result->noise,
                             (const double *)call->constants, (char *)partials,
                             ts_cuda_stride(partial_bytes(context, 0)), call);
}

static void nlm_collect(const struct stage_context *context, int, const void *partial, void *total)
{
    ts_cuda_noise_collect(context, estimate_of(context), (const char *)partial, total);
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes,
    .scratch_bytes = reduce_scratch_bytes,
    .reduce = nlm_reduce,
    .collect = nlm_collect,
};

/* The constant is the percentile that the noise estimate takes. */
static size_t constants_bytes(const struct stage_context *)
{
    return sizeof(double);
}

static void nlm_constants(const struct stage_context *, void *host)
{
    *(double *)host = 50;
}

/* ---- the map --------------------------------------------------------------------------------- */

/* These are the sizes of the tiles and of the image with its border. */
struct nlm_plan {
    int warps; /* warps of a block; 0: no tile fits */
    size_t shared_bytes;
    unsigned tiles_x, tiles_y;
    int rows, pitch, pad, pad_z;
};

static struct nlm_plan plan_of(const struct stage_context *context)
{
    const struct nlm_params *params = params_of(context);
    const bool volume = params->dimensions == NLM_3D;
    const int64_t d = params->patch_distance, r = params->patch_size / 2,
                  ny = context->in.axes[1].n;
    struct nlm_plan plan = {.pad = (int)(d + r), .pad_z = volume ? (int)(d + r) : 0};
    /* Half the warps were as fast or faster, except for patches of many slices, whose tiles are so
     * large that few blocks are resident. */
    plan.warps = volume && r > 1 ? NLM_MOST_WARPS : NLM_MOST_WARPS / 2;
    for (; plan.warps > 0; plan.warps /= 2) {
        plan.shared_bytes = (size_t)((2 * plan.pad_z + 1) * (plan.warps * NLM_ROWS + 2 * (d + r)) *
                                     (NLM_COLUMNS + 2 * d)) *
                            sizeof(float);
        if (plan.shared_bytes <= (size_t)context->device->block_shared_bytes)
            break;
    }
    const int64_t height = NLM_ROWS * (plan.warps > 0 ? plan.warps : 1),
                  width = NLM_COLUMNS - 2 * r;
    plan.tiles_x = (unsigned)ts_cuda_parts(context->in.axes[2].n, width);
    plan.tiles_y = (unsigned)ts_cuda_parts(ny, height);
    plan.rows = (int)(plan.tiles_y * height + 2 * plan.pad);
    plan.pitch = (int)(plan.tiles_x * width + 2 * plan.pad);
    return plan;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct nlm_plan plan = plan_of(context);
    return (size_t)(n + 2 * plan.pad_z) * (size_t)plan.rows * (size_t)plan.pitch * sizeof(float);
}

static __device__ float finite_or_far(float value)
{
    return fabsf(value) < NLM_FAR ? value : NLM_FAR;
}

/* Block (y, z) writes rows y of every gridDim-th slice of the bordered image, divided by the unit.
 * Invalid pixels become values far from all others. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    fill_borders(struct nlm_job job, const T *in, const uint64_t *valid, int64_t words, float *out,
                 int64_t nz, int border, float constant)
{
    const int ny = job.ny, nx = job.nx, pitch = job.pitch, pad = job.pad;
    const int row = ts_cuda_border_apart((int)blockIdx.x - pad, ny, border);
    for (int64_t z = blockIdx.y; z < nz; z += gridDim.y) {
        const float unit = nlm_unit_of(job, job.pad_z > 0 ? 0 : z);
        for (int x = threadIdx.x; x < pitch; x += THREADS) {
            const int column = ts_cuda_border_rarely(x - pad, nx, border);
            const int64_t at = (int64_t)row * nx + column;
            const bool outside = row < 0 || column < 0,
                       hidden = !outside && valid && !(valid[z * words + at / 64] >> at % 64 & 1);
            const float value = outside ? constant : (float)in[z * ny * nx + at];
            out[(z * gridDim.x + blockIdx.x) * pitch + x] =
                hidden ? NLM_FAR : finite_or_far(value / unit);
        }
    }
}

/* Returns the sum of squared differences of two patches of radius r, and rz along z. */
static __device__ __forceinline__ float patch_distance(const struct nlm_job &job, const float *here,
                                                       const float *there, int r, int rz)
{
    float squares = 0;
    for (int k = -rz; k <= rz; k++)
        for (int j = -r; j <= r; j++)
            for (int i = -r; i <= r; i++) {
                const int64_t s = k * job.plane + j * job.pitch + i;
                const float difference = here[s] - there[s];
                squares = __fmaf_rn(difference, difference, squares);
            }
    return squares;
}

/* One thread computes one pixel. */
static __global__ void __launch_bounds__(THREADS) map_pixels(struct nlm_job job)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int x = (int)(at % job.nx), y = (int)(at / job.nx % job.ny), r = job.radius,
              d = job.distance;
    const int64_t z = at / job.nx / job.ny;
    if (z >= job.nz)
        return;
    const struct nlm_weight weight = nlm_weight_of(job, z);
    const float *here =
        job.image + (z + job.pad_z) * job.plane + (int64_t)(y + job.pad) * job.pitch + x + job.pad;
    const int rz = job.depth > 0 ? r : 0;
    float sum = 0, total = 0;
    for (int dz = -job.depth; dz <= job.depth; dz++)
        for (int dy = -d; dy <= d; dy++)
            for (int dx = -d; dx <= d; dx++) {
                const float *there = here + dz * job.plane + dy * job.pitch + dx;
                const float squares = patch_distance(job, here, there, r, rz);
                const float w = nlm_power(__fmaf_rn(-weight.scale, squares, weight.offset));
                sum = __fmaf_rn(w, job.rician ? *there * *there : *there, sum);
                total += w;
            }
    nlm_write(job, weight.bias, z, y, x, *here, sum, total);
}

template <int R, bool VOLUME>
static enum ts_status launch_tiles(const struct stage_context *context, const struct nlm_job &job,
                                   const struct nlm_plan &plan, cudaStream_t stream)
{
    const enum ts_status status =
        ts_cuda_shared(context, (const void *)nlm_tiles<R, VOLUME>, plan.shared_bytes);
    if (status != TS_OK)
        return status;
    const unsigned blocks = (unsigned)job.nz * plan.tiles_y * plan.tiles_x;
    nlm_tiles<R, VOLUME>
        <<<blocks, (unsigned)(plan.warps * NLM_LANES), plan.shared_bytes, stream>>>(job);
    return ts_cuda_launched(context, "nlm_tiles");
}

static enum ts_status nlm_launch(const struct stage_context *context, const struct nlm_job &job,
                                 const struct nlm_plan &plan, cudaStream_t stream)
{
    if (plan.warps == 0) {
        const int64_t n = (int64_t)job.nz * job.ny * job.nx;
        map_pixels<<<(unsigned)ts_cuda_parts(n, THREADS), THREADS, 0, stream>>>(job);
        return ts_cuda_launched(context, "nlm map_pixels");
    }
#define CASE(R)                                                                                    \
    case R:                                                                                        \
        return job.depth > 0 ? launch_tiles<R, true>(context, job, plan, stream)                   \
                             : launch_tiles<R, false>(context, job, plan, stream);
    switch (job.radius) {
        CASE(0)
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
    default:
        CASE(5)
    }
#undef CASE
}

static enum ts_status nlm_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, const struct cuda_call *call)
{
    const struct nlm_params *params = params_of(context);
    const struct nlm_plan plan = plan_of(context);
    const bool volume = params->dimensions == NLM_3D, estimates = ts_nlm_estimates(context);
    const int64_t padded_nz = in->axes[0].n,
                  words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid);
    struct nlm_job job = {.image = (const float *)call->scratch,
                          .plane = (int64_t)plan.rows * plan.pitch};
    job.pitch = plan.pitch;
    job.pad = plan.pad;
    job.pad_z = plan.pad_z;
    job.nz = (int)out->axes[0].n;
    job.ny = (int)out->axes[1].n;
    job.nx = (int)out->axes[2].n;
    job.radius = (int)params->patch_size / 2;
    job.distance = (int)params->patch_distance;
    job.depth = volume ? job.distance : 0;
    job.tiles_x = plan.tiles_x;
    job.tiles_y = plan.tiles_y;
    job.rician = params->noise == NLM_RICIAN;
    job.patch = pow((double)params->patch_size, volume ? 3 : 2);
    if (!estimates)
        job.given = ts_nlm_given(params);
    job.numbers = estimates ? (const char *)call->result : NULL;
    job.stride = ts_scope_per_slice(context)
                     ? ts_cuda_stride(nlm_stage.reduction->result_bytes(context))
                     : 0;
    job.original = ts_slice_data(in, plan.pad_z);
    job.common = !volume || job.stride == 0;
    job.dtype = in->dtype;
    job.out = (float *)out->data;
    const dim3 blocks((unsigned)plan.rows,
                      (unsigned)(padded_nz < MOST_BLOCKS ? padded_nz : MOST_BLOCKS));
#define FILL(T)                                                                                    \
    fill_borders<<<blocks, THREADS, 0, call->stream>>>(job, (const T *)in->data, in->valid, words, \
                                                       (float *)call->scratch, padded_nz,          \
                                                       params->border, (float)params->constant)
    TS_CUDA_DTYPES(in->dtype, FILL)
#undef FILL
    const enum ts_status status = ts_cuda_launched(context, "nlm fill_borders");
    return status == TS_OK ? nlm_launch(context, job, plan, call->stream) : status;
}

extern "C" {
const struct stage_cuda nlm_cuda = {
    .constants_bytes = constants_bytes,
    .constants = nlm_constants,
    .scratch_bytes = scratch_bytes,
    .map = nlm_map,
    .reduction = &reduction,
};
}
