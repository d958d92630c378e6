/* SPDX-License-Identifier: Apache-2.0
 *
 * Flats are combined into one, and so are darks. That is wrong if the beam changed between them, or
 * if some are of another kind: rows of some of the frames show it.
 */
#ifndef IO_SCAN_FRAME_MEANS_H
#define IO_SCAN_FRAME_MEANS_H

#include "core/params.h"

/* How rows are read: `read` writes the values of a row of a frame, or returns false, as of damaged
 * frames, which are reported when they are used. */
struct frame_rows {
    bool (*read)(void *context, int64_t frame, int64_t row, double *values);
    void *context;
    int64_t n_frames, n_rows, width;
};

/* Warns of flats or darks whose means differ by more than noise (flats-differ, darks-differ), of
 * flats with equal means and another profile, and of flats below 0 (counts-wrapped). */
enum ts_status ts_frame_means_warn(const struct param_set *set, const char *path, bool darks,
                                   const struct frame_rows *rows, struct ts_diag *diag);

#endif
