/* SPDX-License-Identifier: Apache-2.0
 *
 * The standard, Siemens and Philips state gradients in patient coordinates. GE differs in four ways. Every MR image has
 * a b-value, which is 0 unless the series is one of diffusion. Newer scanners add 1e9 to it. Where the gradient vector
 * (x, y, z) is shorter than 1, the b-value is that of the strongest weighting, and |g|^2 is the image's share of it,
 * which is rounded to 5 s/mm2. The vector is in the axes of the scan: frequency, phase, slice. With the unit vectors r,
 * c and n of rows, columns and normal, g = -x r - y c + z n for axial slices whose phase runs along columns. For others
 * nothing public confirms a formula, and no directions are given. Source: X. Li and others, "The first step for
 * neuroimaging data analysis: DICOM to NIfTI conversion", Journal of Neuroscience Methods 264 (2016), and the program
 * dcm2niix of the same authors.
 */
#include "io/dicom_series/dicom_diffusion.h"

#include <math.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"

static const double GE_BIAS = 1e9, GE_STEP = 5, GE_SHORT = 0.97, NO_LENGTH = 0.03;

/* Returns true where GE states another b-value than 0. */
static bool is_weighted(const struct dicom_series *series)
{
    for (size_t i = 0; i < series->n_images; i++)
        if (fmod(series->images[i]->ge_b_value, GE_BIAS) > 0)
            return true;
    return false;
}

/* Returns true where the formula for GE's gradients holds. */
static bool is_axial_along_columns(const struct dicom_series *series)
{
    const double *normal = series->image.direction + 6;
    const char *phase = ts_dicom_field_text(series->images[0], DICOM_FIELD_phase_encoding_direction);
    return fabs(normal[2]) > fabs(normal[0]) && fabs(normal[2]) > fabs(normal[1]) && !strncmp(phase, "COL", 3);
}

void ts_dicom_take_ge_weighting(struct dicom_series *series)
{
    if (series->n_images == 0 || !is_weighted(series))
        return;
    const bool known = is_axial_along_columns(series);
    const double *direction = series->image.direction;
    bool unknown = false;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        const double *g = image->ge_gradient, length = ts_length(g);
        const bool stated = !isnan(image->b_value);
        image->b_value = stated ? image->b_value : fmod(image->ge_b_value, GE_BIAS);
        if (image->have_gradient || !(length > NO_LENGTH) || !(image->b_value > 0))
            continue;
        if (length < GE_SHORT && !stated)
            image->b_value = fmax(GE_STEP, GE_STEP * rint(image->b_value * length * length / GE_STEP));
        for (int k = 0; k < 3; k++)
            image->gradient[k] = known ? g[2] * direction[6 + k] - g[0] * direction[k] - g[1] * direction[3 + k] : g[k];
        image->have_gradient = true;
        unknown |= !known;
    }
    series->gradients_unknown = unknown;
    if (unknown)
        ts_dicom_series_warn(series, "the directions of the diffusion gradients are not given: GE states them in the "
                                     "axes of the scan, which are known of axial slices with the phase along columns");
}

void ts_dicom_list_gradients(struct dicom_series *series)
{
    double *gradients = ts_arena_alloc(series->arena, 3 * series->n_volumes * sizeof *gradients);
    bool any = false;
    series->no_memory |= !gradients;
    for (size_t v = 0; gradients && v < series->n_volumes; v++) {
        const struct dicom_image *image = series->images[v * series->n_slices];
        const double length = ts_length(image->gradient);
        const bool has = image->have_gradient && image->b_value > 0 && length > NO_LENGTH;
        for (int k = 0; k < 3; k++)
            gradients[3 * v + (size_t)k] = has ? image->gradient[k] / length : 0;
        any |= has;
    }
    series->gradients = any && !series->gradients_unknown ? gradients : NULL;
}
