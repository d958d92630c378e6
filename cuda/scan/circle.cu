/* SPDX-License-Identifier: Apache-2.0
 *
 * circle on a CUDA device: a warp copies a row, each thread groups of 16 bytes with four of them in
 * flight, or single values if rows are not multiples of 16 bytes. The columns inside come from a
 * table that the host made, so that both devices agree on every pixel. Each value inside is read
 * once, those outside not at all, and each is written once. A block is 256 threads for 8 rows:
 * enough warps to hide the latency, and small enough to fill the device.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/engine/border.h"
#include "stages/scan/circle.h"
}

enum { WARP = 32, ROWS = 8, FLIGHT = 4, GROUP_BYTES = 16 };

static size_t constants_bytes(const struct stage_context *context)
{
    return (size_t)context->in.axes[1].n * sizeof(struct circle_span);
}

static void circle_constants(const struct stage_context *context, void *host)
{
    ts_circle_spans(context, (struct circle_span *)host);
}

/* Group is the type with which several values T are copied at once. */
template <typename T, typename Group>
static __global__ void __launch_bounds__(WARP *ROWS)
    copy_inside(const T *in, T *out, int64_t n_rows, int64_t ny, int64_t nx,
                const struct circle_span *spans, T value)
{
    enum { N = sizeof(Group) / sizeof(T) };
    union word {
        Group group;
        T values[N];
    };
    const int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y;
    if (row >= n_rows)
        return;
    const struct circle_span span = spans[row % ny];
    in += row * nx;
    out += row * nx;
    for (int64_t first = threadIdx.x * N; first < nx; first += WARP * FLIGHT * N) {
        union word words[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = first + i * (WARP * N);
            if (at < span.end && at + N > span.first)
                words[i].group = *(const Group *)(in + at);
        }
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = first + i * (WARP * N);
            if (at >= nx)
                break;
#pragma unroll
            for (int j = 0; j < N; j++)
                if (at + j < span.first || at + j >= span.end)
                    words[i].values[j] = value;
            *(Group *)(out + at) = words[i].group;
        }
    }
}

template <typename T>
static enum ts_status circle_launch(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const int64_t ny = out->axes[1].n, nx = out->axes[2].n, n_rows = out->axes[0].n * ny;
    const struct circle_span *spans = (const struct circle_span *)call->constants;
    const double value = ((const struct circle_params *)context->params)->value;
    const dim3 threads(WARP, ROWS);
    const unsigned blocks = (unsigned)ts_cuda_parts(n_rows, ROWS);
    const bool whole = nx * sizeof(T) % GROUP_BYTES == 0 &&
                       ((uintptr_t)in->data | (uintptr_t)out->data) % GROUP_BYTES == 0;
    T filler;
    ts_constant_fill(&filler, out->dtype, value, 1);
    if (whole)
        copy_inside<T, uint4><<<blocks, threads, 0, call->stream>>>(
            (const T *)in->data, (T *)out->data, n_rows, ny, nx, spans, filler);
    else
        copy_inside<T, T><<<blocks, threads, 0, call->stream>>>((const T *)in->data, (T *)out->data,
                                                                n_rows, ny, nx, spans, filler);
    return ts_cuda_launched(context, "copy_inside");
}

static enum ts_status circle_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    enum ts_status status;
#define LAUNCH(T) status = circle_launch<T>(context, in, out, call)
    TS_CUDA_WORDS(out->dtype, LAUNCH);
#undef LAUNCH
    return status;
}

const struct stage_cuda circle_cuda = {
    .constants_bytes = constants_bytes, .constants = circle_constants, .map = circle_map};
