/* SPDX-License-Identifier: Apache-2.0
 *
 * The search of one slice for `center`: by the method of its parameters, with what there is to warn of.
 */
#ifndef STAGES_SCAN_CENTER_SLICE_H
#define STAGES_SCAN_CENTER_SLICE_H

#include "stages/scan/center.h"
#include "stages/scan/center_search.h"

struct center_slice {
    const struct stage_context *context; /* of center */
    const float *sinogram;               /* (view, detector) */
    const double *angles;
    int64_t half_turn;
    struct fft *fft; /* with method sinogram: of ts_center_transform() */
    void *room;      /* and of ts_center_room_bytes() */
    int n_pairs;     /* may be 0 with method sinogram and truncated: keep */
    int64_t pairs[CENTER_PAIRS][2];
};

/* Detectors between two trial centers. */
double ts_center_slice_step(const struct center_params *params);

/* Errors: center-nonfinite, center-constant. */
enum ts_status ts_center_slice_check(const struct center_slice *slice);
/* Writes the tables of ts_center_search_tables(). Error: center-edge, where the best trial is the outermost. Warnings:
 * center-alike, or center-uncertain, or center-truncated and center-ambiguous. */
enum ts_status ts_center_slice_search(const struct center_slice *slice, const struct ts_image *tables, double *center);

#endif
