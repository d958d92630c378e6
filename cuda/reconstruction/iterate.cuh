/* SPDX-License-Identifier: Apache-2.0
 *
 * Iterative reconstructions share this on the device: A and A' (the stages radon and backproject),
 * and the state of up to ITERATE_SLICES slices that are iterated together. Nothing goes through the
 * host, so that the device never waits for it: a slice that is done keeps its image, and once all
 * of a group are done, `halt` makes the kernels that follow return at once.
 */
#ifndef CUDA_RECONSTRUCTION_ITERATE_CUH
#define CUDA_RECONSTRUCTION_ITERATE_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/projection/radon.h"
#include "stages/reconstruction/iterate.h"
#include "stages/values/finite_values.h"
}

enum { ITERATE_SLICES = 128 };

/* Numbers for each slice of a group. */
struct cuda_iterate_state {
    double sinogram[ITERATE_SLICES]; /* ||b||^2 */
    double gamma[ITERATE_SLICES], along[ITERATE_SLICES],
        factor[ITERATE_SLICES]; /* the scalars of cgls */
    int32_t done[ITERATE_SLICES];
    int32_t halt;
};

/* A group of slices in work. radon and backproject have pointers to `forth` and `back` in this
 * struct, so it must never be copied. */
struct cuda_iterate {
    const struct stage_context *context;
    const struct iterate_params *params;
    struct stage_context forth, back;
    struct radon_params radon;
    struct cuda_call forth_call, back_call;
    struct ts_image in;   /* the group's sinograms */
    float *image;         /* where the result of the group's slices goes */
    int64_t z;            /* first slice of the group within the slab */
    int n_slices;         /* number of slices, at most ITERATE_SLICES */
    int64_t rays, pixels; /* rays of a slice; pixels of a slice */
    float *volumes[ITERATE_VOLUMES], *sinograms[ITERATE_SINOGRAMS], *ray_weights, *pixel_weights;
    double *partial;
    struct cuda_iterate_state *state;
    cudaStream_t stream;
};

/* Functions of struct stage_cuda. */
size_t ts_cuda_iterate_constants_bytes(const struct stage_context *context);
void ts_cuda_iterate_constants(const struct stage_context *context, void *host);
int64_t ts_cuda_iterate_least_slices(const struct stage_context *context);
size_t ts_cuda_iterate_scratch(const struct stage_context *context,
                               const struct iterate_needs *needs, int64_t n);

/* Carries out map(): calls begin() (NULL: nothing) once, with a group of one slice, then run() for
 * every group, with a state of zeros. */
typedef enum ts_status cuda_iterate_run(struct cuda_iterate *job);
enum ts_status ts_cuda_iterate_map(const struct stage_context *context,
                                   const struct iterate_needs *needs, cuda_iterate_run *begin,
                                   cuda_iterate_run *run, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call);

/* Defines NAME_cuda, the CUDA side of an iterative stage that has ts_NAME_needs, with begin() and
 * run() as above. */
#define ITERATE_CUDA(name, begin, run)                                                             \
    static size_t name##_scratch_bytes(const struct stage_context *context, int64_t n)             \
    {                                                                                              \
        return ts_cuda_iterate_scratch(context, &ts_##name##_needs, n);                            \
    }                                                                                              \
    static enum ts_status name##_map(const struct stage_context *context,                          \
                                     const struct ts_image *in, struct ts_image *out,              \
                                     const struct cuda_call *call)                                 \
    {                                                                                              \
        return ts_cuda_iterate_map(context, &ts_##name##_needs, begin, run, in, out, call);        \
    }                                                                                              \
    const struct stage_cuda name##_cuda = {                                                        \
        .constants_bytes = ts_cuda_iterate_constants_bytes,                                        \
        .constants = ts_cuda_iterate_constants,                                                    \
        .scratch_bytes = name##_scratch_bytes,                                                     \
        .map = name##_map,                                                                         \
        .reduction = &ts_cuda_finite_reduction,                                                    \
        .least_slices = ts_cuda_iterate_least_slices,                                              \
        .iterates = true,                                                                          \
    };

/* Compute sinogram = A volume and volume = A' sinogram for the group's slices. */
enum ts_status ts_cuda_iterate_project(struct cuda_iterate *job, float *volume, float *sinogram);
enum ts_status ts_cuda_iterate_backproject(struct cuda_iterate *job, float *sinogram,
                                           float *volume);

/* Computes residual = b - residual (or b if `first`), times ray_weights unless they are NULL. Takes
 * the squares of b - residual. */
enum ts_status ts_cuda_iterate_subtract(struct cuda_iterate *job, bool first,
                                        const float *ray_weights, float *residual);
/* Computes to = to + sign * factor * from, or, for a direction, to = from + factor * to, for n
 * elements of each slice. Takes the squares of what it writes; for a direction, its products with
 * `from`. */
enum ts_status ts_cuda_iterate_combine(struct cuda_iterate *job, float *to, const float *from,
                                       int64_t n, float sign, bool direction);
/* Takes the squares of n values of each slice. */
enum ts_status ts_cuda_iterate_squares(struct cuda_iterate *job, const float *values, int64_t n);

/* Joins the squares of n values a slice that were taken last, and uses the sums: a residual after i
 * iterations is recorded and decides which slices are done; a shadow (A times the direction) gives
 * cgls its alpha, and a gradient its beta, as the state's factor; the products of a direction with
 * the gradient are the numerator of the next alpha. */
enum cuda_iterate_norm { NORM_RESIDUAL, NORM_SHADOW, NORM_GRADIENT, NORM_DIRECTION };
enum ts_status ts_cuda_iterate_decide(struct cuda_iterate *job, enum cuda_iterate_norm norm,
                                      int64_t n, int64_t i);

#endif
