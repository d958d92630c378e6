/* SPDX-License-Identifier: Apache-2.0
 *
 * flip on a CUDA device: a warp writes a row and reads it from its end; its threads do neighboring
 * detector pixels, eight of them in flight. Each value is read once and written once. Blocks are
 * 256 threads for 8 rows, as many warps as a multiprocessor holds.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/flip.h"
}

enum { WARP = 32, ROWS = 8, FLIGHT = 8 };

template <typename T>
static __global__ void __launch_bounds__(WARP *ROWS)
    flip_rows(const T *in, T *out, int64_t n_rows, int64_t n)
{
    const int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y;
    if (row >= n_rows)
        return;
    in += row * n + n - 1;
    out += row * n;
    for (int64_t first = threadIdx.x; first < n; first += WARP * FLIGHT) {
        T values[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            values[i] = first + i * WARP < n ? in[-(first + i * WARP)] : T(0);
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * WARP < n)
                out[first + i * WARP] = values[i];
    }
}

static enum ts_status flip_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    const int64_t n_rows = in->axes[0].n * in->axes[1].n, n = in->axes[2].n;
    const unsigned blocks = (unsigned)ts_cuda_parts(n_rows, ROWS);
#define LAUNCH(T)                                                                                  \
    flip_rows<T><<<blocks, dim3(WARP, ROWS), 0, call->stream>>>((const T *)in->data,               \
                                                                (T *)out->data, n_rows, n)
    TS_CUDA_WORDS(out->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "flip_rows");
}

const struct stage_cuda flip_cuda = {.map = flip_map};
