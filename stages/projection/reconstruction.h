/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages that reconstruct a grid of pixels from a sinogram share this: their parameters, the
 * geometry of the volume, its unit, and the CPU code. The table of each stage lists the parameters
 * that users can choose; its resolve() sets the others.
 */
#ifndef STAGES_PROJECTION_RECONSTRUCTION_H
#define STAGES_PROJECTION_RECONSTRUCTION_H

#include "stages/engine/stage.h"
#include "stages/geometry/beam.h"
#include "stages/geometry/fan_view.h"
#include "stages/projection/row_filter.h"
#include "stages/values/length_unit.h"

enum view_weights { VIEW_WEIGHTS_NONE, VIEW_WEIGHTS_ANGLES };
enum view_gaps { VIEW_GAPS_REFUSE, VIEW_GAPS_ACCEPT };
enum back_method {
    BACK_METHOD_AUTO,
    BACK_METHOD_LANES,
    BACK_METHOD_PIXEL,
    BACK_METHOD_STACK,
    BACK_METHOD_TENSOR,
    BACK_METHOD_TENSOR_SPLIT
};

struct reconstruction_params {
    int32_t filter; /* enum row_filter_name */
    double cutoff;
    int32_t model;   /* enum back_model */
    int32_t weights; /* enum view_weights */
    int32_t gaps;    /* enum view_gaps */
    int64_t rows, columns;
    double pixel_size, row_spacing; /* mm */
    double center;                  /* detector index at the rotation axis */
    int32_t method;                 /* enum back_method */
    int32_t interpolation;          /* only for fourier: enum fourier_interpolation */
    char unit[LENGTH_UNIT_BYTES];   /* in no table: resolve() writes it */
};

extern const struct choice ts_back_method_choices[], ts_view_gaps_choices[];
extern const struct stage_method_tolerance ts_back_method_tolerances[];

/* The parameters that describe the volume, for every table of struct reconstruction_params: without
 * and with the method. */
#define VOLUME_PARAMS(pixel_size_is)                                                               \
    PARAM(struct reconstruction_params, rows, .unit = "", .min = 1, .max = 1 << 20,                \
          .derived = "the number of detector pixels", .doc = "rows of the volume's slices"),       \
        PARAM(struct reconstruction_params, columns, .unit = "", .min = 1, .max = 1 << 20,         \
              .derived = "the number of detector pixels",                                          \
              .doc = "columns of the volume's slices"),                                            \
        PARAM(struct reconstruction_params, pixel_size, .unit = "mm", .min = 1e-6, .max = 1e6,     \
              .derived = pixel_size_is, .doc = "distance of neighboring columns"),                 \
        PARAM(struct reconstruction_params, row_spacing, .unit = "mm", .min = 1e-6, .max = 1e6,    \
              .derived = "pixel_size", .doc = "distance of neighboring rows"),                     \
        PARAM(struct reconstruction_params, center, .rotation_axis = true, .unit = "detector",     \
              .min = -1e6, .max = 2e6, .derived = "where the sinogram's detector axis is 0",       \
              .doc =                                                                               \
                  "detector index of the rotation axis, which becomes the center of the slices")
#define RECONSTRUCTION_PARAMS                                                                      \
    VOLUME_PARAMS("the detector spacing, times source_axis / source_detector in a fan"),           \
        PARAM(struct reconstruction_params, method, .init.choice = BACK_METHOD_AUTO,               \
              .choices = ts_back_method_choices, .unit = "",                                       \
              .doc = "how the same sums over views are worked out")

/* Resolves the parameters of the volume and the method, once filter, model, weights and gaps are
 * set. Errors: detectors-uneven, center-outside, volume-too-wide, source-inside, short-scan,
 * weights-beam, method-beam, method-fine, and those of stages/geometry/view_angles.h and
 * stages/projection/tensor_method.h. */
enum ts_status ts_reconstruction_resolve(const struct stage_context *context,
                                         struct reconstruction_params *params);
/* Writes the volume's axes, place and dtype; quantity and unit are the stage's. */
void ts_reconstruction_shape(const struct stage_context *context, struct ts_image *out);

/* Returns true for exact adjoints that follow the rays of stages/projection/joseph.h instead of
 * pixels: that of a fan, and, with method stack, that of rays closer than pixels. */
bool ts_reconstruction_goes_by_rays(const struct stage_context *context);
/* Returns the method of radon that divides the work as this method of backproject does, or
 * RADON_AUTO if there is none. */
int32_t ts_reconstruction_forth(int32_t method);
/* Returns the scan over the volume's pixels, with the center from the parameters. */
struct beam_scan ts_reconstruction_scan(const struct stage_context *context);
/* Returns the filter of the resolved parameters for the rows of the input. */
struct row_filter ts_reconstruction_filter(const struct stage_context *context);
/* The first writes the views of a fan and returns their range; the second writes those of a
 * parallel beam, with their weights included in `scale`. `scratch` has VIEW_SCRATCH_BYTES for each
 * view. */
enum { VIEW_SCRATCH_BYTES = 24 };
struct fan_range ts_reconstruction_fans(const struct stage_context *context, struct fan_view *views,
                                        void *scratch);
void ts_reconstruction_views(const struct stage_context *context, struct back_view *views,
                             void *scratch);

/* These are functions of struct stage for the CPU: transforms(), scratch_bytes() and map(). */
int ts_reconstruction_transforms(const struct stage_context *context,
                                 struct fft_shape shapes[STAGE_TRANSFORMS]);
size_t ts_reconstruction_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_reconstruction_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *buffer);

#endif
