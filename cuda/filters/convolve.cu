/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve on a CUDA device: chooses between three ways. Sums are made in double in the CPU's order, or in float where
 * that is exact, and rounded once. What a thread computes and the memory traffic stand in convolve_march.cuh for small
 * and separable kernels, and in convolve_tile.cu for the others.
 *
 * A masked image is convolved as any other first and then mended here, by the rule of stages/filters/convolve.c:
 * a thread looks at the bits of the pixels under the weights of one pixel, and where one is invalid it sums them tap by
 * tap in double, in the order of the CPU. Away from the borders a row of a kernel is one word of bits. Memory traffic:
 * a bit a pixel, which the threads of a block share in the first cache, and values near the padding alone. A block has
 * 256 pixels of a slice, so that a warp reads neighboring bits and values.
 */
#include "cuda/filters/convolve.cuh"

static int describe(const struct stage_context *context, struct convolve_weights kernels[2])
{
    return ts_convolve_kernels((const struct convolve_params *)context->params, kernels);
}

static size_t constants_bytes(const struct stage_context *context)
{
    struct convolve_weights kernels[2];
    const int n = describe(context, kernels);
    return (size_t)n * (size_t)kernels[0].rows * (size_t)ts_cuda_convolve_step((int)kernels[0].columns) *
           sizeof(double);
}

static void constants(const struct stage_context *context, void *host)
{
    struct convolve_weights kernels[2];
    const int n = describe(context, kernels), step = ts_cuda_convolve_step((int)kernels[0].columns);
    double *row = (double *)host;
    memset(host, 0, constants_bytes(context));
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < kernels[i].rows; j++, row += step)
            memcpy(row, kernels[i].weights + j * kernels[i].columns, (size_t)kernels[i].columns * sizeof *row);
}

/* ---- choice ------------------------------------------------------------------------------------ */

static int count(const double *weights, int64_t n)
{
    int found = 0;
    for (int64_t i = 0; i < n; i++)
        found += weights[i] != 0;
    return found;
}

static enum ts_status launch(const struct stage_context *context, const struct convolve_job *job,
                             const struct cuda_call *call)
{
    double across[CONVOLVE_MAX_SIDE], down[CONVOLVE_MAX_SIDE];
    if (job->nx > CONVOLVE_MOST || job->ny > CONVOLVE_MOST)
        return ts_cuda_convolve_tile(context, job, call);
    const bool exact =
        ts_convolve_is_exact(job->kernels, job->n_kernels, job->dtype) && ts_cuda_convolve_taps_fit(job, true);
    const int n_taps = count(job->kernels[0].weights, job->rows * job->columns);
    const int few = exact ? ts_cuda_fast_doubles(context) ? 25 : INT32_MAX : 9;
    const bool separable = n_taps > few && job->n_kernels == 1 &&
                           ts_convolve_separate(&job->kernels[0], 8 * DBL_EPSILON, across, down) &&
                           count(across, job->columns) + count(down, job->rows) < n_taps;
    if (separable)
        return ts_cuda_convolve_separable(context, job, across, down, call);
    if (exact || ts_cuda_convolve_taps_fit(job, false))
        return ts_cuda_convolve_taps(context, job, exact, call);
    return ts_cuda_convolve_tile(context, job, call);
}

/* ---- masked images ------------------------------------------------------------------------------ */

enum { THREADS = 256, MOST_SLICES = 65535 };

static __device__ inline bool is_valid(const uint64_t *valid, int64_t i)
{
    return valid[i / 64] >> i % 64 & 1;
}

/* Returns true where all pixels under the weights of pixel (y, x) are valid. */
static __device__ bool is_whole(const struct convolve_job &job, const uint64_t *valid, int64_t y, int64_t x)
{
    const int half = job.columns / 2;
    const bool inside = x >= half && x + half < job.nx;
    bool whole = true;
    for (int j = 0; whole && j < job.rows; j++) {
        const int64_t row = ts_cuda_border_index(y + j - job.rows / 2, job.ny, job.border);
        if (row < 0)
            continue;
        if (inside) {
            const int64_t i = row * job.nx + x - half;
            uint64_t bits = valid[i / 64] >> i % 64;
            if (i % 64 + job.columns > 64)
                bits |= valid[i / 64 + 1] << (64 - i % 64);
            whole = (~bits & (((uint64_t)1 << job.columns) - 1)) == 0;
            continue;
        }
        for (int i = 0; i < job.columns; i++) {
            const int64_t column = ts_cuda_border_index(x + i - half, job.nx, job.border);
            whole = whole && (column < 0 || is_valid(valid, row * job.nx + column));
        }
    }
    return whole;
}

template <typename T>
static __device__ double sum_at(const struct convolve_job &job, const T *in, const uint64_t *valid, int64_t y,
                                int64_t x, const double *weights)
{
    const int step = ts_cuda_convolve_step(job.columns);
    const double middle = (double)in[y * job.nx + x];
    double sum = 0;
    for (int j = 0; j < job.rows; j++) {
        const int64_t row = ts_cuda_border_index(y + j - job.rows / 2, job.ny, job.border);
        for (int i = 0; i < job.columns; i++) {
            const int64_t column = ts_cuda_border_index(x + i - job.columns / 2, job.nx, job.border);
            const int64_t at = row * job.nx + column;
            const double weight = weights[j * step + i];
            const double value = row < 0 || column < 0 ? job.constant : is_valid(valid, at) ? (double)in[at] : middle;
            sum += weight != 0 ? weight * value : 0;
        }
    }
    return sum * job.scale;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) mend(const T *in, const __grid_constant__ struct convolve_job job)
{
    const int64_t n = job.ny * job.nx, i = (int64_t)blockIdx.x * THREADS + threadIdx.x, y = i / job.nx, x = i % job.nx;
    if (i >= n)
        return;
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        const T *slice = in + z * n;
        const uint64_t *valid = job.valid + z * job.words;
        float *out = job.out + z * n + i;
        if (!is_valid(valid, i)) {
            *out = (float)slice[i];
        } else if (!is_whole(job, valid, y, x)) {
            const double a = sum_at(job, slice, valid, y, x, job.weights);
            const double *others = job.weights + job.rows * ts_cuda_convolve_step(job.columns);
            const double b = job.n_kernels > 1 ? sum_at(job, slice, valid, y, x, others) : 0;
            *out = (float)(job.n_kernels > 1 ? sqrt(a * a + b * b) : a);
        }
    }
}

static enum ts_status launch_mend(const struct stage_context *context, const struct convolve_job *job,
                                  const struct cuda_call *call)
{
    const dim3 blocks((unsigned)ts_cuda_parts(job->ny * job->nx, THREADS),
                      (unsigned)(job->nz < MOST_SLICES ? job->nz : MOST_SLICES));
#define LAUNCH(T) mend<<<blocks, THREADS, 0, call->stream>>>((const T *)job->in, *job)
    TS_CUDA_DTYPES(job->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "convolve mend");
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct convolve_params *params = (const struct convolve_params *)context->params;
    struct convolve_weights kernels[2];
    struct convolve_job job = {.in = in->data, .out = (float *)out->data};
    job.n_kernels = describe(context, kernels);
    job.nx = in->axes[2].n;
    job.ny = in->axes[1].n;
    job.nz = out->axes[0].n;
    job.dtype = in->dtype;
    job.border = params->border;
    job.rows = (int)kernels[0].rows;
    job.columns = (int)kernels[0].columns;
    job.constant = params->constant;
    job.scale = 1 / kernels[0].divisor;
    job.weights = (const double *)call->constants;
    job.kernels = kernels;
    job.valid = in->valid;
    job.words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid);
    const enum ts_status status = launch(context, &job, call);
    return status == TS_OK && job.valid ? launch_mend(context, &job, call) : status;
}

const struct stage_cuda convolve_cuda = {.constants_bytes = constants_bytes, .constants = constants, .map = map};
