/* SPDX-License-Identifier: Apache-2.0
 *
 * What iterative reconstructions share: when a slice is done, its residuals, and the sizes of its arrays.
 *
 * The residual after i iterations is ||b - A x|| / ||b|| over the rays of a slice, b its sinogram and x the image so
 * far; x is 0 at the start, where it is 1 (0 for a sinogram of zeros). Each slice stops for itself: the last residual
 * that is a number is that of its image, and those behind it are NaN.
 */
#ifndef STAGES_RECONSTRUCTION_ITERATE_H
#define STAGES_RECONSTRUCTION_ITERATE_H

#include "stages/projection/joseph.h"
#include "stages/projection/reconstruction.h"

enum { ITERATE_GROUP = 16 };

enum iterate_stop { STOP_NEVER, STOP_RESIDUAL, STOP_DISCREPANCY };

extern const struct choice ts_iterate_stops[];
extern const struct stage_method_tolerance ts_iterate_method_tolerances[];

/* The first member of the parameter struct of every such stage. */
struct iterate_params {
    struct reconstruction_params volume; /* first, so that what reads it reads these as well */
    int64_t iterations;
    int32_t stop; /* enum iterate_stop */
    double tolerance, noise;
};

/* Rows of the fields above; RECONSTRUCTION_ROWS are those of the volume. */
#define ITERATE_ROWS(most)                                                                                             \
    PARAM(struct iterate_params, iterations, .unit = "", .init.i = most, .min = 1, .max = 100000,                      \
          .doc = "number of iterations, at most"),                                                                     \
        PARAM(struct iterate_params, stop, .unit = "", .init.choice = STOP_NEVER, .choices = ts_iterate_stops,         \
              .doc = "when a slice is done before all iterations"),                                                    \
        PARAM(struct iterate_params, tolerance, .unit = "", .init.r = 1e-3, .min = 0, .max = 1,                        \
              .doc = "for stop residual: the part of the sinogram's norm at which a slice is done"),                   \
        PARAM(struct iterate_params, noise, .unit = "value", .min = 0, .max = 1e30,                                    \
              .derived = "none; stop discrepancy needs it",                                                            \
              .doc = "for stop discrepancy: standard deviation of the sinogram's noise, in its unit")

/* Rows of struct stage. resolve() refuses a sinogram without angles (angles-missing), a rule without its number
 * (noise-missing), what stages/geometry/view_angles.h lists, and what ts_reconstruction_resolve() refuses. The tables
 * are ITERATE_RESIDUAL (z, iterations + 1 items) and ITERATE_COUNT (z). */
enum { ITERATE_RESIDUAL, ITERATE_COUNT, ITERATE_TABLES };
enum ts_status ts_iterate_resolve(const struct stage_context *context, void *values);
enum ts_status ts_iterate_shape(const struct stage_context *context, struct ts_image *out);
int ts_iterate_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES]);

/* A group of slices on its way on the CPU: they go side by side in A and A'. */
struct iterate_group {
    const struct iterate_params *params;
    struct beam_scan scan;
    int threads;
    int64_t z, n;                  /* first slice within the slab, and how many, at most ITERATE_GROUP */
    int64_t n_rays, n_pixels;      /* of a slice */
    const struct ts_image *tables; /* as context->tables */
    bool done[ITERATE_GROUP];
    double sinogram_square[ITERATE_GROUP], square[ITERATE_GROUP]; /* of ||b||, and of the last norm asked for */
    double *partial;
    void *projecting;
};

struct iterate_group ts_iterate_group(const struct stage_context *context);
/* The next bytes of a room, which may be NULL; *used counts them. */
void *ts_iterate_take(unsigned char *room, size_t *used, size_t bytes);
/* The group's own arrays for n slices. */
void ts_iterate_lay_out(struct iterate_group *group, int64_t n, unsigned char *room, size_t *used);

/* A and A' of n slices, each with the other's result as input. */
void ts_iterate_project(const struct iterate_group *group, float *volume, float *sinogram, int64_t n);
void ts_iterate_backproject(const struct iterate_group *group, float *sinogram, float *volume, int64_t n);
/* residual = sinogram - residual; the sinogram of any dtype. */
void ts_iterate_subtract(const struct iterate_group *group, const struct ts_image *sinogram, float *residual);
/* group->square[k] = <a, b> of slice k, of `count` elements in rows of `row`: the sum of each row in double, then the
 * rows in rising order. */
void ts_iterate_products(struct iterate_group *group, const float *a, const float *b, int64_t count, int64_t row);
/* The same of values and themselves. */
void ts_iterate_squares(struct iterate_group *group, const float *values, int64_t count, int64_t row);
/* After i iterations: records the residuals, marks the slices that are done; false once all are, or i is the last. */
bool ts_iterate_goes_on(struct iterate_group *group, int64_t i, const float *residual);

#endif
