/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters rows of a sinogram of any length. row_filter_fused.cu filters lengths up to 16,384 in one
 * kernel; here longer rows are padded with zeros, transformed by cuFFT, multiplied, transformed
 * back and cropped, some at a time so that they stay in the second cache. One thread moves one
 * sample, or multiplies one frequency. The dtype's bytes are read and 4 written a sample, and
 * between the kernels about 6 times 4 bytes of a padded sample go through the cache. Blocks are 256
 * threads, and neighbors move neighbors.
 */
#include "cuda/projection/row_filter.cuh"

enum { FILTER_THREADS = 256, FILTER_BLOCKS = 1 << 16, BATCH_BYTES = 24 << 20 };

size_t ts_cuda_row_filter_constants_bytes(const struct stage_context *context,
                                          const struct row_filter *filter)
{
    if (filter->name == ROW_FILTER_NONE)
        return 0;
    return ts_cuda_row_filter_is_fused(context, filter)
               ? ts_cuda_row_filter_fused_bytes(filter)
               : ((size_t)ts_row_filter_padded(filter->n) + 2) * sizeof(double);
}

/* Writes the response, computed in double, as floats over itself, divided by the length, because
 * the transforms do not divide. */
static void round_response(const struct row_filter *filter, void *host)
{
    const int64_t padded = ts_row_filter_padded(filter->n);
    char *at = (char *)host;
    ts_row_filter_response(filter, (double *)host);
    for (int64_t k = 0; k <= padded / 2; k++) {
        double value;
        memcpy(&value, at + k * (int64_t)sizeof value, sizeof value);
        const float rounded = (float)(value / (double)padded);
        memcpy(at + k * (int64_t)sizeof rounded, &rounded, sizeof rounded);
    }
}

void ts_cuda_row_filter_constants(const struct stage_context *context,
                                  const struct row_filter *filter, void *host)
{
    if (filter->name == ROW_FILTER_NONE)
        return;
    if (ts_cuda_row_filter_is_fused(context, filter))
        ts_cuda_row_filter_fused_tables(filter, host);
    else
        round_response(filter, host);
}

/* Returns the rows of one call: about BATCH_BYTES of them, at most those of 8 slices, whatever the
 * slab. */
static int64_t batch_rows(const struct stage_context *context, int64_t padded)
{
    const int64_t views = context->in.axes[1].n,
                  most = BATCH_BYTES / (padded * (int64_t)sizeof(float));
    const int64_t slices = context->in.axes[0].n < 8 ? context->in.axes[0].n : 8;
    const int64_t rows = views * slices < most ? views * slices : most;
    return rows > 0 ? rows : 1;
}

int ts_cuda_row_filter_transforms(const struct stage_context *context,
                                  const struct row_filter *filter,
                                  struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const int64_t padded = ts_row_filter_padded(filter->n);
    if (filter->name == ROW_FILTER_NONE || ts_cuda_row_filter_is_fused(context, filter))
        return 0;
    shapes[0].rank = 1;
    shapes[0].real = true;
    shapes[0].n[0] = padded;
    shapes[0].batch = batch_rows(context, padded);
    return 1;
}

static size_t samples_bytes(const struct stage_context *context, int64_t padded)
{
    return ts_cuda_stride((size_t)(batch_rows(context, padded) * padded) * sizeof(float));
}

size_t ts_cuda_row_filter_scratch(const struct stage_context *context,
                                  const struct row_filter *filter)
{
    const int64_t padded = ts_row_filter_padded(filter->n);
    return filter->name == ROW_FILTER_NONE || ts_cuda_row_filter_is_fused(context, filter)
               ? 0
               : samples_bytes(context, padded) +
                     (size_t)(batch_rows(context, padded) * (padded / 2 + 1)) * sizeof(float2);
}

/* Pads rows. A block moves one row after the other; its threads are neighbors in the row. Rows past
 * n_rows, and samples past the n of each row, become 0. */
template <typename T>
static __global__ void __launch_bounds__(FILTER_THREADS)
    pad_rows(const T *in, int64_t n_rows, int n, int padded, int64_t batch, float *out)
{
    for (int64_t row = blockIdx.x; row < batch; row += gridDim.x)
        for (int i = (int)threadIdx.x; i < padded; i += FILTER_THREADS)
            out[row * padded + i] = i < n && row < n_rows ? (float)in[row * n + i] : 0;
}

static __global__ void __launch_bounds__(FILTER_THREADS)
    multiply(float2 *spectra, const float *response, int64_t n_rows, int n)
{
    for (int64_t row = blockIdx.x; row < n_rows; row += gridDim.x)
        for (int i = (int)threadIdx.x; i < n; i += FILTER_THREADS) {
            const float2 value = spectra[row * n + i];
            spectra[row * n + i] = make_float2(value.x * response[i], value.y * response[i]);
        }
}

template <typename T>
static __global__ void __launch_bounds__(FILTER_THREADS)
    copy_rows(const T *in, int64_t n_rows, int n, int stride, float *out)
{
    for (int64_t row = blockIdx.x; row < n_rows; row += gridDim.x)
        for (int i = (int)threadIdx.x; i < n; i += FILTER_THREADS)
            out[row * n + i] = (float)in[row * stride + i];
}

static unsigned blocks_for(int64_t n_rows)
{
    return (unsigned)(n_rows < FILTER_BLOCKS ? n_rows : FILTER_BLOCKS);
}

/* Filters up to one batch of rows. */
static enum ts_status filter_batch(const struct stage_context *context, enum ts_dtype dtype,
                                   const void *in, int64_t n_rows, int n, int padded, float *out,
                                   const float *response, float *samples,
                                   const struct cuda_call *call)
{
    const int64_t batch = batch_rows(context, padded);
    float *spectra = (float *)((char *)samples + samples_bytes(context, padded));
#define LAUNCH(T)                                                                                  \
    pad_rows<T><<<blocks_for(batch *padded), FILTER_THREADS, 0, call->stream>>>(                   \
        (const T *)in, n_rows, n, padded, batch, samples)
    TS_CUDA_DTYPES(dtype, LAUNCH);
#undef LAUNCH
    enum ts_status status = ts_cuda_launched(context, "pad_rows");
    if (status == TS_OK)
        status = ts_cuda_fft_forward(context, call->transforms[0], samples, spectra);
    if (status != TS_OK)
        return status;
    multiply<<<blocks_for(batch), FILTER_THREADS, 0, call->stream>>>((float2 *)spectra, response,
                                                                     batch, padded / 2 + 1);
    status = ts_cuda_launched(context, "multiply");
    if (status == TS_OK)
        status = ts_cuda_fft_inverse(context, call->transforms[0], spectra, samples);
    if (status != TS_OK)
        return status;
    copy_rows<float>
        <<<blocks_for(n_rows), FILTER_THREADS, 0, call->stream>>>(samples, n_rows, n, padded, out);
    return ts_cuda_launched(context, "copy_rows");
}

enum ts_status ts_cuda_row_filter_run(const struct stage_context *context,
                                      const struct row_filter *filter, const struct ts_image *in,
                                      float *out, const void *constants, void *scratch,
                                      const struct cuda_call *call)
{
    const int64_t n = filter->n, n_rows = in->axes[0].n * in->axes[1].n,
                  padded = ts_row_filter_padded(n);
    const int64_t batch = batch_rows(context, padded);
    const size_t row_bytes = (size_t)n * ts_dtype_bytes(in->dtype);
    if (filter->name == ROW_FILTER_NONE) {
#define LAUNCH(T)                                                                                  \
    copy_rows<T><<<blocks_for(n_rows *n), FILTER_THREADS, 0, call->stream>>>(                      \
        (const T *)in->data, n_rows, (int)n, (int)n, out)
        TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
        return ts_cuda_launched(context, "copy_rows");
    }
    if (ts_cuda_row_filter_is_fused(context, filter))
        return ts_cuda_row_filter_fused(context, filter, in, out, constants, call);
    enum ts_status status = TS_OK;
    for (int64_t row = 0; status == TS_OK && row < n_rows; row += batch)
        status = filter_batch(context, in->dtype, (const char *)in->data + (size_t)row * row_bytes,
                              n_rows - row < batch ? n_rows - row : batch, (int)n, (int)padded,
                              out + row * n, (const float *)constants, (float *)scratch, call);
    return status;
}
