/* SPDX-License-Identifier: Apache-2.0
 *
 * apply_mask on a CUDA device. If pixels outside become invalid, the values are copied as they are
 * and only bits are written. If they get a value, a thread takes FLIGHT pixels of
 * image and mask, loaded before the first is used, and neighboring threads have neighboring pixels.
 * Memory traffic: image and mask are read once, the output is written once. 256 threads keep enough
 * warps in flight to hide the loads.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/device/validity.h"
#include "stages/engine/border.h"
#include "stages/engine/validity.h"
#include "stages/regions/apply_mask.h"
}

enum { THREADS = 256, FLIGHT = 8, MOST_SLICES = 65535 };

/* Slices are n pixels apart, and n_words words of the mask's bits apart. */
struct mask_job {
    const void *in, *mask;
    void *out;
    const uint32_t *mask_valid; /* NULL: all pixels are valid */
    int64_t n, n_words, n_slices;
    uint32_t value;
};

/* Word is the unsigned integer as wide as a value. */
template <typename Word, typename M>
static __global__ void __launch_bounds__(THREADS) fill_outside(struct mask_job job)
{
    for (int64_t z = blockIdx.y; z < job.n_slices; z += gridDim.y) {
        const Word *in = (const Word *)job.in + z * job.n;
        const M *mask = (const M *)job.mask + z * job.n;
        const int64_t first = (int64_t)blockIdx.x * (THREADS * FLIGHT) + threadIdx.x;
        Word values[FLIGHT];
        M marks[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * THREADS < job.n) {
                values[i] = in[first + i * THREADS];
                marks[i] = mask[first + i * THREADS];
            }
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = first + i * THREADS;
            if (at >= job.n)
                break;
            const bool valid =
                !job.mask_valid || (job.mask_valid[z * job.n_words + at / 32] >> at % 32 & 1);
            ((Word *)job.out)[z * job.n + at] =
                valid && marks[i] != (M)0 && marks[i] == marks[i] ? values[i] : (Word)job.value;
        }
    }
}

template <typename Word>
static void apply_mask_launch(enum ts_dtype mask_dtype, const struct mask_job *job,
                              const struct cuda_call *call)
{
    const dim3 grid((unsigned)ts_cuda_parts(job->n, THREADS * FLIGHT),
                    (unsigned)(job->n_slices < MOST_SLICES ? job->n_slices : MOST_SLICES));
#define FILL(M) fill_outside<Word, M><<<grid, THREADS, 0, call->stream>>>(*job)
    TS_CUDA_DTYPES(mask_dtype, FILL)
#undef FILL
}

static enum ts_status apply_mask_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call)
{
    const struct ts_image *mask = &in[1 + ts_stage_mask(context)];
    struct mask_job job = {in->data, mask->data, out->data, (const uint32_t *)mask->valid};
    if (context->stage->masks(context)) {
        cudaMemcpyAsync(out->data, in->data, ts_image_bytes(out), cudaMemcpyDeviceToDevice,
                        call->stream);
        const enum ts_status status = ts_cuda_launched(context, "apply_mask: copy");
        return status == TS_OK && out->valid
                   ? ts_cuda_valid_choose(context, in, mask, out->valid, call->stream)
                   : status;
    }
    job.n = (int64_t)ts_slice_count(out);
    job.n_words = (int64_t)(ts_valid_bytes(mask) / sizeof *job.mask_valid);
    job.n_slices = out->axes[0].n;
    ts_constant_fill(&job.value, out->dtype,
                     ((const struct apply_mask_params *)context->params)->value, 1);
#define LAUNCH(Word) apply_mask_launch<Word>(mask->dtype, &job, call)
    TS_CUDA_WORDS(out->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "apply_mask");
}

const struct stage_cuda apply_mask_cuda = {.map = apply_mask_map};
