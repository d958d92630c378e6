/* SPDX-License-Identifier: Apache-2.0
 *
 * The standard, Siemens and Philips state gradients in patient coordinates. GE differs in four
 * ways. Every MR image has a b-value, which is 0 unless the series is one of diffusion. Newer
 * scanners add 1e9 to it. Where the gradient vector (x, y, z) is shorter than 1, the b-value is
 * that of the strongest weighting, and |g|^2 is the image's share of it, which is rounded to 5
 * s/mm2. The vector is in the axes of the scan: frequency, phase, slice. With the unit vectors r,
 * c and n of rows, columns and normal, and phase along columns, g = -x r - y c + z n for axial
 * slices, its opposite for sagittal ones and g = -x r + y c + z n for coronal ones, of patients
 * head first supine. So has dcm2niix it, which calls those of sagittal and coronal slices little
 * validated, so that a warning says it. For phase along rows it calls its rule untested: no
 * directions are given, nor for other positions of the patient. Source: X. Li and others, "The
 * first step for neuroimaging data analysis: DICOM to NIfTI conversion", Journal of Neuroscience
 * Methods 264 (2016), and the program dcm2niix of the same authors.
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

/* Returns the signs of frequency, phase and slice of GE along rows, columns and normal, NULL where
 * no formula is known; `axial` is set where it is confirmed. */
static const double *find_signs(const struct dicom_series *series, bool *axial)
{
    static const double signs[3][3] = {
        {1, 1, -1}, {-1, 1, 1}, {-1, -1, 1}}; /* sagittal, coronal, axial */
    const double *normal = series->image.direction + 6;
    const double x = fabs(normal[0]), y = fabs(normal[1]), z = fabs(normal[2]);
    const char *phase =
        ts_dicom_field_text(series->images[0], DICOM_FIELD_phase_encoding_direction);
    const char *position = ts_dicom_field_text(series->images[0], DICOM_FIELD_patient_position);
    *axial = z > x && z > y;
    if (strncmp(phase, "COL", 3) != 0 || (*position && strncmp(position, "HFS", 3) != 0))
        return NULL;
    return signs[*axial ? 2 : y > x];
}

/* Warns of directions that are not given, or that little confirms. */
static void warn_of_directions(struct dicom_series *series, bool unknown, bool axial)
{
    if (unknown)
        ts_dicom_series_warn(series, "the directions of the diffusion gradients are not given: GE "
                                     "states them in the axes of the scan, which are known of "
                                     "patients head first supine with the phase along columns");
    else if (!axial)
        ts_dicom_series_warn(series,
                             "the directions of the diffusion gradients are turned out of the axes "
                             "of the scan as dcm2niix does it, which little confirms where slices "
                             "of GE are not axial: check them before tracts are computed");
}

void ts_dicom_take_ge_weighting(struct dicom_series *series)
{
    if (series->n_images == 0 || !is_weighted(series))
        return;
    bool axial, given = false;
    const double *signs = find_signs(series, &axial), *direction = series->image.direction;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        const double *g = image->ge_gradient, length = ts_length(g);
        const bool stated = !isnan(image->b_value);
        image->b_value = stated ? image->b_value : fmod(image->ge_b_value, GE_BIAS);
        if (image->have_gradient || !(length > NO_LENGTH) || !(image->b_value > 0))
            continue;
        if (length < GE_SHORT && !stated)
            image->b_value =
                fmax(GE_STEP, GE_STEP * rint(image->b_value * length * length / GE_STEP));
        for (int k = 0; k < 3; k++)
            image->gradient[k] = signs ? signs[0] * g[0] * direction[k] +
                                             signs[1] * g[1] * direction[3 + k] +
                                             signs[2] * g[2] * direction[6 + k]
                                       : g[k];
        image->have_gradient = given = true;
    }
    series->gradients_unknown = given && !signs;
    if (given)
        warn_of_directions(series, !signs, axial);
}

/* Returns value 1 of the image's own type: whether it was measured or computed. */
static bool is_derived(const struct dicom_image *image)
{
    return !strncmp(*image->frame_type ? image->frame_type : image->file->image_type, "DERIVED", 7);
}

/* Returns true where images state no weighting beside others that are weighted, equally many at
 * each position; none of the others is without weighting, and all were measured or all were
 * computed. */
static bool has_unstated(const struct dicom_series *series)
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    size_t unstated = 0, each = 0;
    for (size_t i = 0, first = 0; i < series->n_images; i++) {
        const struct dicom_image *image = images[i];
        if (isnan(image->b_value) ? image->have_gradient : !(image->b_value > 0))
            return false;
        if (is_derived(image) != is_derived(images[0]))
            return false;
        unstated += isnan(image->b_value);
        const bool last =
            i + 1 == series->n_images || images[i + 1]->along_mm - image->along_mm > same;
        if (!last)
            continue;
        if (unstated == 0 || unstated == i + 1 - first || (first > 0 && unstated != each))
            return false;
        each = unstated;
        unstated = 0;
        first = i + 1;
    }
    return true;
}

void ts_dicom_take_unstated_weighting(struct dicom_series *series)
{
    size_t n = 0;
    if (series->n_images < 2 || strcmp(series->images[0]->file->modality, "MR") != 0 ||
        !has_unstated(series))
        return;
    for (size_t i = 0; i < series->n_images; i++)
        if (isnan(series->images[i]->b_value)) {
            series->images[i]->b_value = 0;
            n++;
        }
    ts_dicom_series_warn(series,
                         "%zu of %zu images state no b-value, and the others are weighted by "
                         "diffusion: they are taken for b = 0, which some scanners do not write",
                         n, series->n_images);
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
