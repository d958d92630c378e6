/* SPDX-License-Identifier: Apache-2.0
 *
 * This carries out K iterations of tv in one pass over the fields. A warp has a row of 32 pixels, and each thread
 * marches through the planes (in 2D through the rows of a slice). At plane s it reads q and f, and iteration j works
 * out m of plane s - j and, from it, the new q of the plane before, which iteration j + 1 finds in registers. Neighbors
 * along x are in other lanes; in 3D those along y are in other warps of a block of 32 x 32 threads, and come through
 * shared memory. Each iteration needs one more pixel on every side, so that 32 - 2 K pixels of 32 come out; the
 * neighboring block computes the others again.
 *
 * The sums are those of the CPU in the same order, so that a pixel's bytes depend neither on K nor on where in a block
 * it lies. K iterations move 28 bytes a pixel in 3D and 20 in 2D, 8 more with primal-dual; what two blocks read is
 * found in the second cache. docs/notes/tv.md has times, and why roots are exact.
 */
#include "cuda/denoising/tv.cuh"

enum { LANES = 32, WARPS_3D = 32, WARPS_2D = 8, CHUNK = 64, MOST_BLOCKS_Z = 65535 };

template <int K> struct tv_steps {
    struct tv_step at[K];
};

/* These values of one pixel are read. `along` is q along the axis of the march, `across` q along y in 3D. */
struct pixel {
    float x, across, along, value, image;
};

/* A thread marches over the elements `at` + s * stride, for s in [first, end). */
struct march {
    int64_t at, stride;
    int first, end, n; /* n: planes, or rows of a slice */
    bool inside, last_x, last_y;
};

template <bool VOLUME, bool DUAL>
static __device__ __forceinline__ struct pixel read_pixel(const struct tv_planes &planes, const struct tv_fields &from,
                                                          const struct march &march, int s)
{
    struct pixel pixel = {0, 0, 0, 0, 0};
    if (!march.inside || s < 0 || s >= march.n)
        return pixel;
    const int64_t i = march.at + s * march.stride;
    pixel.x = from.q[0][i];
    pixel.along = from.q[VOLUME ? 2 : 1][i];
    if (VOLUME)
        pixel.across = from.q[1][i];
    pixel.value = planes.values[i];
    if (DUAL)
        pixel.image = from.image[i];
    return pixel;
}

/* A thread keeps this of an iteration from plane to plane: q and m of the plane before, and its new x. */
struct tv_stage {
    float x, across, along, point, image, value;
};

/* Warps exchange these values: those of this plane, and of the one before. */
template <int K> struct tv_shared {
    float across[K][2][WARPS_3D][LANES], point[K][2][WARPS_3D][LANES];
};

/* Carries out one iteration: from q (and x) of plane s in `now` to the new q of plane s - 1, in place. */
template <bool VOLUME, bool DUAL, bool MASKED>
static __device__ __forceinline__ void iterate(const struct march &march, const struct tv_step &step, float weight,
                                               int s, struct tv_stage *stage, float (*across)[WARPS_3D][LANES],
                                               float (*points)[WARPS_3D][LANES], struct pixel *now)
{
    const int lane = (int)threadIdx.x, warp = (int)threadIdx.y, odd = s & 1;
    float sum = now->x - __shfl_up_sync(~0u, now->x, 1);
    if (VOLUME) {
        across[odd][warp][lane] = now->across;
        __syncthreads();
        sum += now->across - across[odd][warp > 0 ? warp - 1 : 0][lane];
    }
    sum += now->along - stage->along;
    const float to = now->value + weight * sum, old = now->image, image = DUAL ? old + step.blend * (to - old) : 0;
    const float point = DUAL ? image + step.momentum * (image - old) : to, last = stage->point;
    const float right = __shfl_down_sync(~0u, last, 1);
    const float gx = march.last_x ? 0 : ts_cuda_tv_difference(right, last, MASKED),
                gm = s >= march.n ? 0 : ts_cuda_tv_difference(point, last, MASKED);
    float gy = 0;
    if (VOLUME && !march.last_y)
        gy = ts_cuda_tv_difference(points[!odd][warp < WARPS_3D - 1 ? warp + 1 : warp][lane], last, MASKED);
    if (VOLUME)
        points[odd][warp][lane] = point;
    const float qx = stage->x + step.ascent * gx, qy = VOLUME ? stage->across + step.ascent * gy : 0,
                qm = stage->along + step.ascent * gm;
    const float norm = sqrtf(DUAL ? qx * qx + qy * qy + qm * qm : gx * gx + gy * gy + gm * gm);
    const float factor = 1 / (!DUAL ? 1 + step.ascent * norm : norm > 1 ? norm : 1);
    const bool exists = march.inside && s > 0 && s <= march.n;
    const struct tv_stage kept = {now->x, now->across, now->along, point, image, now->value};
    *now = {exists ? qx * factor : 0, exists ? qy * factor : 0, exists ? qm * factor : 0, stage->value, stage->image};
    *stage = kept;
}

template <int K, bool VOLUME, bool DUAL, bool MASKED>
static __device__ __forceinline__ void march_on(const struct tv_planes &planes, const struct tv_fields &from,
                                                const struct tv_fields &to, const struct tv_steps<K> &steps,
                                                const struct march &march, bool writes, struct tv_shared<K> *shared)
{
    struct tv_stage stages[K];
    for (int j = 0; j < K; j++)
        stages[j] = {0, 0, 0, 0, 0, 0};
    struct pixel next = read_pixel<VOLUME, DUAL>(planes, from, march, march.first - K);
    for (int s = march.first - K; s < march.end + K; s++) {
        struct pixel now = next;
        next = read_pixel<VOLUME, DUAL>(planes, from, march, s + 1);
#pragma unroll
        for (int j = 0; j < K; j++)
            iterate<VOLUME, DUAL, MASKED>(march, steps.at[j], planes.weight, s - j, &stages[j],
                                          VOLUME ? shared->across[j] : NULL, VOLUME ? shared->point[j] : NULL, &now);
        const int done = s - K;
        if (!writes || done < march.first || done >= march.end)
            continue;
        const int64_t i = march.at + done * march.stride;
        to.q[0][i] = now.x;
        to.q[VOLUME ? 2 : 1][i] = now.along;
        if (VOLUME)
            to.q[1][i] = now.across;
        if (DUAL)
            to.image[i] = now.image;
    }
}

/* The grid is tiles of x, tiles of y, and chunks of planes. */
template <int K, bool DUAL, bool MASKED>
static __global__ void __launch_bounds__(LANES *WARPS_3D)
    step_volume(struct tv_planes planes, struct tv_fields from, struct tv_fields to, struct tv_steps<K> steps,
                int64_t first, int64_t end)
{
    enum { WIDTH = LANES - 2 * K, HEIGHT = WARPS_3D - 2 * K };
    __shared__ struct tv_shared<K> shared;
    const int x = (int)(blockIdx.x * WIDTH + threadIdx.x) - K, y = (int)(blockIdx.y * HEIGHT + threadIdx.y) - K;
    const bool inside = x >= 0 && x < planes.nx && y >= 0 && y < planes.ny;
    const bool writes =
        inside && threadIdx.x >= K && threadIdx.x < LANES - K && threadIdx.y >= K && threadIdx.y < WARPS_3D - K;
    if (planes.done[first])
        return;
    const int64_t z = first + (int64_t)blockIdx.z * CHUNK;
    const struct march march = {(int64_t)y * planes.nx + x,
                                planes.plane,
                                (int)z,
                                (int)(z + CHUNK < end ? z + CHUNK : end),
                                (int)planes.n,
                                inside,
                                x + 1 >= planes.nx,
                                y + 1 >= planes.ny};
    march_on<K, true, DUAL, MASKED>(planes, from, to, steps, march, writes, &shared);
}

/* The grid is tiles of x, chunks of rows, one for each warp, and slices. */
template <int K, bool DUAL, bool MASKED>
static __global__ void __launch_bounds__(LANES *WARPS_2D)
    step_slices(struct tv_planes planes, struct tv_fields from, struct tv_fields to, struct tv_steps<K> steps,
                int64_t end)
{
    enum { WIDTH = LANES - 2 * K };
    const int x = (int)(blockIdx.x * WIDTH + threadIdx.x) - K, y = (int)(blockIdx.y * WARPS_2D + threadIdx.y) * CHUNK;
    const bool inside = x >= 0 && x < planes.nx, writes = inside && threadIdx.x >= K && threadIdx.x < LANES - K;
    if (y >= planes.ny)
        return;
    for (int64_t z = blockIdx.z; z < end; z += gridDim.z) {
        if (planes.done[z])
            continue;
        const struct march march = {
            z * planes.plane + x, planes.nx, y, y + CHUNK < planes.ny ? y + CHUNK : planes.ny, planes.ny, inside,
            x + 1 >= planes.nx,   true};
        march_on<K, false, DUAL, MASKED>(planes, from, to, steps, march, writes, NULL);
    }
}

template <int K> static struct tv_steps<K> steps_of(const struct tv_step *step) {
    struct tv_steps<K> steps;
    memcpy(steps.at, step, sizeof steps.at);
    return steps;
}

template <int K, bool DUAL, bool MASKED>
static void launch_volume(const struct tv_planes *planes, const struct tv_fields *from, const struct tv_fields *to,
                          const struct tv_step *steps, int64_t first, int64_t end, cudaStream_t stream)
{
    const dim3 threads(LANES, WARPS_3D),
        blocks((unsigned)ts_cuda_parts(planes->nx, LANES - 2 * K),
               (unsigned)ts_cuda_parts(planes->ny, WARPS_3D - 2 * K), (unsigned)ts_cuda_parts(end - first, CHUNK));
    step_volume<K, DUAL, MASKED><<<blocks, threads, 0, stream>>>(*planes, *from, *to, steps_of<K>(steps), first, end);
}

template <int K, bool DUAL, bool MASKED>
static void launch_slices(const struct tv_planes *planes, const struct tv_fields *from, const struct tv_fields *to,
                          const struct tv_step *steps, int64_t end, cudaStream_t stream)
{
    const dim3 threads(LANES, WARPS_2D), blocks((unsigned)ts_cuda_parts(planes->nx, LANES - 2 * K),
                                                (unsigned)ts_cuda_parts(planes->ny, CHUNK * WARPS_2D),
                                                (unsigned)(end < MOST_BLOCKS_Z ? end : MOST_BLOCKS_Z));
    step_slices<K, DUAL, MASKED><<<blocks, threads, 0, stream>>>(*planes, *from, *to, steps_of<K>(steps), end);
}

int ts_cuda_tv_steps(const struct tv_planes *planes, int64_t left)
{
    const int most = planes->volume ? TV_STEPS_3D : TV_STEPS_2D;
    return left >= most ? most : left >= 2 ? 2 : 1;
}

enum ts_status ts_cuda_tv_step(const struct stage_context *context, const struct tv_planes *planes,
                               const struct tv_fields *from, const struct tv_fields *to, const struct tv_step *steps,
                               int n_steps, int64_t first, int64_t end, cudaStream_t stream)
{
#define CHOOSE(launch, K)                                                                                              \
    (planes->masked ? planes->dual ? launch<K, true, true> : launch<K, false, true>                                    \
     : planes->dual ? launch<K, true, false>                                                                           \
                    : launch<K, false, false>)
#define VOLUME(K) CHOOSE(launch_volume, K)
#define SLICES(K) CHOOSE(launch_slices, K)
    if (planes->volume)
        (n_steps == TV_STEPS_3D ? VOLUME(TV_STEPS_3D)
         : n_steps == 2         ? VOLUME(2)
                                : VOLUME(1))(planes, from, to, steps, first, end, stream);
    else
        (n_steps == TV_STEPS_2D ? SLICES(TV_STEPS_2D)
         : n_steps == 2         ? SLICES(2)
                                : SLICES(1))(planes, from, to, steps, end, stream);
#undef VOLUME
#undef SLICES
#undef CHOOSE
    return ts_cuda_launched(context, "tv step");
}
