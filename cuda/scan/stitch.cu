/* SPDX-License-Identifier: Apache-2.0
 *
 * stitch on a CUDA device: one thread makes one detector pixel of the result, in up to 8 views
 * whose samples are in flight together. Tables of stages/scan/stitch.c hold a weight for each pixel
 * and an opposite for each view, and stay in the caches. Both halves of a turn are read once from
 * memory (neighboring threads read neighbors, for the opposite view backwards; its other taps come
 * from the cache), and the result is written once: 12 bytes a sample that both halves see, 8 a
 * sample of one. Blocks are 128 threads, so that the last block of a narrow detector has few idle
 * threads.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/stitch.h"
}

enum { STITCH_THREADS = 128, STITCH_FLIGHT = 8 };

static size_t opposites_bytes(const struct stage_context *context)
{
    return ts_cuda_stride((size_t)context->out.axes[1].n * sizeof(struct stitch_opposite));
}

static size_t weights_bytes(const struct stage_context *context)
{
    return ts_cuda_stride((size_t)context->out.axes[2].n * sizeof(float));
}

/* The constants are followed, only on the host, by the scratch in which the opposites are found. */
static size_t constants_bytes(const struct stage_context *context)
{
    return opposites_bytes(context) + weights_bytes(context) +
           (size_t)context->in.axes[1].n * sizeof(struct view_place);
}

static void stitch_constants(const struct stage_context *context, void *host)
{
    char *weights = (char *)host + opposites_bytes(context),
         *scratch = weights + weights_bytes(context);
    ts_stitch_opposites(context, (struct stitch_opposite *)host, (struct view_place *)scratch);
    ts_stitch_weights(context, (float *)weights);
}

struct stitch_job {
    struct stitch_grid grid;
    const struct stitch_opposite *opposites;
    const float *weights;
    int64_t n_in, first, views, n_rows; /* n_in: views of the input; first, views: those of the
                                         * result; n_rows: rows of the result */
};

/* Returns sample i of the opposite view, or the last one beyond its ends. */
template <typename T>
static __device__ float opposite_at(const T *first, const T *second, float past, int64_t n,
                                    int64_t i)
{
    i = i < 0 ? 0 : i < n ? i : n - 1;
    const float value = (float)first[i];
    return past > 0 ? (1 - past) * value + past * (float)second[i] : value;
}

template <typename T>
static __device__ float mirrored(const struct stitch_job &job, const T *slice,
                                 struct stitch_opposite opposite, int64_t at)
{
    const struct stitch_grid &grid = job.grid;
    const T *first = slice + opposite.view[0] * grid.n, *second = slice + opposite.view[1] * grid.n;
    const int before = grid.taps == 4 ? 1 : 0;
    if (grid.taps == 1)
        return opposite_at(first, second, opposite.past, grid.n, at);
    float sum = grid.tap[0] * opposite_at(first, second, opposite.past, grid.n, at - before);
#pragma unroll
    for (int tap = 1; tap < STITCH_TAPS; tap++)
        if (tap < grid.taps)
            sum = sum + grid.tap[tap] *
                            opposite_at(first, second, opposite.past, grid.n, at - before + tap);
    return sum;
}

template <typename T>
static __global__ void __launch_bounds__(STITCH_THREADS)
    stitch(const T *in, float *out, const struct stitch_job job)
{
    const struct stitch_grid &grid = job.grid;
    const int64_t k = (int64_t)blockIdx.x * STITCH_THREADS + threadIdx.x, d = k - grid.shift;
    if (k >= grid.width)
        return;
    const bool own = d >= 0 && d < grid.n, other = d >= grid.first && d < grid.end;
    const float weight = job.weights[k];
    for (int64_t first = (int64_t)blockIdx.y * STITCH_FLIGHT; first < job.n_rows;
         first += (int64_t)gridDim.y * STITCH_FLIGHT) {
        float values[STITCH_FLIGHT];
        int64_t z = first / job.views, view = first - z * job.views;
#pragma unroll
        for (int i = 0; i < STITCH_FLIGHT; i++) {
            const T *slice = in + z * job.n_in * grid.n;
            values[i] = other ? mirrored(job, slice, job.opposites[view], grid.base - d) : grid.air;
            if (own) {
                const float value = (float)slice[(job.first + view) * grid.n + d];
                values[i] = other ? (1 - weight) * values[i] + weight * value : value;
            }
            if (first + i + 1 < job.n_rows && ++view == job.views) {
                view = 0;
                z++;
            }
        }
#pragma unroll
        for (int i = 0; i < STITCH_FLIGHT; i++)
            if (first + i < job.n_rows)
                out[(first + i) * grid.width + k] = values[i];
    }
}

static enum ts_status stitch_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const char *constants = (const char *)call->constants;
    const struct stitch_job job = {ts_stitch_grid(context),
                                   (const struct stitch_opposite *)constants,
                                   (const float *)(constants + opposites_bytes(context)),
                                   in->axes[1].n,
                                   ((const struct stitch_params *)context->params)->first,
                                   out->axes[1].n,
                                   out->axes[0].n * out->axes[1].n};
    const int64_t parts = ts_cuda_parts(job.n_rows, STITCH_FLIGHT);
    const dim3 grid((unsigned)ts_cuda_parts(job.grid.width, STITCH_THREADS),
                    (unsigned)(parts < 65535 ? parts : 65535));
#define LAUNCH(T)                                                                                  \
    stitch<T>                                                                                      \
        <<<grid, STITCH_THREADS, 0, call->stream>>>((const T *)in->data, (float *)out->data, job)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "stitch");
}

const struct stage_cuda stitch_cuda = {
    .constants_bytes = constants_bytes, .constants = stitch_constants, .map = stitch_map};
