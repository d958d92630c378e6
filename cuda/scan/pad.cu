/* SPDX-License-Identifier: Apache-2.0
 *
 * pad on a CUDA device: a warp writes a row; its threads do neighboring detector pixels, eight of
 * them in flight. Each value is read once from memory (the sides again, from cache) and written
 * once. Old and new rows begin at different offsets within 16 bytes, so threads move single values;
 * blocks of 256 threads for 8 rows, as many warps as a multiprocessor holds, keep enough of them in
 * flight.
 */
#include "cuda/values/border.cuh"

extern "C" {
#include "stages/scan/pad.h"
}

enum { WARP = 32, ROWS = 8, FLIGHT = 8 };

struct pad_rows {
    int64_t n_rows, n_in, n_out, left;
    int border;
};

template <typename T>
static __global__ void __launch_bounds__(WARP *ROWS)
    pad_rows(const T *in, T *out, struct pad_rows rows, T outside)
{
    const int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows.n_rows)
        return;
    in += row * rows.n_in;
    out += row * rows.n_out;
    for (int64_t first = threadIdx.x; first < rows.n_out; first += WARP * FLIGHT) {
        T values[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            int64_t from = first + i * WARP - rows.left;
            values[i] = outside;
            if (first + i * WARP < rows.n_out) {
                if (from < 0 || from >= rows.n_in)
                    from = ts_cuda_border_index(from, rows.n_in, rows.border);
                if (from >= 0)
                    values[i] = in[from];
            }
        }
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * WARP < rows.n_out)
                out[first + i * WARP] = values[i];
    }
}

template <typename T>
static enum ts_status pad_launch(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const struct pad_params *params = (const struct pad_params *)context->params;
    const struct pad_rows rows = {in->axes[0].n * in->axes[1].n, in->axes[2].n, out->axes[2].n,
                                  params->left, params->border};
    T outside;
    ts_constant_fill(&outside, out->dtype, params->constant, 1);
    pad_rows<T><<<(unsigned)ts_cuda_parts(rows.n_rows, ROWS), dim3(WARP, ROWS), 0, call->stream>>>(
        (const T *)in->data, (T *)out->data, rows, outside);
    return ts_cuda_launched(context, "pad_rows");
}

static enum ts_status pad_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, const struct cuda_call *call)
{
    enum ts_status status;
#define LAUNCH(T) status = pad_launch<T>(context, in, out, call)
    TS_CUDA_WORDS(out->dtype, LAUNCH);
#undef LAUNCH
    return status;
}

const struct stage_cuda pad_cuda = {.map = pad_map};
