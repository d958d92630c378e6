/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA side of the stage gaussian: it describes the image and its weights to the launcher of a method, which stand
 * in a file each.
 */
#include "cuda/filters/gaussian.cuh"
#include "cuda/filters/masked_windows.cuh"

/* Returns how many floats the weights of an axis take, which start at a multiple of 16 bytes. */
static int weights_of(int radius)
{
    return (2 * radius + 1 + 3) / 4 * 4;
}

static struct gaussian_job describe(const struct stage_context *context, int64_t n, const float *weights)
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
    const struct gaussian_job job = describe(context, 0, NULL);
    return (size_t)(weights_of(job.radius[0]) + weights_of(job.radius[1]) + weights_of(job.radius[2])) * sizeof(float);
}

static void constants(const struct stage_context *context, void *host)
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
    const struct gaussian_job job = describe(context, n, NULL);
    if (context->in.masked)
        return ts_cuda_masked_means_bytes(context, n);
    return is_fused(context) ? ts_cuda_gaussian_fused_bytes(context, &job) : ts_cuda_gaussian_separable_bytes(&job);
}

/* The weights of the job are those of the CPU, axis by axis. */
static enum ts_status map_masked(const struct stage_context *context, const struct gaussian_job *job,
                                 const struct ts_image *in, struct ts_image *out, const struct cuda_call *call)
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

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    struct gaussian_job job = describe(context, out->axes[0].n, (const float *)call->constants);
    job.in = in->data;
    job.out = (float *)out->data;
    if (context->in.masked)
        return map_masked(context, &job, in, out, call);
    return (is_fused(context) ? ts_cuda_gaussian_fused : ts_cuda_gaussian_separable)(context, &job, call);
}

const struct stage_cuda gaussian_cuda = {
    .constants_bytes = constants_bytes, .constants = constants, .scratch_bytes = scratch_bytes, .map = map};
