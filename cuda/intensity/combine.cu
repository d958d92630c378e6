/* SPDX-License-Identifier: Apache-2.0
 *
 * combine on a CUDA device: the CPU's operations in double, rounded once.
 *
 * A lane has one pixel of a word of 32, so that one ballot makes the bits of a word. A warp takes
 * FLIGHT words, whose values it loads before it uses the first. Types are chosen when the kernel
 * runs: a branch that is the same for all threads costs nothing beside memory, and a template for
 * each triple of types would be 343 kernels. Each value is read once and each result written once.
 * 256 threads keep enough warps in flight to hide the loads.
 */
#include "cuda/values/reductions.cuh"

extern "C" {
#include "stages/engine/validity.h"
#include "stages/intensity/combine.h"
}

enum { THREADS = 256, FLIGHT = 4, WARPS = THREADS / CUDA_WARP, MOST_SLICES = 65535 };

struct combine_input_of {
    const void *values;    /* NULL: there is no such image */
    const uint32_t *valid; /* NULL: all pixels are valid */
    enum ts_dtype dtype;
};

/* Slices are n pixels apart, and n_words words of bits. */
struct combine_job {
    struct combine_input_of image, other, mask;
    void *out;
    uint32_t *valid;           /* NULL: the bits of the result are those of the image */
    unsigned long long *zeros; /* NULL: nothing is divided */
    enum ts_dtype dtype;
    int32_t op;
    int64_t n, n_words, n_slices;
};

template <typename T>
static __device__ void load_flight(const T *values, int64_t first, int64_t n, double out[FLIGHT])
{
    T loaded[FLIGHT];
#pragma unroll
    for (int i = 0; i < FLIGHT; i++)
        loaded[i] = first + i * CUDA_WARP < n ? values[first + i * CUDA_WARP] : (T)0;
#pragma unroll
    for (int i = 0; i < FLIGHT; i++)
        out[i] = (double)loaded[i];
}

/* Loads this lane's pixels of slice z. */
static __device__ void load_values(const struct combine_job *job, struct combine_input_of input,
                                   int64_t z, int64_t first, double out[FLIGHT])
{
#define LOAD(T) load_flight((const T *)input.values + z * job->n, first, job->n, out)
    TS_CUDA_DTYPES(input.dtype, LOAD)
#undef LOAD
}

static __device__ void store_value(const struct combine_job *job, int64_t at, double value)
{
#define STORE(T) ((T *)job->out)[at] = (T)value
    TS_CUDA_DTYPES(job->dtype, STORE)
#undef STORE
}

static __device__ bool is_valid(const struct combine_input_of *input, int64_t word, unsigned lane)
{
    return !input->valid || (input->valid[word] >> lane & 1);
}

/* Combines the pixels of one word, and returns how many of them were divided by 0. `within` is the
 * value of the mask. All lanes call it; lanes past the end of the slice only vote. */
static __device__ uint32_t combine_word(const struct combine_job *job, int64_t z, int64_t pixel,
                                        double a, double b, double within)
{
    const unsigned lane = threadIdx.x % CUDA_WARP;
    const int64_t word = z * job->n_words + pixel / CUDA_WARP;
    const bool inside = pixel < job->n, valid = inside && is_valid(&job->image, word, lane),
               chosen = !job->mask.values || (inside && within != 0 && within == within &&
                                              is_valid(&job->mask, word, lane)),
               combined = valid && chosen && is_valid(&job->other, word, lane),
               zero = combined && job->op == COMBINE_DIVIDE && b == 0;
    if (inside)
        store_value(job, z * job->n + pixel, combined ? ts_combine_values(job->op, a, b) : a);
    if (job->valid) {
        const uint32_t bits = __ballot_sync(~0u, (combined && !zero) || (valid && !chosen));
        if (lane == 0)
            job->valid[word] = bits;
    }
    return job->zeros ? (uint32_t)__popc(__ballot_sync(~0u, zero)) : 0;
}

static __global__ void __launch_bounds__(THREADS) combine_kernel(struct combine_job job)
{
    const int64_t word = ((int64_t)blockIdx.x * WARPS + threadIdx.x / CUDA_WARP) * FLIGHT,
                  first = word * CUDA_WARP + threadIdx.x % CUDA_WARP;
    for (int64_t z = blockIdx.y; z < job.n_slices; z += gridDim.y) {
        double a[FLIGHT], b[FLIGHT], within[FLIGHT] = {};
        uint32_t zeros = 0;
        load_values(&job, job.image, z, first, a);
        load_values(&job, job.other, z, first, b);
        if (job.mask.values)
            load_values(&job, job.mask, z, first, within);
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (word + i < job.n_words)
                zeros += combine_word(&job, z, first + i * CUDA_WARP, a[i], b[i], within[i]);
        if (zeros > 0 && threadIdx.x % CUDA_WARP == 0)
            atomicAdd(&job.zeros[z], (unsigned long long)zeros);
    }
}

static struct combine_input_of input_of(const struct ts_image *image)
{
    const struct combine_input_of input = {image->data, (const uint32_t *)image->valid,
                                           image->dtype};
    return input;
}

static enum ts_status combine_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, const struct cuda_call *call)
{
    struct combine_job job = {input_of(&in[COMBINE_IMAGE]), input_of(&in[COMBINE_OTHER])};
    if (context->references[COMBINE_MASK - 1])
        job.mask = input_of(&in[COMBINE_MASK]);
    job.out = out->data;
    job.dtype = out->dtype;
    job.op = ((const struct combine_params *)context->params)->op;
    job.n = (int64_t)ts_slice_count(out);
    job.n_words = (job.n + 63) / 64 * 2;
    job.n_slices = out->axes[0].n;
    if (context->stage->masks(context))
        job.valid = (uint32_t *)out->valid;
    if (job.op == COMBINE_DIVIDE) {
        job.zeros = (unsigned long long *)context->tables[0].data;
        cudaMemsetAsync(job.zeros, 0, (size_t)job.n_slices * sizeof *job.zeros, call->stream);
    }
    const dim3 grid((unsigned)ts_cuda_parts(job.n_words, WARPS * FLIGHT),
                    (unsigned)(job.n_slices < MOST_SLICES ? job.n_slices : MOST_SLICES));
    combine_kernel<<<grid, THREADS, 0, call->stream>>>(job);
    return ts_cuda_launched(context, "combine");
}

const struct stage_cuda combine_cuda = {.map = combine_map};
