/* SPDX-License-Identifier: Apache-2.0
 *
 * This has Joseph's projector A of stages/geometry/beam.h and its exact adjoint A' on the device,
 * for every beam, over stacks of interleaved slices (interleave.cuh). A reads a table of rays whose
 * positions are 64-bit fixed-point numbers, A' computes the weights from a pixel's place
 * (joseph_back.cu): they are equal up to the rounding of floats.
 */
#ifndef CUDA_PROJECTION_JOSEPH_CUH
#define CUDA_PROJECTION_JOSEPH_CUH

#include "cuda/projection/interleave.cuh"

extern "C" {
#include "stages/geometry/beam.h"
}

enum { JOSEPH_MARGIN = 2 }; /* zeros on all sides of an interleaved volume */

/* One ray: its position on line m is at + m * step (the sample's index in the high part, the weight
 * of the next sample in the low 32 bits); it meets lines [first, end). */
struct cuda_ray {
    int64_t at, step;
    int32_t first, end;
    float length_mm;
    int32_t along_rows;
};

/* The scan in the form that the kernels use. */
struct cuda_joseph {
    struct beam_geometry grid;
    struct ts_beam beam;
    int64_t n_views;
    const struct beam_angle *angles;       /* on the device */
    const struct beam_detector *detectors; /* on the device */
    struct cuda_ray *rays;                 /* on the device: [view][detector] */
    const int32_t *halt; /* on the device; if it is not 0 the kernels do nothing; NULL: they always
                          * run */
};

/* These make the tables on the host, as a stage's constants, and find them in the device's copy,
 * which has no rays yet. */
size_t ts_cuda_joseph_constants_bytes(const struct beam_scan *scan);
void ts_cuda_joseph_constants(const struct beam_scan *scan, void *host);
struct cuda_joseph ts_cuda_joseph_tables(const struct beam_scan *scan, const void *constants);

/* Applies A (joseph.cu), as the map of a stage: from slices of any dtype at `in` to f32 slices of
 * `out`. call->constants are those above, and the scratch is for n slices. */
size_t ts_cuda_joseph_project_scratch(const struct beam_scan *scan, int64_t n);
enum ts_status ts_cuda_joseph_project(const struct stage_context *context,
                                      const struct beam_scan *scan, const struct ts_image *in,
                                      struct ts_image *out, const struct cuda_call *call);

/* Applies A' in the same way (joseph_back.cu). side_by_side is for many slices; without it, a few
 * slices are read where they are. */
size_t ts_cuda_joseph_back_scratch(const struct beam_scan *scan, bool side_by_side, int64_t n);
enum ts_status ts_cuda_joseph_back(const struct stage_context *context,
                                   const struct beam_scan *scan, const struct ts_image *in,
                                   struct ts_image *out, bool side_by_side,
                                   const struct cuda_call *call);

#endif
