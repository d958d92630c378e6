/* SPDX-License-Identifier: Apache-2.0
 *
 * A filter runs over a masked image as over any other first, and then the pixels whose window holds an invalid one are
 * computed again here. They lie near the edges of the padding and are few. The columns of the window are looked at row
 * by row: how many of their pixels are invalid changes only where a row that enters differs from the one that leaves.
 * So a row costs a few operations on words of 64 pixels, whatever the radius. An invalid pixel keeps its value.
 */
#ifndef STAGES_FILTERS_MASKED_MEND_H
#define STAGES_FILTERS_MASKED_MEND_H

#include "stages/engine/stage.h"

/* Row y of output slice z. */
struct masked_row {
    int64_t z, y;
    const int32_t *missing; /* the invalid pixels in each column of the window around the row, without its border */
};

/* What a filter has of its own. */
struct masked_mend {
    int64_t radius[3]; /* of the window, along z, y and x */
    enum ts_border border;
    /* Writes pixels [first, end) of a row of `out`. They are valid, and have an invalid pixel in their window. `own` is
     * a thread's scratch of own_bytes, which is 0 at the start of ts_masked_mend. */
    void (*pixels)(const void *job, const struct masked_row *row, int64_t first, int64_t end, void *own);
    const void *job;
    size_t own_bytes;
};

/* Returns the bytes of scratch of ts_masked_mend. */
size_t ts_masked_mend_bytes(const struct stage_context *context, const struct masked_mend *mend);
/* Mends the slices of `out`. `in` has radius[0] more slices at both ends, with its bits. */
void ts_masked_mend(const struct stage_context *context, const struct masked_mend *mend, const struct ts_image *in,
                    struct ts_image *out, void *scratch);

#endif
