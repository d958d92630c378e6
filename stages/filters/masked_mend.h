/* SPDX-License-Identifier: Apache-2.0
 *
 * A filter first runs over a masked image as over any other; then the pixels with an invalid one in
 * their window are computed again here. They are few, near the edges of invalid regions. The code
 * goes down the rows and keeps the number of invalid pixels in each column of the window: it
 * changes only in columns in which the row that enters differs from the one that leaves. So a row
 * costs a few operations on words of 64 pixels, whatever the radius. An invalid pixel keeps its
 * value.
 */
#ifndef STAGES_FILTERS_MASKED_MEND_H
#define STAGES_FILTERS_MASKED_MEND_H

#include "stages/engine/stage.h"

/* The window of a filter along z, y and x. */
struct masked_window {
    int64_t radius[3];
    const float *weights[3]; /* 2 radius + 1 weights for each axis; NULL: all are 1 */
    enum ts_border border;
    double constant; /* value of pixels outside with BORDER_CONSTANT, which count as valid */
};

/* Row y of output slice z. */
struct masked_row {
    int64_t z, y;
    void *out;              /* the pixels of the row */
    const int32_t *missing; /* the number of invalid pixels in each column of the window around the
                             * row, without its border */
};

/* The window of a filter, and how it computes a pixel of a masked image. */
struct masked_mend {
    int64_t radius[3]; /* radius of the window along z, y and x */
    enum ts_border border;
    /* Writes pixels [first, end) of a row. They are valid and have an invalid pixel in their
     * window. `own` is a thread's scratch of own_bytes, which starts as zeros. */
    void (*pixels)(const void *job, const struct masked_row *row, int64_t first, int64_t end,
                   void *own);
    const void *job;
    size_t own_bytes;
    int64_t gap; /* stretches that are at most this far apart are passed as one; what is written
                  * between them stays, except for invalid pixels, which get the input's values
                  * afterwards */
};

/* Returns the bytes of scratch of ts_masked_mend. */
size_t ts_masked_mend_bytes(const struct stage_context *context, const struct masked_mend *mend);
/* Mends the slices of `out`. `in` has radius[0] more slices at both ends, with its bits. */
void ts_masked_mend(const struct stage_context *context, const struct masked_mend *mend,
                    const struct ts_image *in, struct ts_image *out, void *scratch);

/* For a filter that keeps numbers of its own for its present row, such as the sums of its windows,
 * and mends each row as soon as it is written. This is the state of one thread. */
struct masked_rows {
    const struct masked_mend *mend;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx, words; /* words: of a row with its border, and one more */
    int32_t *missing;
    int64_t holes; /* number of columns of the window that have an invalid pixel */
    uint64_t *full, *whole, *valid;
    int64_t *outside; /* the columns that the border repeats, first on the left, then on the right;
                       * -1: the constant, which is valid */
    void *own;
};

/* Returns the bytes of scratch of a thread for ts_masked_rows_begin. */
size_t ts_masked_rows_bytes(const struct stage_context *context, const struct masked_mend *mend);
/* Begins with the same images as ts_masked_mend. */
struct masked_rows ts_masked_rows_begin(const struct masked_mend *mend, const struct ts_image *in,
                                        struct ts_image *out, void *scratch);
/* Mends row y of output slice z. Unless it is the first call, or `first` is set, the call before
 * must have been for the row above. */
void ts_masked_rows_mend(struct masked_rows *rows, int64_t z, int64_t y, bool first);

#endif
