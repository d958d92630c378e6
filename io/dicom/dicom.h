/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `dicom`, which reads one series of DICOM files as one volume. Headers
 * are read when the source is opened. Compressed pixels are decoded later, in sandboxed worker
 * processes, since files from outside may be damaged or hostile.
 */
#ifndef IO_DICOM_DICOM_H
#define IO_DICOM_DICOM_H

#include "io/dicom_series/dicom_series.h"
#include "io/source/source.h"
#include "io/source/unreadable.h"

enum dicom_burned_in { BURNED_IN_REFUSE, BURNED_IN_ALLOW, BURNED_IN_MASK };
enum dicom_incomplete { INCOMPLETE_REFUSE, INCOMPLETE_ALLOW };

struct dicom_params {
    struct ts_texts dicom; /* folders or files */
    const char *series;    /* number or UID; "" if there is only one */
    struct ts_texts
        split; /* what makes series of their own: "echo", "time", "b", "acquisition", or "none" */
    struct ts_texts join; /* attributes that do not tell series apart (dicom_join.h) */
    struct ts_texts take; /* which of several volumes or kinds (dicom_take.h) */
    int32_t burned_in;    /* enum dicom_burned_in */
    struct ts_numbers mask_boxes;
    double mask_value;
    int32_t deidentify;       /* enum dicom_deidentify */
    const char *uid_key_file; /* "": none */
    int32_t unreadable;       /* enum unreadable */
    int32_t incomplete;       /* enum dicom_incomplete */
    int32_t padding;          /* enum source_padding */
    int32_t positions;        /* enum dicom_positions */
    double spacing_tolerance;
    int32_t tilt;       /* enum dicom_tilt */
    int32_t duplicates; /* enum dicom_duplicates */
    int64_t stack;
    int32_t mr_scale; /* enum dicom_mr_scale */
    int32_t to_suv;   /* enum dicom_to_suv */
    double suv_factor;
    struct ts_numbers slices;
};

extern const struct source_format dicom_format;

/* Opens a clean series as a source without attributes. The arena holds the series, and then the
 * source too; it is taken over and, if the opening fails, destroyed. */
enum ts_status ts_dicom_open_take(const struct dicom_series *series, struct arena *arena,
                                  struct source **source, struct ts_diag *diag);

#endif
