/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA side of the tests' own stages, in the plainest way: one thread a pixel, blocks of 256,
 * any grid.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "tests/support/local_stages.h"
}

static enum ts_status shift_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    const struct shift_params *params = (const struct shift_params *)context->params;
    cudaMemcpyAsync(out->data, ts_slice_data(in, llabs(params->by) + params->by),
                    ts_image_bytes(out), cudaMemcpyDeviceToDevice, call->stream);
    return ts_cuda_launched(context, "shift");
}

const struct stage_cuda shift_cuda = {.map = shift_map};

static __global__ void write_nowhere(void)
{
    *(volatile int *)(uintptr_t)64 = 1;
}

static enum ts_status lost_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    (void)in;
    (void)out;
    write_nowhere<<<1, 1, 0, call->stream>>>();
    return ts_cuda_launched(context, "lost");
}

const struct stage_cuda lost_cuda = {.map = lost_map};

static __global__ void add_masked(const uint16_t *values, const uint8_t *mask, size_t n,
                                  uint64_t *sum)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && mask[i])
        atomicAdd((unsigned long long *)sum, (unsigned long long)values[i]);
}

static __global__ void fill(uint8_t *out, size_t n, const uint64_t *sum, double *shown)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (uint8_t)(*sum % 251);
    if (i == 0)
        *shown = (double)(*sum % 251);
}

static bool by_slice(const struct stage_context *context)
{
    return ((const struct masked_params *)context->params)->slices;
}

static size_t masked_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(uint64_t) : 0;
}

static enum ts_status masked_reduce(const struct stage_context *context, int input,
                                    const struct ts_image *slices, void *partials,
                                    const struct cuda_call *call)
{
    const size_t n = ts_slice_count(&slices[0]);
    (void)input;
    for (int64_t z = 0; z < slices[0].axes[0].n; z++) {
        void *partial = (char *)partials +
                        (by_slice(context) ? (size_t)z * ts_cuda_stride(sizeof(uint64_t)) : 0);
        add_masked<<<(unsigned)ts_cuda_parts((int64_t)n, 256), 256, 0, call->stream>>>(
            (const uint16_t *)ts_slice_data(&slices[0], z),
            (const uint8_t *)ts_slice_data(&slices[1], z), n, (uint64_t *)partial);
    }
    return ts_cuda_launched(context, "masked sum");
}

static void masked_collect(const struct stage_context *context, int input, const void *partial,
                           void *total)
{
    (void)context;
    (void)input;
    *(uint64_t *)total = *(const uint64_t *)partial;
}

static enum ts_status masked_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const size_t n = ts_slice_count(out);
    (void)in;
    for (int64_t z = 0; z < out->axes[0].n; z++) {
        const void *sum = (const char *)call->result +
                          (by_slice(context) ? (size_t)z * ts_cuda_stride(sizeof(uint64_t)) : 0);
        fill<<<(unsigned)ts_cuda_parts((int64_t)n, 256), 256, 0, call->stream>>>(
            (uint8_t *)ts_slice_data(out, z), n, (const uint64_t *)sum,
            (double *)ts_slice_data(&context->tables[0], z));
    }
    return ts_cuda_launched(context, "masked fill");
}

static const struct cuda_reduction masked_reduction = {
    .partial_bytes = masked_bytes, .reduce = masked_reduce, .collect = masked_collect};
const struct stage_cuda masked_cuda = {.map = masked_map, .reduction = &masked_reduction};

static __global__ void add_rows(const uint16_t *in, const uint16_t *rows, uint16_t *out, int64_t n,
                                int64_t nx, int64_t n_rows, uint64_t *sums, double *first)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint16_t sum = 0;
    for (int64_t row = 0; i < n && row < n_rows; row++)
        sum = (uint16_t)(sum + rows[row * nx + i % nx]);
    if (i < n)
        out[i] = (uint16_t)(in[i] + sum);
    if (i < n && i < nx)
        sums[i] = sum;
    if (i == 0)
        *first = out[0];
}

static enum ts_status add_rows_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const struct add_rows_params *params = (const struct add_rows_params *)context->params;
    const int64_t n = (int64_t)ts_slice_count(out);
    for (int64_t z = 0; z < out->axes[0].n; z++)
        add_rows<<<(unsigned)ts_cuda_parts(n, 256), 256, 0, call->stream>>>(
            (const uint16_t *)ts_slice_data(&in[0], z + llabs(params->by) + params->by),
            (const uint16_t *)ts_slice_data(&in[1], z), (uint16_t *)ts_slice_data(out, z), n,
            out->axes[2].n, in[1].axes[1].n, (uint64_t *)ts_slice_data(&context->tables[0], z),
            (double *)ts_slice_data(&context->tables[1], z));
    return ts_cuda_launched(context, "add rows");
}

const struct stage_cuda add_rows_cuda = {.map = add_rows_map};

static int spectrum_transforms(const struct stage_context *context,
                               struct fft_shape shapes[STAGE_TRANSFORMS])
{
    return context->stage->transforms(context, shapes);
}

static size_t spectrum_scratch(const struct stage_context *context, int64_t n)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    (void)n;
    spectrum_transforms(context, shapes);
    return ts_cuda_stride((size_t)ts_fft_count(shapes) * 2 * sizeof(float)) +
           (size_t)ts_fft_spectrum_count(shapes) * 2 * sizeof(float);
}

static enum ts_status spectrum_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const struct spectrum_params *params = (const struct spectrum_params *)context->params;
    const int64_t nx = in->axes[2].n, step = params->plane ? in->axes[1].n : SPECTRUM_ROWS;
    struct fft_shape shapes[STAGE_TRANSFORMS];
    spectrum_transforms(context, shapes);
    const size_t sample_bytes = ts_cuda_stride((size_t)ts_fft_count(shapes) * 2 * sizeof(float));
    float *samples = (float *)call->scratch,
          *spectrum = (float *)((char *)call->scratch + sample_bytes);
    enum ts_status status = TS_OK;
    for (int64_t row = 0, rows = in->axes[0].n * in->axes[1].n; status == TS_OK && row < rows;
         row += step) {
        const size_t bytes = (size_t)((rows - row < step ? rows - row : step) * nx) * sizeof(float);
        cudaMemsetAsync(samples, 0, sample_bytes, call->stream);
        cudaMemcpyAsync(samples, (const float *)in->data + row * nx, bytes,
                        cudaMemcpyDeviceToDevice, call->stream);
        status = ts_cuda_fft_forward(context, call->transforms[0], samples,
                                     params->real ? spectrum : samples);
        if (status == TS_OK && params->real)
            status = ts_cuda_fft_inverse(context, call->transforms[0], spectrum, samples);
        cudaMemcpyAsync((float *)out->data + row * nx, samples, bytes, cudaMemcpyDeviceToDevice,
                        call->stream);
    }
    return status;
}

const struct stage_cuda spectrum_cuda = {
    .scratch_bytes = spectrum_scratch, .map = spectrum_map, .transforms = spectrum_transforms};

static __global__ void add_values(const uint16_t *values, size_t n, uint64_t *sum)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd((unsigned long long *)sum, (unsigned long long)values[i]);
}

static size_t find_bytes(const struct stage_context *context, int input)
{
    return find_stage.reduction->partial_bytes(context, input);
}

static enum ts_status find_reduce(const struct stage_context *context, int input,
                                  const struct ts_image *slices, void *partials,
                                  const struct cuda_call *call)
{
    const size_t n = ts_image_count(&slices[0]);
    (void)input;
    add_values<<<(unsigned)ts_cuda_parts((int64_t)n, 256), 256, 0, call->stream>>>(
        (const uint16_t *)slices[0].data, n, (uint64_t *)partials);
    return ts_cuda_launched(context, "sum");
}

static const struct cuda_reduction find_reduction = {
    .partial_bytes = find_bytes, .reduce = find_reduce, .collect = masked_collect};
const struct stage_cuda find_cuda = {.reduction = &find_reduction};

static size_t add_first_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(uint16_t);
}

static void add_first_constants(const struct stage_context *context, void *host)
{
    *(uint16_t *)host = (uint16_t)(10 * ((const struct add_first_params *)context->params)->first);
}

static __global__ void add_constant(const uint16_t *in, uint16_t *out, size_t n,
                                    const uint16_t *more)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (uint16_t)(in[i] + *more);
}

static enum ts_status add_first_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const size_t n = ts_image_count(out);
    add_constant<<<(unsigned)ts_cuda_parts((int64_t)n, 256), 256, 0, call->stream>>>(
        (const uint16_t *)in->data, (uint16_t *)out->data, n, (const uint16_t *)call->constants);
    const enum ts_status status = ts_cuda_launched(context, "add the first");
    const bool described = in->axes[2].first == context->in.axes[2].first &&
                           out->axes[2].first == context->out.axes[2].first;
    return status == TS_OK && !described ? TS_RUN_FAILED : status;
}

const struct stage_cuda add_first_cuda = {
    .constants_bytes = add_first_bytes, .constants = add_first_constants, .map = add_first_map};
