/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain may say which echo, time, diffusion weighting or kind it wants, as `take: 7.38 ms`,
 * `take: [phase, 3]` and the like. This reads such texts, and applies them to the series of an
 * input.
 */
#ifndef IO_DICOM_SERIES_DICOM_TAKE_H
#define IO_DICOM_SERIES_DICOM_TAKE_H

#include "core/params.h"
#include "io/dicom_series/dicom_series.h"

enum { DICOM_MAX_TAKES = 8 };

/* This is one text of `take`. */
struct dicom_take {
    enum { TAKE_INDEX, TAKE_VALUE, TAKE_KIND } what;
    double number; /* of a volume, from 0, or a value in `unit` */
    enum ts_axis_kind
        axis;         /* of TAKE_VALUE: TS_AXIS_ECHO (ms), TS_AXIS_TIME (s), TS_AXIS_B (s/mm2) */
    const char *text; /* as the chain has it; of TAKE_KIND such as "phase" or "PHASE MAP" */
};

struct dicom_takes {
    struct dicom_take items[DICOM_MAX_TAKES];
    size_t n;
};

/* Reads the texts. Returns false if there are too many, or one has a unit that no axis has. */
bool ts_dicom_read_takes(const struct ts_texts *texts, struct dicom_takes *takes);
/* Sets `left_out` of each series that has not what all texts say. */
void ts_dicom_leave_out(struct dicom_series *series, size_t n, const struct dicom_takes *takes);
/* Writes the numbers of the volumes that are whole: "0 to 3, 5". */
void ts_dicom_list_volumes(const struct dicom_series *series, char *out, size_t size);
/* Makes the one volume that the texts name of a series of several. TS_BAD_INPUT if they name none
 * or several. */
enum ts_status ts_dicom_take_volume(struct dicom_series *series, const struct dicom_takes *takes,
                                    struct ts_diag *diag);
/* Leaves volume v of the series, and notes its value of the axis. */
void ts_dicom_keep_volume(struct dicom_series *series, size_t v);

#endif
