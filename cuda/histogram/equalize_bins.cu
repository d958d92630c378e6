/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends floats and 32-bit integers through the map that the host made of their bins, as equalize.c does: linear between
 * the middles of the bins, or by the entry of the bin that a value was counted in (where each integer has a bin of its
 * own, and with a reference).
 *
 * A thread maps one value at a time. Memory traffic: 4 bytes read and 4 written a pixel; the map lies in the caches.
 * 256 threads a block, because the registers of the double arithmetic are the limit.
 */
#include "cuda/counting/bins.cuh"
#include "cuda/histogram/equalize.cuh"

enum { THREADS = 256, VALUES_A_THREAD = 8 };

static __device__ inline float map_linear(const struct bins &bins, const double *map, double value)
{
    const double middle = bins.low + bins.step / 2, last = (double)(bins.n - 1);
    const double at = (value - middle) * bins.per_value, inside = at > 0 ? at < last ? at : last : 0;
    const int32_t left = (int32_t)(inside < last ? inside : last - 1);
    const double mapped = map[left] + (map[left + 1] - map[left]) * (inside - (double)left);
    return (float)(value == value ? mapped : value);
}

/* Infinite values take the entries at the ends, NaN stays NaN. */
static __device__ inline float map_step(const struct bins &bins, const double *map, double value)
{
    const int64_t bin = ts_cuda_bin_slot(bins, value) - 1;
    return bin > bins.n ? NAN : (float)map[bin < 0 ? 0 : bin < bins.n ? bin : bins.n - 1];
}

/* The grid has values and maps. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    map_bins(const T *in, float *out, size_t count, const char *results, size_t stride, bool steps)
{
    const struct equalize_result *result = (const struct equalize_result *)(results + blockIdx.y * stride);
    const struct bins bins = result->bins[0];
    const double *map = (const double *)(result + 1);
    const bool step_by_step = steps || result->single[0];
    in += blockIdx.y * count;
    out += blockIdx.y * count;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
        const double value = (double)in[i];
        out[i] = step_by_step ? map_step(bins, map, value) : map_linear(bins, map, value);
    }
}

enum ts_status ts_cuda_equalize_bins(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_maps *maps, const struct cuda_call *call)
{
    const int64_t n = maps->stride ? out->axes[0].n : 1, most = 65535; /* limit of a grid's second dimension */
    const size_t count = maps->stride ? ts_slice_count(out) : ts_image_count(out);
    const int64_t blocks = ts_cuda_parts((int64_t)count, (int64_t)THREADS * VALUES_A_THREAD), limit = INT32_MAX;
    const bool steps = context->references[0] != NULL;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < n; z += most) {
        const dim3 grid((unsigned)(blocks < limit ? blocks : limit), (unsigned)(n - z < most ? n - z : most));
        const size_t first = (size_t)z * count;
        const char *results = maps->results + (size_t)z * maps->stride;
#define MAP(type)                                                                                                      \
    map_bins<type><<<grid, THREADS, 0, call->stream>>>((const type *)in->data + first, (float *)out->data + first,     \
                                                       count, results, maps->stride, steps)
        TS_CUDA_DTYPES_32(in->dtype, MAP)
#undef MAP
        status = ts_cuda_launched(context, "equalize: bins");
    }
    return status;
}
