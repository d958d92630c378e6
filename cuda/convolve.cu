/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve on a CUDA device: which kernel does the work. Sums are made in double in the CPU's order and rounded once.
 */
#include "cuda/convolve.cuh"

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
    return ts_cuda_convolve_tile(context, &job, call);
}

extern const struct stage_cuda convolve_cuda;
const struct stage_cuda convolve_cuda = {.constants_bytes = constants_bytes, .constants = constants, .map = map};
