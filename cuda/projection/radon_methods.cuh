/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the launchers of the methods of radon that are in files of their own, and their scratch
 * bytes for n slices. Method ray is in radon.cu, and method stack of a fan in joseph.cu.
 */
#ifndef CUDA_PROJECTION_RADON_METHODS_CUH
#define CUDA_PROJECTION_RADON_METHODS_CUH

#include "cuda/geometry/beam.cuh"

extern "C" {
#include "stages/projection/radon.h"
}

/* Float sums run over this many lines and then go into the ray's total, so that the order depends
 * only on the image's lines. */
enum { RADON_LINES = 32 };

/* Returns false if no ray of a parallel beam has rows (or columns) as its lines. Only few views are
 * looked at, since each costs a sine; more of them have such rays as a rule. */
static inline bool ts_cuda_radon_reads(const struct beam_scan *scan, bool rows)
{
    enum { FEW = 8 };
    bool reads = scan->n_views > FEW;
    for (int64_t v = 0; !reads && v < scan->n_views; v++)
        reads = ts_beam_view(&scan->grid, ts_beam_scan_angle(scan, v)).along_rows == rows;
    return reads;
}

/* Method stack of a parallel beam, in radon_stack.cu. */
size_t ts_cuda_radon_stack_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_radon_stack(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call);
/* Methods tensor and tensor-split, in radon_tensor.cu. */
size_t ts_cuda_radon_tensor_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_radon_tensor(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call);

#endif
