/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve on a CUDA device: chooses between three ways. Sums are made in double in the CPU's order, or in float where
 * that is exact, and rounded once. What a thread computes and the memory traffic stand in convolve_march.cuh for small
 * and separable kernels, and in convolve_tile.cu for the others.
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
    return launch(context, &job, call);
}

const struct stage_cuda convolve_cuda = {.constants_bytes = constants_bytes, .constants = constants, .map = map};
