/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes one volume of a group of files, or states why it cannot: order, spacing and tilt come
 * from positions, unit and element type from the rescale values.
 */
#ifndef IO_DICOM_SERIES_DICOM_GEOMETRY_H
#define IO_DICOM_SERIES_DICOM_GEOMETRY_H

#include "io/dicom_series/dicom_series.h"

struct sandbox;

/* This finds the images that have one orientation: direction cosines are rounded, and some scanners
 * or tools let them jitter from slice to slice. */

/* Orientations are one if no direction cosine differs by more than the first number; images whose
   orientations jitter, if none differs by more than the second. */
#define DICOM_SAME_ORIENTATION 1e-4
#define DICOM_JITTER 2e-3

bool ts_dicom_same_orientation(const struct dicom_image *a, const struct dicom_image *b,
                               double most);
/* Returns by how many degrees the axes of two orientations differ. */
double ts_dicom_angle_between(const double a[6], const double b[6]);

enum dicom_positions { POSITIONS_FIT, POSITIONS_ENDS };
enum dicom_tilt { TILT_KEEP, TILT_REFUSE };
enum dicom_duplicates { DUPLICATES_REFUSE, DUPLICATES_FIRST };
enum dicom_mr_scale { MR_SCALE_DISPLAY, MR_SCALE_PRECISE };
enum dicom_to_suv {
    TO_SUV_NONE,
    TO_SUV_BODY_WEIGHT,
    TO_SUV_LEAN_BODY_MASS, /* of Janmahasatian */
    TO_SUV_LEAN_BODY_MASS_JAMES,
    TO_SUV_BODY_SURFACE_AREA,
    TO_SUV_FACTOR
};

/* This is the default of spacing_tolerance, and below it the largest one, in percent. If a slice is
 * missing, others lie 11 % or more off the line, so that no tolerance hides it. */
#define DICOM_SPACING_TOLERANCE 1.0
#define DICOM_MOST_TOLERANCE 10.0

/* These rules decide how the positions of slices are judged, and what their values are. Each member
 * is a parameter of the input, whose doc explains it. */
struct dicom_rules {
    int32_t positions;        /* enum dicom_positions */
    int32_t tilt;             /* enum dicom_tilt */
    int32_t duplicates;       /* enum dicom_duplicates */
    double spacing_tolerance; /* in percent of the spacing */
    int64_t stack;            /* from 1; 0: the slices have to be one stack */
    int32_t mr_scale;         /* enum dicom_mr_scale */
    int32_t to_suv;           /* enum dicom_to_suv */
    double suv_factor;        /* of TO_SUV_FACTOR: g/ml for each Bq/ml */
    struct sandbox *sandbox;  /* of the processes that decode; NULL: that of the process */
};

/* `tomostage info` judges by these defaults. */
extern const struct dicom_rules ts_dicom_default_rules;

/* Drops identical copies, orders the files along the normal, fills shape, spacing and geometry of
 * series->image. `mixed`: the series was split by orientation. Every file must have passed the
 * scan. */
void ts_dicom_arrange(struct dicom_series *series, bool mixed, const struct dicom_rules *rules);
/* Fills dtype, quantity and unit of series->image (dicom_quantity.c). If the rules want precise
 * values, slope and intercept of the images become those of the scanner's private scale; the same
 * of uptake values. */
void ts_dicom_quantify(struct dicom_series *series, const struct dicom_rules *rules);
/* Returns true if all images state the scale of precise values. */
bool ts_dicom_has_scale(const struct dicom_series *series);

#endif
