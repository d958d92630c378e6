/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA side of the stage gaussian: it describes the image and its weights to the launcher of a
 * method. The method separable is in this file, fused in gaussian_fused.cu.
 */
#include "cuda/filters/gaussian.cuh"

#include "cuda/filters/masked_windows.cuh"

/* ---- gaussian separable ------------------------------------------------------------------------
 *
 * gaussian in one pass for each axis, z (only in 3D), x and y, for any radius. A thread makes 8
 * sums side by side along the axis: it takes 8 weights and 8 samples at a time, and adds 64
 * products of them. The passes meet in scratch.
 *
 * Along z and y a warp reads 32 columns, and neighboring threads share their samples through the
 * caches. Along x a block brings parts of 4 rows with their border into shared memory, where groups
 * of 8 columns are 9 apart, so that threads use different banks. Memory traffic: 2 reads and 2
 * writes a pixel in 2D, 3 and 3 in 3D. */

enum {
    SUMS = 8,
    BLOCK_X = 32,
    BLOCK_Y = 8,
    ROW_THREADS = 64,
    ROWS = 4,
    ROW_COLUMNS = ROW_THREADS * SUMS
};

/* One pass over nz x ny x nx outputs. Along z the input has `radius` more slices at both ends. */
struct gaussian_pass {
    int64_t nz, ny, nx;
    int axis, radius, border;
    float constant;
    const float *weights; /* 2 radius + 1 weights */
};

/* Sets sums[s] to the sum over t of weights[t] * sample(s + t). `sample` is also called for up to
 * 15 samples behind the last window. */
template <typename SAMPLE>
static __device__ __forceinline__ void gaussian_sums(const float *weights, int taps, SAMPLE sample,
                                                     float (&sums)[SUMS])
{
    float x[2 * SUMS];
    int t = 0;
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        sums[i] = 0;
        x[i] = sample(i);
    }
    for (; t + SUMS <= taps; t += SUMS) {
        const float4 low = ((const float4 *)(weights + t))[0],
                     high = ((const float4 *)(weights + t))[1];
        const float w[SUMS] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int i = 0; i < SUMS; i++)
            x[SUMS + i] = sample(t + SUMS + i);
#pragma unroll
        for (int j = 0; j < SUMS; j++)
#pragma unroll
            for (int s = 0; s < SUMS; s++)
                sums[s] = __fmaf_rn(w[j], x[s + j], sums[s]);
#pragma unroll
        for (int i = 0; i < SUMS; i++)
            x[i] = x[SUMS + i];
    }
    for (; t < taps; t++) {
        const float weight = weights[t];
#pragma unroll
        for (int s = 0; s < SUMS; s++) {
            sums[s] = __fmaf_rn(weight, x[s], sums[s]);
            x[s] = s + 1 < SUMS ? x[(s + 1) % SUMS] : sample(t + SUMS);
        }
    }
}

template <typename T>
static __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    gaussian_along(const T *in, float *out, const __grid_constant__ struct gaussian_pass pass)
{
    const bool slices = pass.axis == 0;
    const int64_t n_lines = slices ? pass.ny : pass.nz, n_out = slices ? pass.nz : pass.ny;
    const int64_t n = slices ? n_out + 2 * pass.radius : n_out;
    const unsigned columns = (unsigned)ts_cuda_parts(pass.nx, BLOCK_X);
    const unsigned groups = (unsigned)ts_cuda_parts(n_out, BLOCK_Y * SUMS);
    const int64_t x = (int64_t)(blockIdx.x % columns) * BLOCK_X + threadIdx.x,
                  line = blockIdx.x / columns / groups;
    const int64_t first = ((int64_t)(blockIdx.x / columns % groups) * BLOCK_Y + threadIdx.y) * SUMS;
    const int64_t stride = slices ? pass.ny * pass.nx : pass.nx,
                  from = first - (slices ? 0 : pass.radius);
    const int taps = 2 * pass.radius + 1;
    if (x >= pass.nx || line >= n_lines || first >= n_out)
        return;
    in += line * (slices ? pass.nx : pass.ny * pass.nx) + x;
    out += line * (slices ? pass.nx : pass.ny * pass.nx) + x + first * stride;
    float sums[SUMS];
    if (from >= 0 && from + taps + 2 * SUMS <= n) {
        const T *const window = in + from * stride;
        gaussian_sums(
            pass.weights, taps, [=](int i) { return (float)window[i * stride]; }, sums);
    } else {
        gaussian_sums(
            pass.weights, taps,
            [=](int i) {
                const int64_t at =
                    slices ? min(from + i, n - 1) : ts_cuda_border_index(from + i, n, pass.border);
                return at < 0 ? pass.constant : (float)in[at * stride];
            },
            sums);
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        if (first + s < n_out)
            out[s * stride] = sums[s];
}

/* Returns the place of a column in shared memory. */
static inline __host__ __device__ int gaussian_place(int column)
{
    return column + column / SUMS;
}

/* Returns the floats of shared memory that one row takes. */
static inline __host__ __device__ int row_floats(int radius)
{
    return gaussian_place(ROW_COLUMNS + 2 * radius + 2 * SUMS);
}

template <typename T>
static __global__ void __launch_bounds__(ROW_THREADS *ROWS)
    gaussian_across(const T *in, float *out, const __grid_constant__ struct gaussian_pass pass)
{
    extern __shared__ float shared[];
    const unsigned parts = (unsigned)ts_cuda_parts(pass.nx, ROW_COLUMNS);
    const int64_t first = (int64_t)(blockIdx.x % parts) * ROW_COLUMNS;
    const int64_t row = (int64_t)(blockIdx.x / parts) * ROWS + threadIdx.y;
    const bool inside = row < pass.nz * pass.ny;
    const int n = (int)min((int64_t)ROW_COLUMNS, pass.nx - first), own = threadIdx.x * SUMS;
    float *const samples = shared + threadIdx.y * row_floats(pass.radius);
    float sums[SUMS];
    in += row * pass.nx;
    for (int i = threadIdx.x; inside && i < n + 2 * pass.radius; i += ROW_THREADS) {
        const int64_t x = first - pass.radius + i,
                      from = ts_cuda_border_index(x, pass.nx, pass.border);
        samples[gaussian_place(i)] = from < 0 ? pass.constant : (float)in[from];
    }
    __syncthreads();
    const float *const window = samples + gaussian_place(own);
    gaussian_sums(
        pass.weights, 2 * pass.radius + 1, [=](int i) { return window[gaussian_place(i)]; }, sums);
    __syncthreads();
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        samples[gaussian_place(own) + s] = sums[s];
    __syncthreads();
    for (int i = threadIdx.x; inside && i < n; i += ROW_THREADS)
        out[row * pass.nx + first + i] = samples[gaussian_place(i)];
}

/* ---- launch ---------------------------------------------------------------------------------- */

template <typename T>
static enum ts_status gaussian_launch(const struct stage_context *context, const T *in, float *out,
                                      const struct gaussian_pass *pass, cudaStream_t stream)
{
    if (pass->axis == 2) {
        const size_t bytes = (size_t)(ROWS * row_floats(pass->radius)) * sizeof(float);
        const enum ts_status status =
            ts_cuda_shared(context, (const void *)gaussian_across<T>, bytes);
        if (status != TS_OK)
            return status;
        gaussian_across<<<(unsigned)(ts_cuda_parts(pass->nx, ROW_COLUMNS) *
                                     ts_cuda_parts(pass->nz * pass->ny, ROWS)),
                          dim3(ROW_THREADS, ROWS), bytes, stream>>>(in, out, *pass);
        return ts_cuda_launched(context, "gaussian_across");
    }
    const int64_t along = pass->axis == 0 ? pass->nz : pass->ny,
                  lines = pass->axis == 0 ? pass->ny : pass->nz;
    gaussian_along<<<(unsigned)(ts_cuda_parts(pass->nx, BLOCK_X) *
                                ts_cuda_parts(along, BLOCK_Y * SUMS) * lines),
                     dim3(BLOCK_X, BLOCK_Y), 0, stream>>>(in, out, *pass);
    return ts_cuda_launched(context, "gaussian_along");
}

/* Returns the bytes of scratch of map_separable(). */
static size_t separable_bytes(const struct gaussian_job *job)
{
    const size_t image =
        ts_cuda_stride((size_t)(job->n[0] * job->n[1] * job->n[2]) * sizeof(float));
    return job->radius[0] > 0 ? 2 * image : image;
}

/* Makes one pass for each axis, for any image. */
static enum ts_status map_separable(const struct stage_context *context,
                                    const struct gaussian_job *job, const struct cuda_call *call)
{
    const bool volume = job->radius[0] > 0;
    float *const rows = (float *)call->scratch;
    float *const slices = rows + separable_bytes(job) / 2 / sizeof(float);
    struct gaussian_pass passes[3];
    enum ts_status status;
    for (int axis = 0; axis < 3; axis++)
        passes[axis] = {job->n[0],         job->n[1],   job->n[2],     axis,
                        job->radius[axis], job->border, job->constant, job->weights[axis]};
#define FIRST(T)                                                                                   \
    status = gaussian_launch(context, (const T *)job->in, volume ? slices : rows,                  \
                             &passes[volume ? 0 : 2], call->stream)
    TS_CUDA_DTYPES(context->in.dtype, FIRST)
#undef FIRST
    if (status == TS_OK && volume)
        status = gaussian_launch(context, (const float *)slices, rows, &passes[2], call->stream);
    return status == TS_OK
               ? gaussian_launch(context, (const float *)rows, job->out, &passes[1], call->stream)
               : status;
}

/* Returns how many floats the weights of an axis take, rounded so that the next axis starts at a
 * multiple of 16 bytes. */
static int weights_of(int radius)
{
    return (2 * radius + 1 + 3) / 4 * 4;
}

static struct gaussian_job gaussian_describe(const struct stage_context *context, int64_t n,
                                             const float *weights)
{
    const struct gaussian_params *params = (const struct gaussian_params *)context->params;
    struct gaussian_job job = {};
    job.border = params->border;
    job.constant = (float)params->constant;
    for (int axis = 0; axis < 3; axis++) {
        job.n[axis] = axis == 0 ? n : context->in.axes[axis].n;
        job.radius[axis] = (int)ts_gaussian_line(context, axis).radius;
        job.weights[axis] = weights;
        weights += weights_of(job.radius[axis]);
    }
    return job;
}

static bool is_fused(const struct stage_context *context)
{
    return ((const struct gaussian_params *)context->params)->method == GAUSSIAN_FUSED;
}

static size_t constants_bytes(const struct stage_context *context)
{
    const struct gaussian_job job = gaussian_describe(context, 0, NULL);
    return (size_t)(weights_of(job.radius[0]) + weights_of(job.radius[1]) +
                    weights_of(job.radius[2])) *
           sizeof(float);
}

static void gaussian_constants(const struct stage_context *context, void *host)
{
    float *weights = (float *)host;
    for (int axis = 0; axis < 3; axis++) {
        const struct gaussian_line line = ts_gaussian_line(context, axis);
        ts_gaussian_weights(line, weights);
        weights += weights_of((int)line.radius);
    }
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct gaussian_job job = gaussian_describe(context, n, NULL);
    if (context->in.masked)
        return ts_cuda_masked_means_bytes(context, n);
    return is_fused(context) ? ts_cuda_gaussian_fused_bytes(context, &job) : separable_bytes(&job);
}

/* The weights of the job are those of the CPU, axis by axis. */
static enum ts_status map_masked(const struct stage_context *context,
                                 const struct gaussian_job *job, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    struct masked_window window = {};
    window.border = (enum ts_border)job->border;
    window.constant = ((const struct gaussian_params *)context->params)->constant;
    for (int axis = 0; axis < 3; axis++) {
        window.radius[axis] = job->radius[axis];
        window.weights[axis] = job->weights[axis];
    }
    return ts_cuda_masked_means(context, &window, in, out, call);
}

static enum ts_status gaussian_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    struct gaussian_job job =
        gaussian_describe(context, out->axes[0].n, (const float *)call->constants);
    job.in = in->data;
    job.out = (float *)out->data;
    if (context->in.masked)
        return map_masked(context, &job, in, out, call);
    return (is_fused(context) ? ts_cuda_gaussian_fused : map_separable)(context, &job, call);
}

const struct stage_cuda gaussian_cuda = {.constants_bytes = constants_bytes,
                                         .constants = gaussian_constants,
                                         .scratch_bytes = scratch_bytes,
                                         .map = gaussian_map};
