/* SPDX-License-Identifier: Apache-2.0
 *
 * This solves a view of the projector for the detector pixel: where a ray crosses line m of the major axis at i, the
 * detector pixel at index (i - base - m * per_major) / per_detector sees pixel (m, i). A backprojection starts from the
 * pixel and needs this direction. All numbers are double.
 */
#include "stages/geometry/back_view.h"

#include <math.h>

struct back_view ts_back_view(const struct beam_geometry *geometry, double degree, enum back_model model)
{
    const struct beam_view ray = ts_beam_view(geometry, degree);
    const double base = -ray.base / ray.per_detector, per_major = -ray.per_major / ray.per_detector,
                 per_minor = 1 / ray.per_detector;
    return (struct back_view){.base = base,
                              .per_row = ray.along_rows ? per_major : per_minor,
                              .per_column = ray.along_rows ? per_minor : per_major,
                              .width = model == BACK_JOSEPH ? fabs(ray.per_detector) : 1,
                              .scale = model == BACK_JOSEPH ? ray.length_mm : 1};
}
