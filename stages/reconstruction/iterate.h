/* SPDX-License-Identifier: Apache-2.0
 *
 * Iterative reconstructions share this: their parameters, when a slice is done, its residuals, and
 * on the CPU the arrays and the loop over groups of slices. Slices are iterated in groups of up to
 * 16, side by side in A and A'.
 *
 * The residual after i iterations is ||b - A x|| / ||b|| over the rays of a slice, where b is its
 * sinogram and x the image so far. At the start x is 0 and the residual 1 (0 for a sinogram of
 * zeros). Each slice stops by itself: its last residual that is a number is that of its image;
 * later ones are NaN.
 */
#ifndef STAGES_RECONSTRUCTION_ITERATE_H
#define STAGES_RECONSTRUCTION_ITERATE_H

#include "stages/geometry/line_integrals.h"
#include "stages/projection/joseph.h"
#include "stages/projection/reconstruction.h"
#include "stages/values/finite_values.h"

enum { ITERATE_GROUP = 16 };

enum iterate_stop { STOP_NEVER, STOP_RESIDUAL, STOP_DISCREPANCY };

extern const struct choice ts_iterate_stops[];
extern const struct stage_method_tolerance ts_iterate_method_tolerances[];

/* The parameter struct of every such stage has this one as its first member. */
struct iterate_params {
    struct reconstruction_params volume; /* must be first, so that code that reads struct
                                          * reconstruction_params can read this */
    int64_t iterations;
    int32_t stop; /* enum iterate_stop */
    double tolerance, noise;
};

/* The parameters of these fields; RECONSTRUCTION_PARAMS has those of the volume. */
#define ITERATE_PARAMS(most)                                                                       \
    PARAM(struct iterate_params, iterations, .unit = "", .init.i = most, .min = 1, .max = 100000,  \
          .doc = "number of iterations, at most"),                                                 \
        PARAM(struct iterate_params, stop, .unit = "", .init.choice = STOP_NEVER,                  \
              .choices = ts_iterate_stops, .doc = "when a slice is done before all iterations"),   \
        PARAM(struct iterate_params, tolerance, .unit = "", .init.r = 1e-3, .min = 0, .max = 1,    \
              .doc =                                                                               \
                  "for stop residual: the part of the sinogram's norm at which a slice is done"),  \
        PARAM(struct iterate_params, noise, .unit = "value", .min = 0, .max = 1e30,                \
              .derived = "none; stop discrepancy needs it",                                        \
              .doc =                                                                               \
                  "for stop discrepancy: standard deviation of the sinogram's noise, in its unit")

/* Functions of struct stage. resolve() refuses a sinogram without angles (angles-missing), a rule
 * without its number (noise-missing), angles by stages/geometry/view_angles.h, and what
 * ts_reconstruction_resolve() refuses. The tables are ITERATE_RESIDUAL (z, iterations + 1 items)
 * and ITERATE_COUNT (z). */
enum { ITERATE_RESIDUAL, ITERATE_COUNT, ITERATE_TABLES };
enum ts_status ts_iterate_resolve(const struct stage_context *context, void *values);
enum ts_status ts_iterate_shape(const struct stage_context *context, struct ts_image *out);
int ts_iterate_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES]);

/* What the documents of these stages share, behind the paragraph about the method's steps. */
#define ITERATE_DOC                                                                                \
    "`method` is that of A' in `backproject`, and A is `radon`'s by the same one (`ray` for "      \
    "`pixel`): both take the very same weights. By `tensor` what they are applied to is "          \
    "rounded to 11 bits in each iteration.\n\n"                                                    \
    "A value that is NaN or infinite would spoil its whole slice, and ends the run. Angles "       \
    "that look like radians are an error, and so are views that all look in one direction, a "     \
    "single one included. Many views in few directions are warned of (`views-repeated`), and "     \
    "so is a range of angles that is narrow (`angles-narrow`) or limited "                         \
    "(`angles-limited`).\n\n"

/* The members that these stages share. */
#define ITERATE_STAGE                                                                              \
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_LINE_INTEGRAL), TS_ANY_BEAM),                         \
        .quantity_hints = LINE_INTEGRAL_HINTS, .resolve = ts_iterate_resolve,                      \
        .shape = ts_iterate_shape, .reduction = &ts_finite_reduction, .tables = ts_iterate_tables, \
        .bench = "iterations=3", .method_tolerances = ts_iterate_method_tolerances

/* The arrays that a method needs beside the image, on every device: volumes and sinograms of a
 * group of slices, and a number for each ray and each pixel of one slice. */
enum { ITERATE_VOLUMES = 2, ITERATE_SINOGRAMS = 2 };
struct iterate_needs {
    int volumes, sinograms;
    bool weights;
};
extern const struct iterate_needs ts_cgls_needs, ts_sirt_needs;

/* ---- on the CPU ------------------------------------------------------------------------------ */

/* A group of slices that iterate together. */
struct iterate_group {
    const struct stage_context *context;
    const struct iterate_params *params;
    struct beam_scan scan;
    int threads;
    int64_t z, n;                  /* first slice within the slab, and number of slices, at most
                                    * ITERATE_GROUP */
    int64_t n_rays, n_pixels;      /* rays of a slice; pixels of a slice */
    const struct ts_image *tables; /* the same as context->tables */
    const struct ts_image *in;     /* the sinograms of the slab, of any dtype */
    float *image;                  /* the group's slices of the output */
    float *volumes[ITERATE_VOLUMES], *sinograms[ITERATE_SINOGRAMS], *ray_weights, *pixel_weights;
    bool done[ITERATE_GROUP];
    double sinogram_square[ITERATE_GROUP],
        square[ITERATE_GROUP]; /* squares of ||b||, and of the last norm that was computed */
    double *partial;           /* sums of rows */
    void *projecting;          /* scratch of A and A' */
};

/* Carries out map() of a stage, and returns its scratch bytes. begin() (NULL: nothing) is called
 * once, then run() for every group, whose image is 0. */
typedef void iterate_run(struct iterate_group *group);
size_t ts_iterate_scratch(const struct stage_context *context, const struct iterate_needs *needs,
                          int64_t n);
enum ts_status ts_iterate_map(const struct stage_context *context,
                              const struct iterate_needs *needs, iterate_run *begin,
                              iterate_run *run, const struct ts_image *in, struct ts_image *out,
                              void *scratch);

/* Apply A and A' to n slices. */
void ts_iterate_project(const struct iterate_group *group, float *volume, float *sinogram,
                        int64_t n);
void ts_iterate_backproject(const struct iterate_group *group, float *sinogram, float *volume,
                            int64_t n);
/* Computes residual = b - residual. */
void ts_iterate_subtract(const struct iterate_group *group, float *residual);
/* Sets group->square[k] = <a, b> of slice k, for `count` elements in rows of `row`: each row is
 * summed in double, then the rows in rising order, so that the order depends only on the sizes. */
void ts_iterate_products(struct iterate_group *group, const float *a, const float *b, int64_t count,
                         int64_t row);
/* Records and reports the residuals after i iterations, and marks the slices that are done. Returns
 * false once all are done, or if i is the last. */
bool ts_iterate_goes_on(struct iterate_group *group, int64_t i, const float *residual);

#endif
