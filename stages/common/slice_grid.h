/* SPDX-License-Identifier: Apache-2.0
 *
 * The slices that a reconstruction makes out of a sinogram (z, view, detector): rows x columns square pixels, their
 * center on the rotation axis, x along rising columns, y along falling rows.
 */
#ifndef STAGES_COMMON_SLICE_GRID_H
#define STAGES_COMMON_SLICE_GRID_H

#include "stages/common/length_unit.h"
#include "stages/stage.h"

struct slice_grid {
    int64_t rows, columns;
    double pixel_size;
    char unit[LENGTH_UNIT_BYTES]; /* of the values */
};

/* Rows of a stage whose parameter struct has the fields rows, columns and pixel_size. */
#define SLICE_GRID_ROWS(type)                                                                                          \
    PARAM(type, rows, .unit = "", .min = 1, .max = 1 << 16, .derived = "the number of detectors",                      \
          .doc = "number of rows of a slice"),                                                                         \
        PARAM(type, columns, .unit = "", .min = 1, .max = 1 << 16, .derived = "the number of detectors",               \
              .doc = "number of columns of a slice"),                                                                  \
        PARAM(type, pixel_size, .unit = "mm", .min = 1e-6, .max = 1e6,                                                 \
              .derived = "the spacing of the detectors, times source_axis / source_detector in a fan",                 \
              .doc = "distance of neighboring pixels, along rows and columns")

/* For resolve(): fills what the chain does not give; the grid holds what it gives. Refuses a source among the pixels
 * (code source-inside), and a view axis that is not in degrees (angles-missing). */
enum ts_status ts_slice_grid_resolve(const struct stage_context *context, struct slice_grid *grid);
/* For shape(): the volume of such slices, f32. The grid must live in the parameter struct's memory for its unit. */
void ts_slice_grid_shape(const struct stage_context *context, const struct slice_grid *grid, const char *unit,
                         struct ts_image *out);

#endif
