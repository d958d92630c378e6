/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes the means over the valid pixels of each window, for box of masked images. Box runs as for any other image,
 * with 0 in place of invalid pixels; as soon as a row is written, its pixels whose window holds an invalid one are
 * computed again from the sums of their windows, which are divided by the number of valid pixels. A window without
 * invalid pixels has the mean that any other image gives it. docs/padding.md says how long masks take.
 */
#ifndef STAGES_FILTERS_BOX_MASKED_H
#define STAGES_FILTERS_BOX_MASKED_H

#include "stages/filters/masked_mend.h"
#include "stages/filters/window_prefix.h"

/* These are the sums of the windows of the row that was written last. One of them is not NULL. */
struct box_sums {
    enum window_total type;
    const void *totals;                 /* of integers, of each pixel's window */
    const struct window_prefix *prefix; /* of floats */
    const float *const *rows;           /* of floats, whose windows are added anew: the rows around this one */
};

/* This is the state of one thread that does rows of a masked image. */
struct box_mend {
    struct masked_window window;
    struct masked_mend mend;
    struct masked_rows rows;
    struct box_sums sums;
    double count; /* pixels of a window */
    double depth; /* pixels that each value of a sum is the mean of: those along z, of floats in 3D */
};

/* Returns the bytes of a thread's scratch. */
size_t ts_box_mend_bytes(const struct stage_context *context);
/* Begins; `in` has the halo of the stage at both ends, with its bits. */
void ts_box_mend_begin(struct box_mend *mend, const struct stage_context *context, const struct ts_image *in,
                       struct ts_image *out, void *scratch);
/* Mends row y of output slice z by its sums. Unless `first` is set, the row above was the one before. */
void ts_box_mend_row(struct box_mend *mend, const struct box_sums *sums, int64_t z, int64_t y, bool first);
/* Returns a row of a slice with 0 in place of invalid pixels: the row itself where it has none, else `copy`. */
const void *ts_box_valid_row(const struct ts_image *in, int64_t slice, int64_t y, void *copy);

#endif
